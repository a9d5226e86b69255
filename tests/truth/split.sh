# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# --split: where the time of calls went, held against what is known of it.

# shellcheck source=lib/steered.sh
. "$truth/lib/steered.sh"

# A function that reads the clock for a second, while datagrams interrupt it.
interrupted() {
	start interrupted causes softirq 1000
	program=user-func-latency attach interrupted --split -b comm -p "$pid" "$(command -v causes):be_interrupted"
	attached
	open_gate interrupted go
	await 60 [ -e interrupted.gates/done ]
	detach interrupted
	open_gate interrupted end
	finish interrupted "$pid"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	quick=--no-calibrate mechanisms=${mechanism:-fentry tracepoint raw_tracepoint}
	uname -r >kernel
	[ -e /sys/kernel/tracing/events/raw_syscalls ] && echo tracepoint >tracepoints

	start target parts
	if is_over "$pid"; then
		finish target "$pid"
		mv target.err parts.skip
		return
	fi
	attach_each split --split -s getrandom,read,sched_get_priority_max -b comm,syscall -p "$pid"
	for mech in uprobe.session uprobe; do
		program=user-func-latency attach "functions-$mech" "--mechanism=$mech" --split -b comm,func -p "$pid" \
			"$(command -v parts):parts_call"
	done
	go target
	detach_each split
	detach functions-uprobe.session functions-uprobe

	start variants parts
	attach by-cpu --who -s getrandom,read,sched_get_priority_max -b comm,syscall,errno,cpu -p "$pid"
	attach min --split --min=1ms -s getrandom,read,sched_get_priority_max -b comm -p "$pid"
	attach comm --split -s read -b comm -c blocked,runq
	attach intervals --split 0.2 -s getrandom,read,sched_get_priority_max -b comm,syscall -p "$pid"
	attach one-row --split --max-keys=1 -s getrandom,read,sched_get_priority_max -b comm,syscall -p "$pid"
	# With less room than threads, one row has calls of two kinds, so that its bands differ.
	launch table -v --split -H -b comm --max-keys=3 -s getrandom,read -p "$pid"
	await 30 is_tracing table
	go variants
	detach by-cpu min comm intervals one-row table

	steered interrupted || echo "packets cannot be steered here" >interrupted.skip

	start napping naps 200
	if is_over "$pid"; then
		finish napping "$pid"
	else
		attach naps --split -s nanosleep -b comm -p "$pid"
		go napping
		detach naps
	fi

	syscall-latency --help >help
	launch rows --split -v -d 0.1
	finish rows "$tool"
	start sender sends 127.0.0.1,23,1000000,stall:20
	attach stalled --split -s sendto -b comm,syscall -p "$pid"
	go sender
	detach stalled
	traced errors --split --errors -s close -b errno,cpu -- calls 1009 close-bad
	traced killed --split -s read,exit_group -b syscall -- dying 7 kill
	# Each write fills the pipe: thousands of calls a second that block, while reports are made.
	case $(uname -r) in
	*cloud*) blocks=2003 ;;
	*) if everything; then blocks=20011; else blocks=5003; fi ;;
	esac
	traced busy --split 0.02 -b comm -- \
		sh -c 'dd if=/dev/zero bs=65536 count=$0 2>/dev/null | dd of=/dev/null bs=65536 2>/dev/null' "$blocks"
}

# All that is said of a row is one and the same: the parts, the whole, the bands, the calls.
# SETTLED: no call was on its way when it was read.
consistent='def parts: [.on_cpu, .irq, .preempted, .blocked, .runq, .return // 0]; # functions have no return
	def coherent: (parts | add) == .sum and all(parts[]; . >= 0) and all(.mostly[]; . >= 0)
		and (.mostly | add) == .count;
	def added($list): reduce $list[] as $one ([range(14) | 0];
		[., ($one | [.count, .sum] + parts + (.mostly | parts))]
		| transpose | map(add));
	def consistent($settled): all(.rows[]; .split as $split
		| if ($split | coherent) and all($split.bands[]; coherent) then . else error("parts: \($split)") end
		| if added($split.bands) == added([$split]) then . else error("bands: \($split)") end
		| if $split.count == .count and ($settled and $split.sum != .sum | not)
			then . else error("row: \(del(.hist))") end);'

# The calls above a percentile are those of the buckets above its value.
banded='def banded: all(.rows[] | select(.percentiles | has("99.9")); . as $row
	| [0, .percentiles["50"], .percentiles["90"], .percentiles["99"], .percentiles["99.9"]] as $from
	| [range(5)] | map(. as $i | [$row.hist[]
		| select((.[0] > $from[$i] or $i == 0) and ($i == 4 or .[0] <= $from[$i + 1])) | .[2]] | add // 0)
	| . == [$row.split.bands[].count]);'

# Rows as one per thread of the workload, with the parts of each.
threads='def threads($rows): [$rows[] | {comm: .key.comm, split}] | group_by(.comm)
	| map({key: .[0].comm, value: {count: (map(.split.count) | add), sum: (map(.split.sum) | add),
		on_cpu: (map(.split.on_cpu) | add), preempted: (map(.split.preempted) | add),
		blocked: (map(.split.blocked) | add), runq: (map(.split.runq) | add),
		mostly: (map(.split.mostly) | reduce .[] as $m ({}; reduce ($m | keys[]) as $k (.; .[$k] += $m[$k])))}})
	| from_entries;'

# By the kernel's account of CPU time (can.off) each switch is on the CPU, and what a remote wakeup takes. 1 % more: a busy
# host can stop an emulated machine in the middle of a switch.
bounded='def bounded($split; $true):
	if $split.count != $true.count then error("\($true.comm): count: \($split)") else . end
	| if $split.sum > $true.sum then error("\($true.comm): sum: \($split), \($true)") else . end
	| reduce ("preempted", "blocked", "runq") as $part (.;
		if $split[$part] < $true.must[$part]
		then error("\($true.comm): too little \($part): \($split), \($true)") else . end
		| if $split.mostly[$part] < $true.mostly[$part]
		then error("\($true.comm): too few mostly \($part): \($split), \($true)") else . end)
	| if $split.sum - $split.on_cpu > $true.can.off + 600000 * ($true.switches | .voluntary + .involuntary) + $true.sum / 100
		then error("\($true.comm): too much off the CPU: \($split), \($true)") else . end
	| reduce ("blocked", "runq") as $part (.;
		if $true.can[$part] > 0 and $split[$part] > $true.can[$part]
		then error("\($true.comm): too much \($part): \($split), \($true)") else . end)
	| if $true.switches.involuntary == 0 and $split.preempted > 0
		then error("\($true.comm): was not preempted: \($split)") else . end
	| if $true.switches.voluntary == 0 and $split.blocked + $split.runq > 0
		then error("\($true.comm): did not sleep: \($split)") else . end;'

# known CLAIM TOOL WORKLOAD [ROWS] - the rows (of the last report) are of each thread what it must have been
known() {
	holds "$1" "$2.json" "$threads $bounded"' threads('"${4-\$last.rows}"') as $found
		| true | reduce $truth[0].calls[] as $true (.; bounded($found[$true.comm]; $true))
		| ($found | keys) == ($truth[0].calls | map(.comm) | sort)' --slurpfile truth "$3.truth"
}

# adds_up TOOL
adds_up() {
	holds "the parts of each row and band add up to its time and its calls, $1" "$1.json" \
		"$consistent "'$all | all(consistent(length == 1))'
	holds "the bands are those of the percentiles, $1" "$1.json" "$banded"' $all | all(banded)'
}

check_mechanism() {
	forced "split-$1" "$1" || return
	evidence "split-$1.json" "split-$1.err" target.truth
	known "$1: each thread's time went where it knows that it did" "split-$1" target
	adds_up "split-$1"
	# Programs of raw tracepoints and fentry can be preempted on 7.x, and what comes meanwhile is missed.
	case $1:$(cat kernel) in
	tracepoint:* | *:[56].*) sound "of --split by $1" "split-$1.json" ;;
	*) whole "of --split by $1" "split-$1.json" ;;
	esac
}

check() {
	if [ -e parts.skip ]; then
		skip "--split is true" "$(cat parts.skip)"
		return
	fi
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	# shellcheck disable=SC2034 # by what judges a refusal
	must="raw_tracepoint $(cat tracepoints 2>/dev/null)"
	for workload in target variants; do
		evidence "$workload.truth" "$workload.err"
		is "the workload ended well, $workload" "$(cat "$workload.status")" 0
		holds "it knows something of all its parts, $workload" "$workload.truth" '
			def known($comm; $part): $last.calls[] | select(.comm == $comm).must[$part] > 0;
			known("preempted"; "preempted") and known("blocked"; "blocked") and known("runq"; "runq")
			and ([$last.calls[] | select(.comm == "mixed")] | . == []
				or (known("mixed"; "preempted") and known("mixed"; "blocked")))'
		grep -q '"comm":"mixed"' "$workload.truth" ||
			skip "a call that sleeps and is preempted, $workload" "$(cat "$workload.err")"
	done
	for mech in ${mechanism:-fentry tracepoint raw_tracepoint}; do
		check_mechanism "$mech"
	done

	must=uprobe
	for mech in uprobe.session uprobe; do
		forced "functions-$mech" "$mech" || continue
		known "$mech: each thread's time in a user function went where it knows that it did" "functions-$mech" target
		adds_up "functions-$mech"
		whole "of --split by $mech" "functions-$mech.json"
	done
	must="raw_tracepoint $(cat tracepoints 2>/dev/null)"

	if ! jq -e '.calls | any(.seen == .count)' napping.truth >/dev/null 2>&1; then
		skip "short sleeps are off the CPU from switch to switch" "perf has missed switches, or there is none"
	elif [ -e naps.json ]; then
		evidence naps.json naps.err napping.truth
		case $(cat kernel) in
		*cloud*) more=50000 ;;
		*) more=5000 ;;
		esac
		holds "short sleeps are off the CPU from switch to switch, by perf's time stamps" naps.json \
			'[$truth[0].calls[] | select(.seen == .count)] | length > 0 and all(.[]; . as $t | [$last.rows[] | select(.key.comm == $t.comm).split] | length == 1 and (.[0]
				| .count == $t.count and ((.blocked + .runq - $t.off) | fabs) <= $more * .count + $t.off / 1000 and .runq > 0 and .blocked > 0))' --slurpfile truth napping.truth --argjson more "$more"
		adds_up naps
	fi

	evidence by-cpu.json by-cpu.err variants.truth
	known "-b errno,cpu: each thread's time went where it knows" by-cpu variants
	holds "... and all was on one CPU" by-cpu.json '($last.rows | map(.key.cpu) | unique | length) == 1'
	holds "... --who, which implies --split: all time runnable without a CPU is in both lists" by-cpu.json \
		'([$last.rows[].split | .preempted + .runq] | add) as $least | ([$last.rows[].split.return] | add) as $return
			| ([$last.who.waited[].sum] | add) as $sum | $sum == ([$last.who.meanwhile[].sum] | add)
			and $sum >= $least * 0.99 and $sum <= ($least + $return) * 1.01'
	holds "... the partner had the CPU meanwhile, by its clock, with its policy and priority" by-cpu.json \
		'[$truth[0].calls[].holder] | add as $held
			| [$last.who.meanwhile[] | select(.what == "thread" and .comm == "parts" and .policy == "fifo" and .priority == 2).sum] | add >= 0.95 * $held' \
		--slurpfile truth variants.truth
	evidence comm.json comm.err variants.truth
	holds "-c: the two threads that were asked for" comm.json \
		'($last.rows | map([.key.comm, .split.count]) | sort) == [["blocked", 101], ["runq", 29]]'
	evidence one-row.json one-row.err variants.truth
	holds "--max-keys=1: [other] is split as well" one-row.json '[$last.rows[].split.count] | add
		== ($truth[0].calls | map(.count) | add) and length == 2' --slurpfile truth variants.truth
	evidence min.json min.err variants.truth
	holds "--min: what is left out is in no part" min.json \
		'[$last.rows[] | .split.count, .count] | (length > 0 and add == 2 * $last.ledger.recorded)'
	holds "... and no shorter call is in a row" min.json 'all($last.rows[]; .min >= 1000000)'
	evidence intervals.json intervals.err variants.truth
	known "the intervals' parts add up to the whole" intervals variants '[$all[].rows[]]'
	holds "... of several reports" intervals.json '$all | length > 2'
	for tool in by-cpu comm one-row min intervals; do
		adds_up "$tool"
		sound "of --split, $tool" "$tool.json"
	done

	if [ -e interrupted.skip ]; then
		skip "what interrupts a call" "$(cat interrupted.skip)"
	else
		evidence interrupted.json interrupted.err interrupted.truth
		holds "what interrupts a call is in a part of its own, within 3 % of the time by the call's own clock" interrupted.json '
			$truth[0].calls[0].cause as $true | $last.rows[0] | .sum as $all | .split.irq
				| . >= ($true | min) - 0.03 * $all and . <= ($true | max) + 0.03 * $all' --slurpfile truth interrupted.truth
		adds_up interrupted
	fi
	evidence stalled.json stalled.err sender.truth
	holds "sends that had to wait for room were blocked, by so much at least, and most of them mostly" stalled.json '
		$truth[0].calls[0] as $true | $last.rows | length == 1 and (.[0].split | .count == 23 and .mostly.blocked >= 12
			and .blocked >= $true.least.sum and .sum <= $true.sum)' --slurpfile truth sender.truth
	adds_up stalled
	sound "of --split, stalled" stalled.json
	evidence errors.json errors.err
	holds "--errors: failed calls, that never left their CPU" errors.json \
		'([$last.rows[] | select(.key.errno == "EBADF").split.count] | add) == 1009 and $last.ledger.recorded == 1009'
	adds_up errors
	evidence killed.json killed.err
	holds "calls whose threads are killed inside were blocked" killed.json '
		$last.rows | map(select(.key.syscall == "read").split) | length == 1
		and .[0].count == 7 and .[0].blocked > 0 and .[0].mostly.blocked + .[0].mostly.runq > 0'
	holds "... and one that never ended is in no part" killed.json \
		'$last.ledger | .recorded == 7 and .abandoned + .exit_lost - .exit_lost_observed == 1
			and (.abandoned == 1 or .missed > 0)'
	adds_up killed
	evidence busy.err
	adds_up busy
	holds "what blocks while reports are made is in them once" busy.json '
		([$all[].rows[].split.sum] | add) == ([$all[].rows[].sum] | add)
		and ([$all[].rows[].split.mostly.blocked] | add) > 100 and ($all | length) > 2'

	evidence rows.err help
	is "as many rows are told apart as --help says" \
		"$(sed -n 's/.*histograms: \([0-9]*\) slots.*/\1/p' rows.err | head -n 1)" \
		"$(($(tr -s ' \n' ' ' <help | sed -n 's/.*\[other\]; default \([0-9]*\).*/\1/p') + 1))" # [other]
	evidence table.json table.err
	claim "in a table the parts of each row are all of it" awk '
		NR == 1 { n = NF; for (i = 1; i <= NF; i++) part[i] = $i ~ /^(ON-CPU|IRQ|PREE|BLOCK|RUNQ|RET)$/; next }
		!NF { exit }
		NF == n && $1 ~ /^(blocked|runq|mixed|on-cpu|preempted)/ {
			sum = 0
			for (i in part)
				sum += part[i] ? $i + 0 : 0
			rows++
			wrong += sum < 97 || sum > 103
		}
		END { exit !(rows >= 3 && !wrong) }' table.json
	# Which do differ is up to chance, on a busy machine.
	if grep -qE '^  (p[0-9]|above p)' table.json; then
		is "... and of a band that differs those above 5 %" "$(grep -E '^  (p[0-9]|above p)' table.json | grep -vE \
			'^  (p[0-9.]+-[0-9.]+|above p[0-9.]+), [0-9]+ calls?:( (on-cpu|irq|preempted|blocked|runq|return) [0-9]+ %,?)+$')" ""
	else
		skip "... and of a band that differs those above 5 %" "none does in this run"
	fi
	like "the hooks are told, and how stable they are" "$(sed -n '/^mechanism:/,/^[^ m]/p' table.json | tr -s ' \n' ' ')" \
		'sched_switch, sched_waking \((unstable: kernel functions|stable-ish: arguments of scheduler tracepoints)\)'
}
