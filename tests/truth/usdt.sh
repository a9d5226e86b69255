# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# USDT probes: as often as they were passed, at all of their places, with their semaphores.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=func-count quick=--no-calibrate
	uname -r >kernel
	file=$(command -v usdt)
	# shellcheck disable=SC2034 # by attach_each
	mechanisms=${mechanism:-uprobe.multi uprobe}
	# In the short form those of uprobe are only counted.
	counted=$mechanisms one=$mechanisms
	everything || one=${mechanism:-$(case $(cat kernel) in 5.* | 6.[0-5].*) echo uprobe ;; *) echo uprobe.multi ;; esac)}
	start all usdt 8
	attach_each all -d 90 -p "$pid" "usdt:$file:app:*"
	attach one -d 90 -p "$pid" "usdt:$file:a?p:begin" "usdt:$file:app:begin"
	attach both -d 90 -p "$pid" "usdt:$file:app:rare" "u:$file:main"
	program=func-stack attach stacks -p "$pid" "usdt:$file:app:rare"
	program=usdt-latency mechanisms=$one
	attach_each pairs -p "$pid" "$file:app:begin" "usdt:$file:app:end"
	attach_each sleeps -b tid -p "$pid" "$file:app:slow_begin" "$file:app:slow_end"
	attach_each between -p "$pid" "$file:app:slow_end" "$file:app:slow_begin"
	attach_each nested -p "$pid" "$file:app:rare" "$file:app:guarded"
	attach_each jobs --key=arg:0,done.arg:1 -b done.arg:0 -p "$pid" "$file:app:queued" "$file:app:taken"
	attach_each arguments -b "arg:1,done.arg:0>>9" -p "$pid" "$file:app:begin" "$file:app:end"
	also attach memory -b arg:2 -p "$pid" "$file:app:begin" "$file:app:end"
	attach byte -b "arg:3>>7" -p "$pid" "$file:app:begin" "$file:app:end"
	attach long --min=1s -p "$pid" "$file:app:slow_begin" "$file:app:slow_end"
	attach nobody -c no-such-name "$file:app:begin" "$file:app:end"
	program=func-count
	attached
	open_gate all go
	await 60 [ -e all.gates/done ]
	detach_each pairs sleeps between nested jobs arguments
	# shellcheck disable=SC2034 # by detach_each
	mechanisms=$counted
	detach_each all
	detach one both stacks memory byte long nobody
	open_gate all leave
	finish all "$pid"
	program=usdt-latency launch words "$file:app:rare" "$file:app:guarded" -- usdt 1
	finish words "$tool"
	quick='' program=usdt-latency launch executed -j "$file:app:slow_begin" "$file:app:slow_end" -- usdt exec
	finish executed "$tool"
	program=usdt-latency launch replaced -j --key=arg:0 "$file:app:slow_begin" "$file:app:slow_end" -- usdt exec
	finish replaced "$tool"
	# Without a tracer it is not passed.
	start untraced usdt 1
	open_gate untraced go
	await 60 [ -e untraced.gates/done ]
	open_gate untraced leave
	finish untraced "$pid"
}

# Fires by probe, as {NAME: COUNT}.
fires='[.rows[] | {(.key.func | sub(".*:"; "")): .count}] | add'
# What was passed, as {NAME: COUNT}.
passed='[$truth[0].calls[] | {(.function): .count}] | add'

check_mechanism() {
	forced "all-$1" "$1" || return
	holds "$1: each probe is one target, and counted as often as it was passed, with one semaphore or two" "all-$1.json" "($passed) as \$p
		| (\$last | $fires) == {begin: \$p.begin, end: \$p.end, rare: \$p.rare, guarded: 53, slow_begin: \$p.slow, slow_end: \$p.slow, queued: 104, taken: 98, twofold: 106}" \
		--slurpfile truth all.truth
	holds "$1: no call is lost" "all-$1.json" '$last.ledger | (.lost // .lost_at_least) == 0 and .unmatched == 0'
}

# pairs TOOL MECHANISM RECORDED UNMATCHED ABANDONED IN_FLIGHT
pairs() {
	holds "$2: of $1, each START and DONE is accounted for" "$1-$2.json" \
		"\$last.ledger | [.recorded, .unmatched, .abandoned, .in_flight, (.lost // .lost_at_least)] == [$3, $4, $5, $6, 0]"
}

check_latency() {
	forced "pairs-$1" "$1" || return 1
	pairs pairs "$1" 8072 0 0 0
	# The first DONE has no START, the last START no DONE.
	pairs between "$1" 30 1 0 1
	# 23 times START, then 53 times DONE.
	pairs nested "$1" 1 52 22 0
	pairs sleeps "$1" 31 0 0 0
	holds "$1: times are those of the sleep, and within what was measured around it" "sleeps-$1.json" '
		($truth[0].calls[] | select(.function == "slow")) as $true
		| $last.rows[0] | .min >= 3000000 and .max <= $true.max and .sum <= $true.sum
			and all(.percentiles | to_entries[]; .value >= 3000000 and .value <= $true.percentiles[.key] * 65 / 64)' \
		--slurpfile truth all.truth
	return 0
}

# Three of 101 jobs are queued twice, 5 are never taken, 2 are taken that were not queued.
check_arguments() {
	pairs jobs "$1" 96 2 3 5
	holds "$1: --key pairs across threads, with DONE's argument" "jobs-$1.json" '
		($last.rows | map([.key["done.arg:0"], .count]) | sort) == [[0, 32], [1, 32], [2, 32]]
			and all($last.rows[]; .min >= 3000000)
			and all($last.rows[]; .max <= ($truth[0].calls[] | select(.function == "jobs").max))' --slurpfile truth all.truth
	holds "$1: what is in flight is listed with the thread that queued it" "jobs-$1.json" \
		'($last.in_flight | length) == 5 and all($last.in_flight[]; .pid == $truth[0].pid and .tid == $truth[0].pid)' --slurpfile truth all.truth
	holds "$1: arguments, constants at each place, and of DONE in a register" "arguments-$1.json" '
		[range(1009) | [[1000, -2000, 3000][. % 3], (. / 512 | floor)]] as $all
		| ($last.rows | map([.key["arg:1"], .key["done.arg:0>>9"], .count]) | sort)
			== ($all | group_by(.) | map(.[0] + [8 * length]) | sort)'
}

check() {
	# shellcheck disable=SC2034 # by forced
	case $(cat kernel) in
	5.10.* | 6.1.*) must=uprobe ;;
	*) must='uprobe uprobe.multi' ;;
	esac
	for name in ${mechanism:-uprobe.multi uprobe}; do
		check_mechanism "$name"
		check_latency "$name" && check_arguments "$name"
	done
	also holds "an argument in memory" memory.json \
		'[range(1009) | [-1, -2, -3, -4][. % 4]] as $all | ($last.rows | map([.key["arg:2"], .count]) | sort) == ($all | group_by(.) | map([.[0], 8 * length]) | sort)'
	holds "an argument of one byte, signed and shifted" byte.json \
		'[range(1009) | (256 - . % 256) % 256 | if . > 127 then -1 else 0 end] as $all
			| ($last.rows | map([.key["arg:3>>7"], .count]) | sort) == ($all | group_by(.) | map([.[0], 8 * length]) | sort)'
	like "the ledger of a table is about pairs" "$(tr -s ' \n' ' ' <words.json)" '52 unmatched \(DONE without START\)'
	for json in executed replaced; do
		holds "a pair does not outlast its program: $json" $json.json '$last | [.ledger | .recorded, .abandoned, .unmatched] == [0, 1, 1]'
	done
	holds "what a pair costs is measured, unless something disturbs that" executed.json '$last.overhead_ns
		| .how == "disturbed" or ((.how | startswith("calibrated")) and .traced_interval[0] > 0 and .traced <= .traced_interval[1])'
	holds "--min: pairs below it are filtered" long.json '($last.rows | length) == 0 and $last.ledger.filtered_at_exit == 31'
	holds "a filter that matches no thread records nothing" nobody.json '$last.ledger | .recorded == 0 and .unmatched == 0'
	evidence one.err both.err stacks.err all.truth untraced.truth notes
	holds "a probe that two patterns name is counted once" one.json '($last.rows | map(.count)) == [8072]'
	holds "probes and functions of a file are separate targets" both.json \
		'($last.rows | map([(.key.func | sub(".*:"; "")), .count] | select(.[1] > 0))) == [["rare", 23]]'
	holds "func-stack has its stacks" stacks.json '([$last.rows[].count] | add) == 23'
	holds "all semaphores are raised while a probe is traced, and lowered afterwards" all.truth \
		"($passed) as \$p | \$p.raised == 10 and \$p.semaphores == 0" --slurpfile truth all.truth
	holds "without a tracer no semaphore is raised" untraced.truth \
		"($passed) as \$p | \$p.raised == 0 and \$p.guarded == 0" --slurpfile truth untraced.truth
}
