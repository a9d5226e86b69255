#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# /etc/plumb/policy: whom it is trusted, what it demands, which tools it limits and forbids.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/policy.sh"

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
	forbid-target=r:sys_enter\
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
	: >"$log"
	PLUMB_CACHE='' run probe-cost --rounds=1000
	like "probe-cost ends with the figures that it has, or says that it has none" "$status $(<"$work/err")$(head -n 1 "$work/out")" \
		'^(0 .*max-duration of /etc/plumb/policy ended it after [0-9]+ of 1000 roundsMECHANISM|1 .*after [0-4] of 1000 rounds: too few for figures$)'
	holds "... which its record says" "$log" '$last.ended == "max-duration" and $last.tool == "probe-cost"'
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

# TOOL...: for each a line of what the rows of its maps hold
rows_of() {
	local tool map
	for tool; do
		awk '$1 == "map_id:" { print $2 }' /proc/"$tool"/fdinfo/* | sort -nu | while read -r map; do
			case $(PATH=$PATH:/usr/sbin bpftool -j map show id "$map" | jq -r .name) in
			plumb_totals | plumb_hists) PATH=$PATH:/usr/sbin bpftool -j map dump id "$map" ;;
			esac
		done | cksum
	done
}

# Who may stop the tool and its watcher keeps the programs attached, but what they record ends.
test_stopped() {
	local load name pid i
	local -a pids=() watchers=() first=() second third
	local -a names=("syscall-latency --split" offcpu-time "user-func-latency libc.so.6:clock_nanosleep" "event-rate cpu-clock")
	[[ -z ${CHECK_ALL-} ]] || names+=(syscall-count runq-latency cpu-profile page-fault-latency file-latency
		"func-count t:sched:sched_switch" slab-latency)
	printf 'max-duration=1s\n' >"$policy"
	/usr/bin/python3 -c '
import mmap, os, time
while True:
    open("/etc/passwd").read()
    mmap.mmap(-1, 1 << 20).write(b"x" * (1 << 20))
    time.sleep(0.001)' &
	load=$!
	started+=("$load")
	for name in "${names[@]}"; do
		: >"$work/err"
		# shellcheck disable=SC2086 # its arguments
		"$bin"/$name --max-keys=64 -p "$load" >/dev/null 2>"$work/err" </dev/null &
		pid=$!
		await "$work/err" 'tracing …'
		watchers+=("$(watcher_of "$pid")")
		kill -STOP "${watchers[-1]}" "$pid"
		started+=("$pid" "${watchers[-1]}")
		pids+=("$pid")
		first+=("$(rows_of "$pid")")
	done
	sleep 13 # max-duration, ten seconds, and calls in flight
	mapfile -t second < <(rows_of "${pids[@]}")
	sleep 1
	mapfile -t third < <(rows_of "${pids[@]}")
	for i in "${!names[@]}"; do
		claim "${names[i]} records while it and its watcher are stopped" test "${first[i]}" != "${second[i]}"
		is "${names[i]} records nothing from ten seconds after max-duration on" "${third[i]}" "${second[i]}"
	done
	kill -9 "${pids[@]}" "${watchers[@]}" "$load"
	wait "${pids[@]}" "$load" 2>/dev/null
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

test_trust
test_audit
test_limit
test_stopped
test_tools
evidence
done_testing
