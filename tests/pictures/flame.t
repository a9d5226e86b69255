#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A flame graph of cpu-profile, and its changes, looked at in a browser.

# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
build/bin/cpu-profile -F 997 -b comm --folded --flame="$work/flame.svg" -- \
	sh -c 'build/tests/busy user 500; build/tests/busy kernel 500' >"$work/all" 2>"$work/err"
# The workload prints as well.
grep -v '^{' "$work/all" >"$work/folded"
# Compared with that: more in the kernel, and a stack that is gone.
{ cat "$work/folded"; echo "gone;<script> 100"; } >"$work/before"
build/bin/cpu-profile -F 997 -b comm --folded --flame="$work/diff.svg" --diff="$work/before" -- \
	sh -c 'build/tests/busy user 300; build/tests/busy kernel 900' >"$work/all" 2>"$work/err"
grep -v '^{' "$work/all" >"$work/after"
build/bin/cpu-profile -c no-such-name --flame="$work/empty.svg" -d 0.1 >"$work/all" 2>"$work/err"
/usr/bin/python3 "$here/flame.py" "$work/flame.svg" "$work/folded" 'random|be_busy$' "$work/empty.svg" "$work/diff.svg" "$work/before" "$work/after"
