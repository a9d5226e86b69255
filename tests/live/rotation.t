#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The file of --otlp is renamed and removed while a tool writes it: each report is a line of the
# file that has the name at the time. What is compared are the tool's own reports in JSON.
#
# Seen to fail: with a file that is opened once.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
((EUID == 0)) || { echo "1..0 # SKIP tracing takes root"; exit 0; }

bin=$PWD/${PLUMB_BIN:-build/bin}
work=$(mktemp -d)
tool=
# shellcheck disable=SC2317 # the trap calls it
clean_up() {
	[[ ! $tool ]] || kill "$tool" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$work"
}
trap clean_up EXIT
evidence "$work/err"

# FILE N: until it has so many lines
# shellcheck disable=SC2317 # claim calls it
await_lines() {
	local end=$((SECONDS + 60))
	until [[ -e $1 ]] && (($(wc -l <"$1") >= $2)); do
		((SECONDS < end)) || return 1
		sleep 0.05
	done
}

# shellcheck disable=SC2317 # claim calls it
await_message() {
	local end=$((SECONDS + 60))
	until grep -q "$1" "$work/err"; do
		((SECONDS < end)) || return 1
		sleep 0.05
	done
}

cd "$work" || exit 1
"$bin/syscall-count" --no-calibrate -j -s getppid -p $$ --otlp=lines 0.2 >"$work/json" 2>"$work/err" &
tool=$!
claim "lines are appended" await_lines lines 2
mv lines lines.1
claim "a file that was renamed: the next lines are in a new one" await_lines lines 2
mv lines lines.2
touch lines
inode=$(stat -c %i lines)
claim "... or in the one that took its name" await_lines lines 2
is "... as it is" "$(stat -c %i lines)" "$inode"
ln -s elsewhere link
ln lines lines.3
mv -T link lines
claim "a symbolic link is said" await_message 'otlp: cannot write lines: a symbolic link is not followed; tracing goes on'
is "... and nothing is written through it" "$(find elsewhere 2>/dev/null)" ""
rm lines
claim "... and it goes on without one" await_message 'otlp: lines is written again'
claim "... with the next lines" await_lines lines 2
kill -INT "$tool"
status=0
wait "$tool" || status=$?
tool=
is "status" "$status" 0
# SECOND.NANOSECONDS of the end of each report
jq -r '"\(.end[:19] + "Z" | fromdate).\(.end[20:] | sub("[^0-9].*"; ""))"' json >reports
cat lines.1 lines.2 lines.3 lines >all
jq -r '[.. | .timeUnixNano? // empty][0] | "\(.[:-9]).\(.[-9:])"' all >ends
is "each line is whole" "$(wc -l <ends)" "$(wc -l <all)"
is "each is of a report, in order" "$(grep -Fx -f ends reports)" "$(<ends)"
is "those that are missing are of the time of the link: one stretch" \
	"$(grep -Fxn -v -f ends reports | awk -F : 'NR > 1 && $1 != last + 1 { gaps++ } { last = $1 } END { print gaps + 0 }')" 0
claim "... behind the lines before" test "$(grep -Fxn -v -f ends reports | head -1 | cut -d : -f 1)" -gt "$(cat lines.[123] | wc -l)"
is "one instance" "$(jq -r '[.resourceMetrics[].resource.attributes[] | select(.key == "service.instance.id").value.stringValue][0]' all | sort -u | wc -l)" 1
done_testing
