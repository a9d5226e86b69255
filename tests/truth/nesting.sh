# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# func-latency: a function inside itself, and functions inside others.  How deep a call is, is in
# its argument type_id, see the workload.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=func-latency quick=--no-calibrate
	uname -r >kernel
	# Three deep, since 2 CPUs are enough for 4 returns on some mechanisms; and 24 deep, which is
	# more than most have room for.
	start three nested 3 101
	attach_each three -b arg:type_id -p "$pid" btf_struct_show
	attach around -b func -p "$pid" btf_struct_show btf_type_seq_show array_map_seq_show_elem
	go three
	detach_each three
	detach around

	start once nested 1 101
	attach changed -b func -p "$pid" __btf_struct_show
	go once
	detach changed

	start deep nested 24 101
	attach_each deep -b arg:type_id -p "$pid" btf_struct_show
	attach cpu -b arg:type_id --cpu -p "$pid" btf_struct_show
	go deep
	detach_each deep
	detach cpu

	# The one ends in a jump to the other: then both are at the same place in the stack, unless the
	# frame of something of fentry's kind is between them.
	case $(uname -m) in
	aarch64) entry=__arm64_sys_read ;;
	*) entry=__x64_sys_read ;;
	esac
	mechanisms=${mechanism:-kprobe.session kprobe.multi kprobe}
	start jumps calls 101 read:64
	attach_each jump -b func -p "$pid" "$entry" ksys_read
	go jumps
	detach_each jump
}

# All rows from the outermost on, as [level, count, sum, min, max], and what was measured around it.
levels='$truth[0].calls[0] as $true
	| [$last.rows[] | [(.key["arg:type_id"] | tonumber), .count, .sum, .min, .max]]
	| sort | reverse as $levels | $true.read as $read'

nested_right() {
	evidence "$2.json" "$2.err" "$3.truth"
	holds "$1: the outermost call is within what was measured around it" "$2.json" "$levels"'
		| $levels[0] | .[0] == $true.outermost and .[4] <= $read.max and .[2] <= $read.sum' \
		--slurpfile truth "$3.truth"
	# Sums, where all of both are there.
	holds "$1: a call takes longer than the one inside of it" "$2.json" "$levels"'
		| ($levels | length) > 1 and all(range(1; $levels | length); $levels[. - 1] as $outer | $levels[.] as $inner
			| $outer[1] != $inner[1] or $outer[2] > $inner[2])' \
		--slurpfile truth "$3.truth"
}

check_mechanism() {
	if forced "three-$1" "$1"; then
		holds "$1: counts calls 3 deep, each level by itself" "three-$1.json" \
			'($last.rows | map([(.key["arg:type_id"] | tonumber), .count]) | sort | reverse)
				== [[4, 101], [3, 101], [2, 101]]'
		nested_right "$1" "three-$1" three
		sound "of calls 3 deep, $1" "three-$1.json"
	fi
	if forced "deep-$1" "$1"; then
		nested_right "$1, 24 deep" "deep-$1" deep
		whole "of calls 24 deep, $1" "deep-$1.json"
		holds "$1: of calls 24 deep the outer ones are recorded, the others counted" "deep-$1.json" "$levels"'
			| ([$levels[] | .[0]] == [range(25; 25 - ($levels | length); -1)])
			and all($levels[]; .[1] <= 101)
			and $last.ledger.recorded <= 2424
			and ($last.ledger.missed == null
				or ($last.ledger | .recorded + .missed + .too_deep >= 2424))' \
			--slurpfile truth deep.truth
		case $1 in
		fsession) holds "$1: all calls are recorded, 24 deep" "deep-$1.json" '$last.ledger.recorded == 2424' ;;
		fentry)
			holds "$1: at least 16 levels are recorded, the others counted" "deep-$1.json" \
				'$last.ledger | .recorded >= 1616 and .recorded + .too_deep == 2424'
			;;
		esac
	fi
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	is "the workloads could be run" "$(cat three.status deep.status jumps.status | tr '\n' ' ')" "0 0 0 "
	for mech in $(mechanisms); do
		check_mechanism "$mech"
	done
	for mech in ${mechanism:-kprobe.session kprobe.multi kprobe}; do
		forced "jump-$mech" "$mech" || continue
		holds "$mech: a function that ends in a jump to another is counted, and longer" "jump-$mech.json" \
			'$last.rows | sort_by(.key.func) | map(.count) == [101, 101] and .[0].sum > .[1].sum'
		sound "of a jump, $mech" "jump-$mech.json"
	done
	if unable changed; then
		return
	fi
	evidence around.json around.err three.truth
	holds "functions inside each other are counted" around.json \
		'($last.rows | map([.key.func, .count]) | sort) == [["array_map_seq_show_elem", 101],
			["btf_struct_show", 303], ["btf_type_seq_show", 101]]'
	holds "the outer function takes longer than the inner" around.json \
		'[$last.rows[] | select(.count == 101)] | sort_by(.key.func) | .[0].sum > .[1].sum'
	sound "of functions inside each other" around.json
	evidence changed.json changed.err
	holds "a function that the compiler changed is counted under its new name" changed.json \
		'$last.rows | length == 1 and .[0].count == 101
			and (.[0].key.func | test("^__btf_struct_show\\.(isra|constprop)\\.0$"))'
	like "... and that is said" "$(cat changed.err)" \
		'__btf_struct_show\.[a-z]+\.0: the compiler changed its signature'
	sound "of a changed function" changed.json
	nested_right "--cpu" cpu deep
	evidence cpu.json cpu.err
	holds "--cpu: what does not sleep is on a CPU, at any of 16 levels" cpu.json \
		'($last.rows | length) == 16 and $last.ledger.recorded == 1616
			and all($last.rows[]; .count == 101 and .cpu.sum > .sum * 0.5 and .cpu.sum <= .sum)'
	holds "... and the 8 deeper ones are counted" cpu.json '$last.ledger.too_deep == 808'
}
