#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A flame graph of cpu-profile, and its changes, looked at in a browser.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here top=${here%/*/*}
cd "$top"

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

((EUID == 0)) || skip_all "tracing takes root"
command -v chromium chromedriver >/dev/null || skip_all "there is no chromium, or no chromedriver"
/usr/bin/python3 -c 'import selenium' 2>/dev/null || skip_all "there is no selenium for Python"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What it keeps of its own, it keeps there.
export HOME=$work
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
