#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# All tools in one program (make single), by its first argument or by the name of a link.
. "$(dirname "$0")/lib.sh"

single=$cli_top/build/single/plumb
links=$(mktemp -d)
trap 'rm -rf "$links"' EXIT
claim "it is there" test -x "$single"
claim "it is at most 12 MB" test "$(stat -c %s "$single")" -le 12000000
is "it needs no other file" "$(file -b "$single" | grep -c 'statically linked')" 1

for tool in "${tools[@]}"; do
	ln -s "$single" "$links/$tool"
	is "plumb $tool is $tool" "$("$single" "$tool" --help 2>&1)" "$("$bin/$tool" --help 2>&1)"
	is "... also by a link" "$("$links/$tool" --about 2>&1)" "$("$bin/$tool" --about 2>&1)"
done

run_single() {
	"$single" "$@" >"$out" 2>"$err"
	status=$?
}
run_single --help
is "--help exits 0" "$status:$(<"$err")" "0:"
for tool in "${tools[@]}"; do
	claim "it names $tool" grep -qw -- "$tool" "$out"
done
is "it fits a terminal" "$(awk 'length > 80' "$out")" ""
run_single --version
is "--version" "$status:$(<"$out")" "0:plumb $("$bin/syscall-count" --version | awk '{ print $3 }')"
run_single
is "without a tool it is wrong usage" "$status:$(<"$out"):$(<"$err")" "2::plumb: which tool? (plumb --help lists them)"
run_single syscal-latency
is "a wrong name, too" "$status:$(<"$err")" "2:plumb: no such tool: syscal-latency; did you mean syscall-latency?"
run_single syscall-latency --nonsense
like "messages have the tool's name" "$status:$(<"$err")" "^2:syscall-latency: "
if [[ $EUID == 0 ]]; then
	"$single" syscall-count -j --no-calibrate -s getppid -- "$cli_top/build/tests/calls" 1009 getppid >"$out" 2>"$err"
	is "it traces" "$(tail -n 1 "$out" | jq -c '[.tool, .ledger.recorded]')" '["syscall-count",1009]'
fi
done_testing
