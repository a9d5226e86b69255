#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Who asks for help gets it, on stdout, and nothing else.
. "$(dirname "$0")/lib.sh"

version=$(sed -nE 's/^VERSION *:= *//p' "$cli_top/Makefile")

answers() {
	run "$tool" "$@"
	is "$tool ${*: -1} exits 0" "$status" 0
	claim "$tool ${*: -1} answers on stdout" test -s "$out"
	is "$tool ${*: -1} says nothing on stderr" "$(<"$err")" ""
}

for tool in "${tools[@]}"; do
	for option in --help -h; do
		answers "$option"
		like "$tool $option begins with the usage" "$(head -n 1 "$out")" "^Usage: $tool "
	done
	is "$tool -h is --help" "$(cat "$out")" "$("$bin/$tool" --help)"
	# Margins without room for a word.  All tools have the same code for it.
	for format in rmargin=1 rmargin=0,short-opt-col=99 header-col=99,usage-indent=99,rmargin=2; do
		[[ ${CHECK_ALL-} || $tool == "${tools[0]}" ]] || break
		is "$tool --help is what it is with ARGP_HELP_FMT=$format" \
			"$(ARGP_HELP_FMT=$format timeout -k 1 10 "$bin/$tool" --help 2>&1 | head -n 200)" "$("$bin/$tool" --help)"
	done
	is "$tool --help is no wider than a terminal" "$("$bin/$tool" --help | awk 'length > 80')" ""
	is "$tool --help has no heading twice" "$("$bin/$tool" --help | grep -E '^ [A-Z].*:$' | sort | uniq -d)" ""
	for option in --version -V; do
		answers "$option"
		is "$tool $option names the tool and its version" "$(<"$out")" "$tool (plumb) $version"
	done
	answers --about
	is "$tool --about fits a terminal" "$(awk 'length > 80' "$out")" ""
	like "$tool --about begins with the tool" "$(head -n 1 "$out")" "^$tool "
	claim "$tool --about has more than the summary" test "$(grep -c . "$out")" -ge 4
	! grep -q sched_switch "$out" || like "$tool --about says how stable its sched_switch is" \
		"$(tr -s ' \n' ' ' <"$out")" 'sched_switch(, sched_waking)? \(stable-ish\)'
	! has "$tool" --pid || answers -p 1 --help
	# By whatever path it is called, it has one name.
	ln -s "$bin/$tool" "$work/$tool"
	"$work/$tool" --help >"$out" 2>"$err"
	like "$tool called through a link has its name" "$(head -n 1 "$out")" "^Usage: $tool "
done
done_trying
