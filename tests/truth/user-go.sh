# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# user-func-latency: Go functions, whose goroutines change threads and stacks inside a call.

go_mechanisms='uprobe.multi.returns uprobe.returns'

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=user-func-latency quick=--no-calibrate
	uname -r >kernel
	# shellcheck disable=SC2034 # by attach_each
	mechanisms=$go_mechanisms
	file=$(command -v gofuncs)
	start all gofuncs 12
	# Not by -p: its children count, too.
	attach_each all -b func -c gofuncs "$file:main.go*"
	attach levels -b arg:0:s64 -p "$pid" "$file:main.goRecurses"
	attach results -b ret -p "$pid" "$file:main.goRecurses"
	attach slow --min=1ms -b tid -p "$pid" "$file:main.goMoves" "$file:main.goLeaf"
	program=func-count attach counted -d 90 -c gofuncs "u:$file:main.go*"
	program=func-stack attach stacked -d 90 -c gofuncs "u:$file:main.goBigFrame"
	attached
	open_gate all go
	await 60 [ -e all.gates/inside ]
	detach_each all
	detach levels results slow counted stacked
	# It sees the end of calls that began before.
	attach late -p "$pid" "$file:main.goStays"
	attached
	open_gate all leave
	finish all "$pid"
	await 20 is_over "$(cat late.pid)"

	# More goroutines at a time than there is memory for.
	start crowd gofuncs 1 9001
	attach crowded -p "$pid" "$file:main.goStays"
	attached
	open_gate crowd go
	await 60 [ -e crowd.gates/inside ]
	detach crowded
	open_gate crowd leave
	finish crowd "$pid"

	# An upgrade, and then a file that cannot be traced.
	cp "$file" upgraded
	launch upgrade -j -v -b func "$PWD/upgraded:main.goLeaf"
	await 60 is_tracing upgrade
	cp "$file" next
	mv next upgraded
	await 20 grep -q 'the new file is traced as well' upgrade.err
	"$PWD/upgraded" 1 </dev/null >upgraded.out 2>&1
	cp "$(command -v userfuncs)" next
	mv next upgraded
	await 20 grep -q 'no function main.goLeaf' upgrade.err
	sleep 0.6 # it is looked at twice more
	detach upgrade

	launch command -j -b func "$file:main.goLeaf" -- gofuncs 1
	finish command "$tool"
	refused never "$file:main.goNever"
	refused assembly "$file:runtime.morestack.abi0"
	refused nameless "$file:gogo"
	refused cpu --cpu "$file:main.goLeaf"
	refused split --split "$file:main.goLeaf"
	refused thread --tid=1 "$file:main.goLeaf"
	refused errors --errors "$file:main.goLeaf"
	refused mixed "$file:main.goLeaf" "$(command -v userfuncs):user_leaf"
	for mech in uprobe.session uprobe.multi uprobe; do
		refused "$mech" "--mechanism=$mech" "$file:main.goLeaf"
	done
}

# refused NAME ARG...
refused() {
	refused=$1
	shift
	"$program" "$@" -d 0.1 </dev/null >"$refused.out" 2>"$refused.err"
	echo $? >"$refused.status"
}

# Calls by function, without those of which none returned.
counts='[.rows[] | {(.key.func | sub(".*:main."; "")): .count}] | add'
# What was called, as [function, count].
called='[$truth[0].calls[] | {(.function): .count}] | add'
left='.goThrows, .goThrowsMiddle, .goExits, .goStays'

levels='[range(1; 41) as $n | [$n, ([20, 32] | map(select(. >= $n)) | length) + if $n >= 9 then 1 else 0 end]]'

check_mechanism() {
	forced "all-$1" "$1" || return
	whole "of Go functions, $1" "all-$1.json"
	holds "$1: each call that returned is recorded, and no other" "all-$1.json" "($called) as \$called | (\$last | $counts) == (\$called
		| del($left) | .goRecurses -= 8)" --slurpfile truth all.truth # 92 levels, of which 84 are timed
	holds "$1: calls that a panic, the goroutine's end or the process's end has left are abandoned" "all-$1.json" \
		"($called) as \$c | \$last.ledger.abandoned == \$c.goThrows + \$c.goThrowsMiddle + \$c.goExits + \$c.goStays - 5" \
		--slurpfile truth all.truth
	holds "$1: calls deeper than 32 levels are lost, no others" "all-$1.json" \
		'$last.ledger | .too_deep == 8 and (.lost // .lost_at_least) == 8 and .no_state == 0 and .unmatched == 0 and .filtered_at_exit == 0'
	holds "$1: calls that go on are in flight" "all-$1.json" \
		'$last.ledger.in_flight == 5 and ($last.in_flight | length) == 5 and $last.in_flight_not_listed == 0
			and all($last.in_flight[]; (.function | endswith(":main.goStays")) and .pid == $truth[0].pid)' \
		--slurpfile truth all.truth
	holds "$1: times are within what was measured around the calls" "all-$1.json" '
		($truth[0].calls[] | select(.function == "goMoves")) as $true
		| $last.rows[] | select(.key.func | endswith(":main.goMoves"))
		| .min >= 1100000 and .max <= $true.max and .sum <= $true.sum
			and all(.percentiles | to_entries[]; .value >= 1100000 and .value <= $true.percentiles[.key] * 65 / 64)' \
		--slurpfile truth all.truth
}

check() {
	# shellcheck disable=SC2034 # by forced
	case $(cat kernel) in
	5.10.* | 6.1.*) must=uprobe.returns ;;
	*) must=$go_mechanisms ;;
	esac
	for name in $go_mechanisms; do
		check_mechanism "$name"
	done
	evidence upgrade.err crowded.err all.err levels.err results.err slow.err counted.err stacked.err late.err command.err notes
	is "the program ends well" "$(cat all.status)" 0
	holds "... and goroutines did move, stacks did grow, panics were recovered" all.truth \
		'$last | .moved > 0 and .copied == 37 and .caught == 28 and .ended == 11'
	holds "-b arg:0: the first register of Go's arguments" levels.json "$levels"' == ($last.rows | map([.key["arg:0:s64"], .count]) | sort)'
	holds "-b ret: the first of its results" results.json "$levels"' == ($last.rows | map([.key.ret, .count]) | sort)'
	holds "--min, in several threads: only the slow calls" slow.json "($called) as \$called
		| ([\$last.rows[].count] | add) >= \$called.goMoves and all(\$last.rows[]; .min >= 1000000)
			and (\$last.ledger | .recorded + .filtered_at_exit) == \$called.goMoves + \$called.goLeaf
			and (\$last.ledger | (.lost // .lost_at_least) == 0) and \$last.ledger.unmatched == 0" --slurpfile truth all.truth
	holds "func-count counts each call once, also if the stack grows at its beginning" counted.json \
		"($called) as \$called | (\$last | $counts) == (\$called | .goStays |= .)" --slurpfile truth all.truth
	holds "so does func-stack" stacked.json '([$last.rows[].count] | add) == 29'
	holds "calls that began before the trace are unmatched" late.json \
		'$last.final and $last.ledger.unmatched == 5 and $last.ledger.recorded == 0 and ($last.ledger | (.lost // .lost_at_least) == 0)'
	holds "goroutines that are too many are lost, and counted" crowded.json '$last.ledger.recorded == 0 and $last.ledger.in_flight == 8192
		and $last.ledger.no_state == 9001 - 8192 and ($last.ledger | (.lost // .lost_at_least) == 9001 - 8192) and $last.in_flight_not_listed == 4096'
	holds "an upgraded program is traced" upgrade.json '$last.ledger.recorded == 1009 + 11 and ($last.ledger | (.lost // .lost_at_least) == 0)
		and ($last.builds | map(.calls)) == [0, 1009 + 11, 0]'
	is "... and a file that cannot be traced is refused, once" "$(grep -c 'no function main.goLeaf' upgrade.err)" 1
	holds "a command is traced" command.json '($last.rows | map(.count)) == [1009 + 11]'
	like "a function that never returns is refused" "$(cat never.err)" 'main.goNever in .*: it has no return'
	like "assembly is refused" "$(cat assembly.err)" 'not compiled by Go'
	like "... by its name" "$(cat nameless.err)" 'not compiled by Go'
	like "--cpu is refused" "$(cat cpu.err)" 'goes on in other threads'
	like "--split is refused" "$(cat split.err)" "goes on in other threads"
	like "--tid is refused" "$(cat thread.err)" 'goes on in other threads'
	like "--errors is refused" "$(cat errors.err)" 'do not return errors as numbers'
	like "a C program beside it is refused" "$(cat mixed.err)" 'gofuncs is a Go program, .*userfuncs is not'
	for name in uprobe.session uprobe.multi uprobe; do
		like "--mechanism=$name is refused" "$(cat "$name.err")" "a Go program's stacks move"
		is "... with a status" "$(cat "$name.status")" 1
	done
}
