#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What scripts/check.sh --here leaves for sending: results, and nothing of other processes, whatever a test shows.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
((EUID == 0)) || { echo "1..0 # SKIP tracing takes root"; exit 0; }
[[ -x build/bin/syscall-count ]] || { echo "Bail out! no tools in build/bin: make"; exit 1; }
work=$(mktemp -d)
other=
trap 'kill "$other" 2>/dev/null; rm -rf "$work"' EXIT

# Another's process, and a test that fails and shows it.
cp "$(command -v sleep)" "$work/a-secret-path"
"$work/a-secret-path" 600 &
other=$!
cat >"$work/shows" <<-END
	#!/bin/sh
	echo "ok 1 - one claim holds"
	echo "not ok 2 - another does not"
	echo "# \$(tr '\\\\0' ' ' </proc/$other/cmdline)"
	tr '\\\\0' ' ' </proc/$other/cmdline >&2
	exit 1
END
chmod +x "$work/shows"
cp -r scripts Makefile "$work"
mkdir -p "$work/build/bin"
ln -s "$PWD/build/bin/"{syscall-count,event-rate} "$work/build/bin"
ln -s "$PWD/build/tests" "$work/build/tests"
(cd "$work" && scripts/lib/here ./shows) >"$work/said" 2>&1
is "its exit status is that of the tests" $? 1
evidence "$work/said"
like "it says what to send" "$(<"$work/said")" "1 claims hold, 1 do not; to send: build/plumb-here-[^ ]*[.]tar[.]gz"
mkdir "$work/sent"
tar -x --strip-components=1 -C "$work/sent" -f "$(echo "$work"/build/plumb-here-*.tar.gz)"
is "the archive has results, mechanisms, kernel and configuration" "$(cd "$work/sent" && echo *)" "config kernel mechanisms results"
is "nothing of the other process is in it" "$(grep -rl a-secret-path "$work/sent")" ""
claim "which the test had shown" grep -rqs a-secret-path "$work/build/here/.-shows.tap"
is "the claims are" "$(grep -c 'ok ' "$work/sent/results")" 2
like "so are the kernel and its pages" "$(<"$work/sent/kernel")" "^Linux $(uname -r) .*pages of $(getconf PAGESIZE) bytes"
like "and the mechanisms of tools" "$(<"$work/sent/mechanisms")" "syscall-count	raw_tracepoint"
is "of the configuration no text is in it" "$(grep '"' "$work/sent/config")" ""
done_testing
