# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# func-count: functions of the kernel, tracepoints and functions of a program, as often as they were.

# A thousand functions.
at_once() {
	mechanisms=${mechanism:-fentry.multi kprobe.multi}
	attach_each wide -d 90 -v 'tcp_*' 'ip_*' 'udp_*' 'sk_*' 'skb_*' 'vfs_*' '__skb_*'
	attached
	detach_each wide
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=func-count quick=--no-calibrate
	uname -r >kernel
	uname -r -v >version
	case $(uname -m) in
	aarch64) entry=__arm64_sys_ ;;
	*) entry=__x64_sys_ ;;
	esac
	calls=$(command -v calls)

	# A function that is not among the types has no name there either.
	grep -q -a "${entry}getppid" /sys/kernel/btf/vmlinux && : >in-btf
	traced priced "${entry}getppid" -- calls 23 getppid

	# A survey ends by itself: these are to outlast the start of all.
	functions='fentry.multi fentry kprobe.multi kprobe'
	everything || functions=fentry
	mechanisms=${mechanism:-$functions}
	start each calls 1009 priority lseek write:100 write:100
	attach_each functions -d 90 -p "$pid" "${entry}sched_get_priority_max" null_lseek write_null
	attach_each who -d 90 -p "$pid" -b comm,pid null_lseek
	mechanisms=${mechanism:-uprobe.multi uprobe}
	attach_each program -d 90 -p "$pid" "u:$calls:make_call"
	go each
	mechanisms=${mechanism:-$functions}
	detach_each functions who
	mechanisms=${mechanism:-uprobe.multi uprobe}
	detach_each program
	also at_once
	start names renamer 'name-%d:97'
	# shellcheck disable=SC2034 # by attach_each
	mechanisms=${mechanism:-raw_tracepoint tracepoint}
	attach_each renames -d 90 -p "$pid" t:task:task_rename
	attach raw-name -d 90 -p "$pid" r:task_rename
	go names
	detach_each renames
	detach raw-name

	start target calls 1009 priority lseek write:100 write:100
	attach functions -d 90 -p "$pid" "${entry}sched_get_priority_max" 'null_lsee?' write_null
	attach tracepoints -d 90 -p "$pid" t:syscalls:sys_enter_lseek 't:syscalls:sys_exit_writ?'
	attach program -d 90 -p "$pid" "u:$calls:make_call"
	attach mixed -d 90 -p "$pid" null_lseek t:syscalls:sys_enter_write "u:$calls:make_cal?"
	traced no-raw --mechanism=raw_tracepoint t:syscalls:sys_enter_lseek
	attach other -d 90 -c no-such-name t:syscalls:sys_enter_lseek
	attach who -d 90 -p "$pid" -b pid,comm t:syscalls:sys_enter_lseek t:syscalls:sys_enter_write
	attach few -d 90 --max-keys=1 -p "$pid" t:syscalls:sys_enter_lseek t:syscalls:sys_enter_write
	go target
	detach functions tracepoints program mixed other who few
	traced command t:syscalls:sys_enter_lseek -- calls 1009 lseek
	traced exits t:sched:sched_process_exit -- processes 23 clone3
	traced numbered -v 't:syscalls:*' -- calls 1009 uname lseek
	also traced numbered-tracepoint --mechanism=tracepoint -v 't:syscalls:*' -- calls 1009 uname lseek
	traced emulated 't:syscalls:*' -- ia32 53 37
	also traced survey -d 1 t:syscalls:sys_enter_lseek
	quick='' traced measured -d 0.1 t:syscalls:sys_enter_lseek "u:$calls:make_call" -c no-such-name
	traced intervals 0.2 3 t:syscalls:sys_enter_lseek -p $$
}

# counts CLAIM TOOL {NAME: COUNT, ...} - a name is how the row's ends
counts() {
	unable "$2" fentry kprobe.multi kprobe && return
	evidence "$2.json" "$2.err" target.truth notes
	holds "$1" "$2.json" '($last.rows | map([(.key.func // ":task_rename" | split(":")[-1] | sub("^__[a-z0-9]+_sys_"; "")), .count]) | sort)
		== ($rows | to_entries | map([.key, .value]) | sort)' --argjson rows "$3"
	sound "of $2" "$2.json"
}

# has CLAIM TOOL MECHANISM {NAME: COUNT, ...} - the same, of one that is forced
has() {
	forced "$2-$3" "$3" || return
	holds "$3: $1" "$2-$3.json" '($last.rows | map([(.key.func // ":" | split(":")[-1] | sub("^__[a-z0-9]+_sys_"; "")), .count]) | sort)
		== ($rows | to_entries | map([.key, .value]) | sort)' --argjson rows "$4"
	sound "of $2-$3" "$2-$3.json"
}

# What the rate is, and what follows from it.
rates() {
	evidence "$2.json" "$2.err"
	holds "$1" "$2.json" 'def at: (.[:19] + "Z" | fromdate) + ("0" + .[19:-1] | tonumber);
		(($last.end | at) - ($last.start | at)) as $seconds
		| $last.rows | length > 0 and all(.[]; . as $row
		| (.rate * $seconds / .count | . > 0.8 and . < 1.2) and .verdict == (if .rate < 10000 then "go" elif .rate <= 100000 then "mind" else "filter" end)
		and (.cost | length > 0) and all(.cost[]; .ns > 0 and .how == "published"
			and (.cpu_percent / ($row.rate * .ns / 1e7) | . > 0.999 and . < 1.001)))'
}

# within SECONDS WHAT - is each time of the err file that was taken for WHAT below that?
within() {
	awk -v limit="$1" -v what="$2" '$0 ~ what " in [0-9.]+ s$" { n++; late += $(NF - 1) > limit }
		END { exit !n || late }' "$3"
}

# A thousand functions come and go at once: one by one they would take 25 s at least, emulated.
quickly() {
	everything || return 0
	evidence "wide-$1.err" notes
	if [ "$(cat "wide-$1.status")" = 77 ]; then
		is "$1: is missing where it may be" \
			"$(echo " $(mechanisms_of "$(cat kernel)")$must " | grep -c " $1 ")" 0
		return
	fi
	like "$1: a thousand functions are attached to" "$(cat "wide-$1.err")" '(8[0-9][0-9]|9[0-9][0-9]|1[0-9][0-9][0-9]) functions attached'
	claim "$1: within ten seconds" within 10 "functions attached to" "wide-$1.err"
	claim "$1: and as quickly detached" within 10 "probes detached" "wide-$1.err"
}

# All system calls are counted by number, and hundreds of tracepoints gone at once.
check_numbered() {
	for name in numbered numbered-tracepoint; do
		everything || [ -e "$name.status" ] || continue
		evidence "$name.json" "$name.err"
		holds "all system calls, $name: those that were made are counted exactly" "$name.json" '
			[$last.rows[] | .count as $n | .key.func | select(test("_(newuname|lseek)$")) | "\(.) \($n)"] | sort
			== ["t:syscalls:sys_enter_lseek 1009", "t:syscalls:sys_enter_newuname 1009",
				"t:syscalls:sys_exit_lseek 1009", "t:syscalls:sys_exit_newuname 1009"]'
		holds "$name: how is said" "$name.json" '$last.mechanism.hooks[0] | startswith("t:syscalls:* (raw_syscalls")'
		claim "$name: nothing keeps it from its end" within 2 "probes detached" "$name.err"
		sound "of $name" "$name.json"
	done
	if [ "$(cat emulated.status)" = 77 ]; then
		skip "32-bit calls have no tracepoints" "$(cat emulated.err)"
		return
	fi
	evidence emulated.json emulated.err
	holds "32-bit calls have no tracepoints" emulated.json \
		'[$last.rows[] | .count as $n | .key.func | select(test("_(getppid|semget)$")) | "\(.) \($n)"] | sort
			== ["t:syscalls:sys_enter_getppid 37", "t:syscalls:sys_exit_getppid 37"]'
}

# Of a call of its own there is no raw tracepoint. Where its event would miss calls it is told by number
# from all calls, of which there is one: on preemptible kernels from 7.0 on.
check_one_call() {
	by=tracepoint costs='["tracepoint"]'
	case $(cat version) in
	7.*PREEMPT*) by=raw_syscalls costs='["raw_tracepoint", "tracepoint"]' ;;
	esac
	holds "what a tracepoint is attached by is said" tracepoints.json '$last.mechanism.name == "tracepoint"
		and ($last.mechanism.hooks | all(.[]; contains("(raw_syscalls)") == ($by == "raw_syscalls")))
		and all($last.rows[]; .cost | [("raw_tracepoint", "tracepoint") as $name | select(has($name)) | $name] == $costs)' \
		--arg by "$by" --argjson costs "$costs"
	unable mixed fentry kprobe.multi kprobe ||
		holds "and beside a function" mixed.json '$last.mechanism.hooks | index("t:syscalls:sys_enter_write (\($by))")' \
			--arg by "$by"
	if [ "$by" = tracepoint ]; then
		is "it cannot be attached to by another" "$(cat no-raw.status no-raw.err)" \
			$'2\nfunc-count: --mechanism=raw_tracepoint: no target is a raw tracepoint'
		return
	fi
	evidence no-raw.json no-raw.err
	is "another that is asked for ends well" "$(cat no-raw.status)" 0
	holds "it can be counted by another, which is said" no-raw.json '$last.mechanism
		| .name == "raw_tracepoint" and .hooks == ["t:syscalls:sys_enter_lseek (raw_syscalls)"]'
}

check_each() {
	for name in fentry.multi kprobe.multi; do
		quickly "$name"
	done
	for name in fentry.multi fentry kprobe.multi kprobe; do
		has "functions are counted exactly" functions "$name" \
			'{"sched_get_priority_max": 1009, "null_lseek": 1009, "write_null": 2018}'
		has "who called is told" who "$name" '{"": 1009}'
	done
	for name in raw_tracepoint tracepoint; do
		has "a tracepoint is counted exactly" renames "$name" '{"task_rename": 97}'
	done
	for name in uprobe.multi uprobe; do
		has "functions of a program are counted exactly" program "$name" '{"make_call": 4036}'
	done
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	# shellcheck disable=SC2034 # by forced
	case $(cat kernel) in
	5.10.* | 6.1.*) must=' raw_tracepoint tracepoint uprobe' ;;
	6.12.*) must=' raw_tracepoint tracepoint uprobe uprobe.multi' ;;
	7.*arm64*) must=' raw_tracepoint tracepoint uprobe uprobe.multi' ;; # fentry.multi is of x86_64 only
	7.*) must=' fentry.multi raw_tracepoint tracepoint uprobe uprobe.multi' ;;
	esac
	check_each
	check_numbered
	if ! unable priced fentry kprobe.multi kprobe; then
		evidence priced.json priced.err
		holds "a cost is that of a mechanism that there is for the function" priced.json \
			'[$last.rows[].cost | has("kprobe") and (has("fentry") == $known)] == [true]' \
			--argjson known "$([[ -e in-btf ]] && echo true || echo false)"
	fi
	counts "a tracepoint without its category is counted exactly" raw-name '{"task_rename": 97}'
	counts "functions of the kernel are counted exactly" functions \
		'{"sched_get_priority_max": 1009, "null_lseek": 1009, "write_null": 2018}'
	counts "tracepoints are counted exactly" tracepoints '{"sys_enter_lseek": 1009, "sys_exit_write": 2018}'
	counts "functions of a program are counted exactly" program '{"make_call": 4036}'
	counts "all three kinds at once" mixed '{"null_lseek": 1009, "sys_enter_write": 2018, "make_call": 4036}'
	counts "-c of another name counts nothing" other '{}'
	evidence exits.json exits.err exits.truth
	holds "... and what its processes do as they end: each exit, and its own" exits.json \
		'($last.rows | map(.count)) == [$truth[0].calls[0].count + 1] and ($last.ledger | (.lost // .lost_at_least) == 0)' --slurpfile truth exits.truth
	counts "a command's calls are counted" command '{"sys_enter_lseek": 1009}'
	also is "a survey of a second ends well" "$(cat survey.status)" 0
	evidence intervals.json intervals.err
	holds "intervals are as many as were asked for" intervals.json '($all | length) == 3 and $last.final'
	like "a target that stays silent is said" "$(cat other.err)" 't:syscalls:sys_enter_lseek: 0 calls in [0-9.e-]+ s'
	evidence who.json who.err
	holds "who and what together" who.json '($last.rows | map([.key.pid, .key.comm, .key.func, .count]) | sort)
		== [[$pid, "calls", "t:syscalls:sys_enter_lseek", 1009], [$pid, "calls", "t:syscalls:sys_enter_write", 2018]]' \
		--argjson pid "$(cat target.pid)"
	sound "of who and what" who.json
	evidence few.json few.err
	holds "what --max-keys has no room for is pooled" few.json \
		'($last.rows | map([.key.func // .key.other, .count]) | sort)
			== [[true, 2018], ["t:syscalls:sys_enter_lseek", 1009]] and $last.ledger.pooled == 2018'
	check_one_call
	rates "each row has its rate, and what that would cost" tracepoints
	evidence measured.json measured.err
	holds "cost is measured at the start, unless something disturbs that" measured.json '$last.overhead_ns
		| .how == "disturbed" or ((.how | startswith("calibrated")) and .traced > 0)'
}
