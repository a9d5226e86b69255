#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# /etc/plumb/policy: whom it is trusted, what it demands, limits and forbids.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/audit.sh"

mkdir /etc/plumb
policy=/etc/plumb/policy log=$work/policy.log
evidence "$log" "$work/err" "$policy"

# run TOOL ARG...: its end in $status; nothing is traced but what it is asked for
run() {
	status=0
	timeout -k 5 60 "$bin/$1" "${@:2}" </dev/null >"$work/out" 2>"$work/err" || status=$?
}

# CLAIM WORDS: no tool runs with this policy
nothing_runs() {
	local tool
	for tool in probe-list syscall-count trace-bias; do
		case $tool in
		probe-list) run probe-list r:sched_switch ;;
		trace-bias) run trace-bias --tool=true -- touch "$work/ran" ;;
		*) run "$tool" -- touch "$work/ran" ;;
		esac
		is "$1: $tool does not run" "$status:$(<"$work/out")$(ls "$work/ran" 2>/dev/null)" "1:"
		like "$1: $tool says why" "$(<"$work/err")" "$2"
	done
	run syscall-count --help
	is "$1: help is for everybody" "$status" 0
}

test_trust() {
	local line
	while IFS= read -r line; do
		printf '# a comment\n\n%b\n' "$line" >"$policy"
		run probe-list r:sched_switch
		is "refused: $line" "$status:$(<"$work/out")" "1:"
		like "refused, with its line: $line" "$(<"$work/err")" '/etc/plumb/policy:([34]|.*NUL)'
	done <<-'END'
	unknown=1
	audit
	audit=
	audit=relative
	 audit=syslog
	audit =syslog
	audit=syslog\naudit=syslog
	max-duration=1
	max-duration=0s
	max-duration=0.5s
	max-duration=2y
	max-duration=-1h
	max-duration=400d
	max-duration=1h\nmax-duration=2h
	forbid-tool=a,,b
	forbid-target=tcp_sendmsg
	forbid-target=
	forbid-tool=a\0
	forbid-tool=syscall-count\r
	forbid-tool=a, syscall-count
	forbid-tool=syscall-count 
	forbid-tool=[
	forbid-tool=Syscall-latency
	forbid-tool="syscall-latency"
	forbid-tool=syscall-latency # comment
	forbid-tool=nosuchtool
	forbid-tool=syscall-latency,no-such-*
	forbid-target=k:a, k:tcp_sendmsg
	forbid-target=k:[tcp
	forbid-target=t:sched
	forbid-target=u:bash:main
	forbid-target=u:/bin/bash
	forbid-target=usdt:/bin/bash:name
	END
	head -c 70000 /dev/zero | tr '\0' '\n' >"$policy"
	nothing_runs "too long" "larger than 64 KB"
	printf 'forbid-tool=trace-bias\n' >"$policy"
	chmod 664 "$policy"
	nothing_runs "others may write it" "can be written by others"
	chmod 644 "$policy"
	chown 65534 "$policy"
	nothing_runs "another user's" "does not belong to root"
	chown 0 "$policy"
	chmod 777 /etc/plumb
	nothing_runs "others may write the folder" "can be written by others"
	chmod 755 /etc/plumb
	mv "$policy" /etc/plumb/elsewhere
	ln -s elsewhere "$policy"
	nothing_runs "a link" "/etc/plumb/policy is a symbolic link: nothing is run"
	rm "$policy"
	mkfifo "$policy"
	nothing_runs "a FIFO" "not a regular file"
	rm "$policy"
	mkdir "$policy"
	nothing_runs "a directory" "not a regular file"
	rmdir "$policy"
	mv /etc/plumb "$work/plumb"
	ln -s "$work/plumb" /etc/plumb
	nothing_runs "a link to a folder" "/etc/plumb is a symbolic link: nothing is run"
	rm /etc/plumb
	mv "$work/plumb" /etc/plumb
	mv /etc/plumb/elsewhere "$policy"
	run probe-list r:sched_switch
	is "one that is root's alone is taken" "$status" 0
	chmod 600 "$policy"
	cp "$bin/probe-list" "$work/probe-list"
	status=0
	setpriv --reuid=65534 --regid=65534 --clear-groups "$work/probe-list" r:sched_switch >"$work/out" 2>"$work/err" || status=$?
	is "a user who may not read it runs nothing" "$status:$(<"$work/out")" "1:"
	rm "$policy"
	run probe-list r:sched_switch
	is "without one nothing is demanded" "$status" 0
}

test_audit() {
	printf 'audit=%s\n' "$log" >"$policy"
	run syscall-count --no-calibrate -d 0.1 -p $$
	is "the policy's records" "$status $(jq -r .event "$log" | paste -sd ' ')" "0 begin attach end"
	run syscall-count --no-calibrate -d 0.1 -p $$ --audit="$work/optional"
	is "an option does not replace them" "$(jq -r .event "$log" | paste -sd ' ')" "begin attach end begin attach end"
	is "but adds its own" "$(tail -n 3 "$log")" "$(<"$work/optional")"
	printf 'audit=%s\n' "$work/none/log" >"$policy"
	run syscall-count --no-calibrate -- touch "$work/ran"
	is "if they cannot be written nothing is run" "$status:$(<"$work/out")$(ls "$work/ran" 2>/dev/null)" "1:"
	is "the policy is named" "$(<"$work/err")" "syscall-count: /etc/plumb/policy: audit=$work/none/log: No such file or directory"
	run syscall-count --no-calibrate --audit="$work/optional" -- touch "$work/ran"
	is "even if those of an option can" "$status:$(<"$work/out")$(ls "$work/ran" 2>/dev/null)" "1:"
}

# CLAIM SECONDS KILL INTERVAL: a trace that is stopped for so long, its watcher killed if KILL, has no report
overdue() {
	: >"$log"
	: >"$work/err"
	# shellcheck disable=SC2086 # no interval is no word
	"$bin/syscall-count" --no-calibrate -p $$ ${4-} >"$work/out" 2>"$work/err" </dev/null &
	tool=$!
	started+=("$tool")
	await "$work/err" 'tracing …'
	(($2)) && kill -STOP "$tool"
	[[ $3 ]] && kill -9 "$(watcher_of "$tool")"
	sleep "$2"
	kill -CONT "$tool" 2>/dev/null
	status=0
	wait "$tool" || status=$?
	is "$1: no report" "$status:$(<"$work/out")" "1:"
}

test_limit() {
	local watcher begin
	printf 'audit=%s\nmax-duration=1s\n' "$log" >"$policy"
	: >"$log"
	run syscall-count --no-calibrate -p $$ -d 30
	is "a trace ends at the limit, with its report" "$status:$(grep -c '^ledger:' "$work/out")" "0:1"
	like "-d beyond it is said" "$(<"$work/err")" 'the trace ends after 1s .*policy'
	holds "as max-duration" "$log" '$last.ended == "max-duration" and $last.signal == null and $last.status == 0'
	run syscall-count --no-calibrate -p $$ -d 1
	holds "-d of the limit is no violation" "$log" '$last.ended == "duration"'
	is "and nothing is said" "$(grep -c 'trace ends' "$work/err")" 0
	run probe-misses -d 30
	holds "a tool with a loop of its own" "$log" '$last.ended == "max-duration" and $last.tool == "probe-misses"'
	run probe-check --live=30 t:sched:sched_switch
	holds "probe-check --live" "$log" '$last.ended == "max-duration" and $last.tool == "probe-check"'
	# Stopped, it cannot end itself.
	: >"$log"
	: >"$work/err"
	"$bin/syscall-count" --no-calibrate -p $$ >"$work/out" 2>"$work/err" </dev/null &
	tool=$!
	started+=("$tool")
	await "$work/err" 'tracing …'
	begin=$EPOCHREALTIME
	watcher=$(watcher_of "$tool")
	kill -STOP "$tool"
	status=0
	wait "$tool" || status=$?
	is "stopped beyond the limit it is killed" "$status" 137
	claim "eleven seconds after it began" awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { exit !(b - a > 9 && b - a < 25) }'
	await "$log" '"event":"end"'
	holds "which is recorded" "$log" '$last.ended == "max-duration" and $last.status == null'
	claim "and nothing is left" gone "$watcher"
	overdue "stopped for four seconds" 4 '' "0.5"
	like "it says so" "$(<"$work/err")" 'went on after max-duration'
	holds "which is recorded" "$log" '$last.ended == "max-duration" and $last.status == 1'
	overdue "stopped for 14 seconds, its watcher killed" 14 y
	like "it says so" "$(<"$work/err")" 'plumb-audit.*was killed'
	holds "which is recorded" "$log" '$last.ended == "watcher killed" and $last.status == 1 and $last.signal == null'
	overdue "its watcher killed" 0 y "0.5"
	printf 'audit=%s\n' "$log" >"$policy"
	overdue "the watcher killed that only records" 0 y
	holds "which is recorded" "$log" '$last.ended == "watcher killed" and $last.status == 1 and $last.detached != null'
	: >"$log"
	"$bin/syscall-count" --start-at=+60s >"$work/out" 2>"$work/err" </dev/null &
	tool=$!
	started+=("$tool")
	await "$log" '"event":"begin"'
	until watcher=$(watcher_of "$tool"); do sleep 0.02; done
	kill -9 "$watcher"
	status=0
	wait "$tool" || status=$?
	is "killed before the trace begins" "$status:$(<"$work/err")" "1:syscall-count: plumb-audit, which watches over this process, was killed: nothing is reported"
	printf 'max-duration=1s\n' >"$policy"
	run syscall-count --no-calibrate -p $$ -d 30
	is "without records, too" "$status:$(grep -c '^ledger:' "$work/out")" "0:1"
	printf 'forbid-tool=trace-bias\n' >"$policy"
	: >"$work/err"
	"$bin/syscall-count" --no-calibrate -p $$ -d 2 >"$work/out" 2>"$work/err" </dev/null &
	tool=$!
	await "$work/err" 'tracing …'
	is "without a limit and records nothing watches" "$(pgrep -P "$tool" | wc -l)" 0
	wait "$tool"
}

test_tools() {
	printf 'audit=%s\nforbid-tool=trace-bias,*-count\nforbid-tool=probe-l?st\n' "$log" >"$policy"
	: >"$log"
	run syscall-count --no-calibrate -- touch "$work/ran"
	is "a forbidden tool" "$status:$(<"$work/out")$(ls "$work/ran" 2>/dev/null)" "1:"
	is "says which line forbids it" "$(<"$work/err")" "syscall-count: forbidden by /etc/plumb/policy:2: forbid-tool=*-count"
	is "which is recorded" "$(jq -r '[.event, .ended, .status] | join(" ")' "$log" | paste -sd ,)" "begin  ,end refused 1"
	ln -s "$bin/syscall-count" "$work/another"
	status=0
	"$work/another" -d 0.1 >"$work/out" 2>"$work/err" || status=$?
	is "by another name, too" "$status:$(<"$work/out")" "1:"
	run probe-list
	is "by a glob of the second line" "$status:$(<"$work/out")" "1:"
	run syscall-latency --no-calibrate -d 0.1 -p $$
	is "others run" "$status" 0
	run event-rate -l
	like "event-rate -l lists" "$status:$(<"$work/out")" '^0:.*page-faults'
	printf 'forbid-tool=event-rate\n' >"$policy"
	local word
	for word in -l help; do
		run event-rate "$word"
		is "event-rate $word: forbidden" "$status:$(<"$work/out")" "1:"
		like "event-rate $word: why" "$(<"$work/err")" "forbidden by /etc/plumb/policy:1"
	done
}

# CLAIM TARGETS ... -- TOOL ARG...: refused with the line; nothing has been attached
forbidden() {
	local claim=$1 globs=$2
	shift 2
	printf 'audit=%s\nforbid-target=%s\n' "$log" "$globs" >"$policy"
	: >"$log"
	run "$@"
	is "$claim" "$status:$(<"$work/out")" "1:"
	like "$claim: why" "$(<"$work/err")" "forbidden by /etc/plumb/policy:2: forbid-target="
	is "$claim: nothing is attached" "$(jq -r '[.event, .ended] | join(" ")' "$log" | paste -sd ,)" "begin ,end refused"
}

test_targets() {
	local libc
	rm "$policy"
	libc=$("$bin/probe-list" u:libc:malloc | sed -nE 's/^u:([^ ]*):malloc .*/\1/p')
	forbidden "tracepoint" t:sched:sched_switch func-count --no-calibrate -d 0.1 t:sched:sched_switch
	forbidden "one of many" 't:sched:sched_s*' func-count --no-calibrate -d 0.1 'u:libc:malloc' 't:sched:*'
	forbidden "raw tracepoint" k:nothing,r:sched_switch runq-latency --no-calibrate -d 0.1
	forbidden "tracepoint by the name of the raw one" r:sched_switch func-count --no-calibrate -d 0.1 t:sched:sched_switch
	forbidden "system call" s:getppid func-count --no-calibrate -d 0.1 t:syscalls:sys_enter_getppid
	forbidden "system call, among many" s:getppid func-count --no-calibrate -d 0.1 't:syscalls:sys_enter_get*'
	forbidden "user function" "u:$libc:malloc" func-count --no-calibrate -d 0.1 u:libc:malloc
	cp "$libc" "$work/library.so"
	ln -s library.so "$work/link.so"
	forbidden "user function by a link to its file" "u:$work/library.so:*" user-func-latency --no-calibrate -d 0.1 "$work/link.so:malloc"
	# Mounts of a user's own, and of the tool's namespace.
	local inside
	: >"$work/innocent"
	: >"$work/innocent 2"
	mkdir "$work/jail"
	unshare -rm sh -c "mount --bind '$work/library.so' '$work/innocent' && exec sleep 300" &
	inside=$!
	started+=("$inside")
	until grep -q innocent "/proc/$inside/mountinfo"; do sleep 0.02; done
	forbidden "user function by a mount of a user's" "u:$work/library.so:*" user-func-latency --no-calibrate -d 0.1 "/proc/$inside/root$work/innocent:malloc"
	like "user function by a mount of a user's: which" "$(<"$work/err")" "u:$work/library.so:malloc"
	forbidden "the same by a glob" 'u:*/library.so:*' user-func-latency --no-calibrate -d 0.1 "/proc/$inside/root$work/innocent:malloc"
	ln -s "/proc/$inside/root$work/innocent" "$work/link-inside"
	forbidden "a file whose mount cannot be found" 'u:/nothing:*' user-func-latency --no-calibrate -d 0.1 "$work/link-inside:malloc"
	like "a file whose mount cannot be found: which" "$(<"$work/err")" "link-inside .whose mount cannot be found"
	printf 'forbid-target=u:/nothing:*,usdt:*\n' >"$policy"
	run user-func-latency --no-calibrate -d 0.1 "/proc/$inside/root$work/innocent:malloc"
	is "a file that is not forbidden, by a mount of a user's" "$status" 0
	printf 'forbid-target=k:*\n' >"$policy"
	run user-func-latency --no-calibrate -d 0.1 "$work/link-inside:malloc"
	is "a mount that cannot be found does not matter to other kinds" "$status" 0
	kill "$inside"
	mount --bind "$work/library.so" "$work/innocent 2"
	forbidden "user function by a mount" "u:$work/library.so:*" user-func-latency --no-calibrate -d 0.1 "$work/innocent 2:malloc"
	umount "$work/innocent 2"
	mount --bind "$work" "$work/jail"
	forbidden "user function by a mount of its folder" "u:$work/jail/library.so:*" user-func-latency --no-calibrate -d 0.1 "$work/library.so:malloc"
	umount "$work/jail"
	forbidden "USDT" 'usdt:*:app:slow_*' usdt-latency --no-calibrate -d 0.1 "$bin/../tests/usdt:app:slow_begin" "$bin/../tests/usdt:app:slow_end"
	forbidden "samples" 'sample:*' cpu-profile --no-calibrate -d 0.1
	forbidden "software event" event:page-faults event-rate --no-calibrate -d 0.1 page-faults
	forbidden "event by its other name" event:page-faults event-rate --no-calibrate -d 0.1 faults
	forbidden "event in one mode" event:page-faults event-rate --no-calibrate -d 0.1 page-faults:u
	forbidden "event that takes no counter" event:context-switches event-rate --no-calibrate -d 0.1 cpu-migrations cs
	forbidden "raw event" event:r1a8 event-rate --no-calibrate -d 0.1 r01A8:k
	forbidden "tool of system calls" 'r:sys_*' syscall-latency --no-calibrate -d 0.1
	printf 'audit=%s\nforbid-target=t:sched:sched_switch\n' "$log" >"$policy"
	: >"$log"
	run probe-check --live=0.1 t:sched:sched_switch
	is "probe-check --live: nothing is attached" "$status $(jq -r '[.event, .ended] | join(" ")' "$log" | paste -sd ,)" "1 begin ,end refused"
	like "probe-check --live: why" "$(tr -s ' \n' ' ' <"$work/out")" 'cannot be tried here: refused, forbidden by /etc/plumb/policy:2:'
	printf 'forbid-target=t:task:task_rename\n' >"$policy"
	run probe-cost -j
	holds "probe-cost leaves it out" "$work/out" '[$last.rows[] | select(.mechanism == "tracepoint").refused] | .[0] | test("forbidden by /etc/plumb/policy:1")'
	printf 'forbid-target=k:nothing\n' >"$policy"
	run func-count --no-calibrate -d 0.1 t:sched:sched_switch
	is "others are attached to" "$status" 0
}

# A place in a file is forbidden by each of its names, and asked for by each other one.
test_names() {
	local name asked
	cat >"$work/names.c" <<-'END'
	__asm__(".symver old_work, work@V1\n.symver new_work, work@@V2");
	int old_work(int x), new_work(int x), copy(int x) __attribute__((alias("new_work")));
	int old_work(int x) { return x + 1; }
	int new_work(int x) { __asm__ volatile("nop"); return x + 2; }
	int method(int x, long y) __asm__("_ZN2ns6methodEil");
	int method(int x, long y) { return x + y; }
	END
	printf 'V1 {};\nV2 { global: *; };\n' >"$work/names.map"
	gcc -O1 -shared -fPIC -o "$work/names.so" "$work/names.c" -Wl,--version-script="$work/names.map" 2>"$work/err" ||
		{ tap_result 1 "a library with versions" <"$work/err"; return; }
	while read -r name asked; do
		for asked in $asked; do
			forbidden "$name forbidden, $asked asked for" "u:$work/names.so:$name" func-count --no-calibrate -d 0.1 "u:$work/names.so:$asked"
		done
	done <<-'END'
	work work@V1 work@V2 new_work copy new_work+1
	work@V2 work work@@V2 copy
	work@@V2 work@V2
	copy work
	ns::method _ZN2ns6methodEil ns::method(* ns::met*
	_ZN2ns6methodEil ns::method
	END
	printf 'forbid-target=u:%s:work@V1\n' "$work/names.so" >"$policy"
	for asked in work@V2 ns::method; do
		run func-count --no-calibrate -d 0.1 "u:$work/names.so:$asked"
		is "work@V1 forbidden, $asked is not" "$status" 0
	done
}

# The link to the target leads elsewhere when the kernel attaches, but not when the policy is asked: strace
# delays this call. A breakpoint shows which file was attached to, in what a process maps of it.
test_swap() {
	local delayed='^[0-9]+ bpf\(BPF_LINK_CREATE.*\(DELAYED\)$' count process tool attempt found
	command -v strace >/dev/null || { skip "a target is swapped" "there is no strace"; return; }
	cp "$work/library.so" "$work/forbidden.so"
	printf 'forbid-target=u:%s:*\n' "$work/forbidden.so" >"$policy"
	LD_PRELOAD=$work/forbidden.so sleep 300 &
	process=$!
	started+=("$process")
	tool=("$bin/user-func-latency" --no-calibrate -d 1 -p "$process" "$work/swapped.so:malloc")
	# How many calls there are before differs by a few.
	for ((attempt = 0; attempt < 8; attempt++)); do
		ln -sfn library.so "$work/swapped.so"
		strace -f -o "$work/calls" -e trace=bpf -e inject=bpf:delay_enter=1 "${tool[@]}" >"$work/out" 2>"$work/err"
		count=$(awk '/DELAYED/ { n[$1]++ } /BPF_LINK_CREATE/ { last = n[$1] } END { print last + 0 }' "$work/calls")
		((count)) || { skip "a target is swapped" "uprobe.multi does not work here"; return; }
		: >"$work/calls"
		: >"$work/err"
		ln -s forbidden.so "$work/other.so"
		strace -f -o "$work/calls" -e trace=bpf -e "inject=bpf:delay_enter=2000000:when=$count" "${tool[@]}" \
			>"$work/out" 2>"$work/err" &
		started+=("$!")
		await "$work/calls" sched_process_exec
		sleep 0.5
		mv -T "$work/other.so" "$work/swapped.so"
		await "$work/err" 'tracing …'
		found=$(breakpoints "$process" "$work/forbidden.so")
		! grep -qE "$delayed" "$work/calls" || break
		wait "$!"
	done
	is "a target is swapped while it is attached to: what is forbidden has no breakpoint" \
		"$found $(grep -cE "$delayed" "$work/calls")" "0 1"
	wait "$!"
	like "... and is refused, and why" "$(<"$work/err")" 'swapped.so was replaced.*refused, forbidden by /etc/plumb/policy:1'
	rm "$policy"
	: >"$work/err" # what is waited for is in it
	"${tool[@]::6}" "$work/forbidden.so:malloc" >"$work/out" 2>"$work/err" &
	await "$work/err" 'tracing …'
	is "... where it is allowed, it has one" "$(breakpoints "$process" "$work/forbidden.so")" 1
	wait "$!"
	kill "$process"
}

# PID FILE: how many bytes of its code are not what the file has
breakpoints() {
	/usr/bin/python3 - "$1" "$2" <<-'END'
	import sys
	data = open(sys.argv[2], "rb").read()
	differ = 0
	with open(f"/proc/{sys.argv[1]}/maps") as maps, open(f"/proc/{sys.argv[1]}/mem", "rb") as memory:
	    for words in map(str.split, maps):
	        if words[5:] == [sys.argv[2]] and "x" in words[1]:
	            start, end = (int(x, 16) for x in words[0].split("-"))
	            memory.seek(start)
	            code, offset = memory.read(end - start), int(words[2], 16)
	            differ += sum(a != b for a, b in zip(code, data[offset:]))
	print(differ)
	END
}

test_trust
test_audit
test_limit
test_tools
test_targets
test_names
test_swap
evidence
done_testing
