# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# user-func-latency: functions that end in all the ways in which a function can end, by every mechanism.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=user-func-latency quick=--no-calibrate
	uname -r >kernel
	# shellcheck disable=SC2034 # by attach_each
	mechanisms=${mechanism:-uprobe.session uprobe.multi uprobe}
	everything || case $(cat kernel) in
	5.* | 6.[0-5].*) mechanisms=${mechanism:-uprobe} ;;
	6.[6-9].* | 6.1[0-2].*) mechanisms=${mechanism:-uprobe.multi} ;;
	*) mechanisms=${mechanism:-uprobe.session uprobe} ;;
	esac
	file=$(command -v userfuncs)
	start all userfuncs 8
	# Not by -p: its children count, too.
	attach_each all -b func -c userfuncs "$file:user_*"
	attach slow --min=2ms -b func -p "$pid" "$file:user_*"
	attach failed --errors -b errno -p "$pid" "$file:user_leaf"
	attach levels -b arg:0:s32 -p "$pid" "$file:user_recurses"
	attach results -b ret -p "$pid" "$file:user_recurses"
	attach cpu --cpu -b func -p "$pid" "$file:user_sleeps" "$file:user_leaf"
	attach threads -b tid -p "$pid" "u:$file:user_leaf"
	program=func-count attach counted -d 90 -c userfuncs "u:$file:user_*"
	attached
	open_gate all go
	await 60 [ -e all.gates/inside ]
	detach_each all
	detach slow failed levels results cpu threads counted
	open_gate all leave
	finish all "$pid"

	# Its end is the trace's, and a signal's.
	start over userfuncs 1
	attach over -b pid -p "$pid" "$file:user_leaf"
	attached
	open_gate over go
	await 60 [ -e over.gates/inside ]
	open_gate over leave
	finish over "$pid"
	await 20 is_over "$(cat over.pid)"
	launch command -j -b func "$file:user_tail" -- userfuncs 1
	finish command "$tool"
}

# Calls by function, without those of which none returned.
counts='[.rows[] | {(.key.func | sub(".*:"; "")): .count}] | add'
# What was called, as [function, count].
called='[$truth[0].calls[] | {(.function): .count}] | add'

levels='[range(1; 71) as $n | [$n, ([20, 63] | map(select(. >= $n)) | length) + if $n >= 7 then 1 else 0 end]]'

check_mechanism() {
	forced "all-$1" "$1" || return
	whole "of user functions, $1" "all-$1.json"
	holds "$1: each call that returned is recorded, and no other" "all-$1.json" "($called) as \$called | (\$last | $counts) == (\$called
		| del(.user_dies, .user_exits, .user_executes, .user_stays, .user_jumps_outer)
		| .user_recurses -= 6)" --slurpfile truth all.truth # 70 levels, of which 64 are timed
	holds "$1: each call that was left without a return is abandoned" "all-$1.json" \
		"($called) as \$c | \$last.ledger.abandoned == 3 * \$c.user_jumps_outer + \$c.user_dies + \$c.user_exits + \$c.user_executes" \
		--slurpfile truth all.truth
	holds "$1: calls deeper than 64 levels are lost, no others" "all-$1.json" \
		'$last.ledger | .too_deep == 6 and (.lost // .lost_at_least) == 6 and .no_state == 0 and .unmatched == 0 and .filtered_at_exit == 0'
	holds "$1: the call that goes on is in flight, with its thread" "all-$1.json" \
		'$last.ledger.in_flight == 1 and ($last.in_flight | length) == 1
			and ($last.in_flight[0] | (.function | endswith(":user_stays")) and .pid == $truth[0].pid and .since_before == false)' \
		--slurpfile truth all.truth
	holds "$1: times are those of the sleep, and within what was measured around it" "all-$1.json" '
		($truth[0].calls[] | select(.function == "user_sleeps")) as $true
		| $last.rows[] | select(.key.func | endswith(":user_sleeps"))
		| .min >= 3000000 and .max <= $true.max and .sum <= $true.sum
			and all(.percentiles | to_entries[]; .value >= 3000000 and .value <= $true.percentiles[.key] * 65 / 64)' \
		--slurpfile truth all.truth
	holds "$1: a function that was jumped to ends with the one that jumped" "all-$1.json" '
		[$last.rows[] | select(.key.func | test(":user_tail(_end)?$"))] | sort_by(.key.func)
		| length == 2 and .[0].sum >= .[1].sum' || :
}

check() {
	# shellcheck disable=SC2034 # by forced
	case $(cat kernel) in
	5.10.* | 6.1.*) must=uprobe ;;
	6.12.*) must='uprobe uprobe.multi' ;;
	*) must='uprobe uprobe.multi uprobe.session' ;;
	esac
	for name in ${mechanism:-uprobe.session uprobe.multi uprobe}; do
		check_mechanism "$name"
	done
	case ${mechanism:-},$(cat kernel) in
	,5.* | ,6.[0-9].* | ,6.1[0-2].*) also like "before 6.13 the kernel has no uprobe.session, which is said" "$(cat all-uprobe.session.err)" \
		'uprobe\.session refused: open: EOPNOTSUPP, not supported by this kernel' ;;
	esac
	evidence slow.err failed.err levels.err results.err cpu.err threads.err counted.err notes
	# A host that is held up makes other calls as slow.
	holds "--min: all slow calls, the others are filtered" slow.json "($called) as \$called
		| ([\$last.rows[] | select(.key.func | endswith(\":user_sleeps\")).count] == [31]) and all(\$last.rows[]; .min >= 2000000)
			and (\$last.ledger | .recorded + .filtered_at_exit) == (\$called
				| del(.user_dies, .user_exits, .user_executes, .user_stays, .user_jumps_outer) | [.[]] | add - 6)" \
		--slurpfile truth all.truth
	holds "--errors: those that returned -EINVAL" failed.json \
		'($last.rows | map([.key.errno, .count, .errors])) == [["EINVAL", $truth[0].calls[0].errors, $truth[0].calls[0].errors]]' \
		--slurpfile truth all.truth
	# Recursions of 20, 63 and 70 levels, of which the innermost 6 of the last are not timed.
	holds "-b arg:0: how many calls had which argument, as an int" levels.json "$levels"' == ($last.rows | map([.key["arg:0:s32"], .count]) | sort)'
	holds "-b ret: how many calls had which result" results.json "$levels"' == ($last.rows | map([.key.ret, .count]) | sort)'
	holds "--cpu: who sleeps is not on a CPU" cpu.json \
		'$last.rows[] | select(.key.func | endswith(":user_sleeps")) | .cpu.sum * 2 < .sum'
	holds "-b tid: eight threads, each with its calls" threads.json '($last.rows | map(.count)) == [range(8) | 1009]'
	holds "a trace ends with its process" over.json '($last.rows | map(.count)) == [1009] and $last.final'
	is "... well" "$(cat over.status)" 0
	holds "a command is traced" command.json '($last.rows | map(.count)) == [50]'
	holds "func-count counts the calls that have no return, too" counted.json "($called) as \$called | (\$last | $counts) as \$counts
		| \$counts == (\$called | .user_jumps_middle = .user_jumps_outer | .user_jumps = .user_jumps_outer)" --slurpfile truth all.truth
}
