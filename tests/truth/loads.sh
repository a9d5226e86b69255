# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# The programs of tools whose own groups run elsewhere pass this kernel's verifier, also those that an option adds: they are
# loaded and attached, and end with a whole report.

# What each traces, beside a command that makes 23 calls.
arguments='cache-hit
cpu-profile
event-rate page-faults
file-io-breakdown
offcpu-time --wakers
wall-time
runq-latency
runq-latency --who
slab-latency
syscall-breakdown -s getppid
syscall-breakdown -s getppid --above=90
syscall-count -s getppid
syscall-count -s getppid -b fd
syscall-latency -s getppid --split --who
syscall-latency -s getppid --split -b syscall,fd
syscall-slower -s getppid --stacks --wakers 1ns
usdt-latency usdt:/tests/usdt:app:slow_begin usdt:/tests/usdt:app:slow_end'

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	quick=--no-calibrate
	case $(uname -r) in
	*cloud*) ;;
	*)
		echo "each tool has a group of its own here" >native.skip
		return
		;;
	esac
	while read -r program words; do
		name=$(echo "$program $words" | tr -d ' /' | tr -c 'a-z0-9\n' '-')
		echo "$name" >>names
		# shellcheck disable=SC2086 # words
		traced "$name" $words -- calls 23 getppid
	done <<-END
		$arguments
	END
}

check() {
	if [ -e native.skip ]; then
		skip "the tools' programs are loaded" "$(cat native.skip)"
		return
	fi
	while read -r name; do
		evidence "$name.json" "$name.err"
		is "$name: its programs are loaded" "$(cat "$name.status")" 0
		jq -c 'select(.schema)' "$name.json" >"$name.report.json"
		# Rows of wall-time are made of several, and of samples: what they have in common is the time.
		if [[ $name == wall-time* ]]; then
			holds "$name: its parts are the whole" "$name.report.json" \
				'$last.wall_ns > 0 and ([$last.rows[].sum] | add) == $last.wall_ns'
		else
			whole "of $name" "$name.report.json"
		fi
		case $name in
		syscall-*) holds "$name: the calls are counted" "$name.report.json" '$last.ledger | .recorded + (.filtered_at_exit // 0) == 23' ;;
		esac
	done <names
}
