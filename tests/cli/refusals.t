#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What is well said but wrong on this system is status 1 and one line, before anything is traced.
. "$(dirname "$0")/lib.sh"
root_or_end "wrong against the system"

true &
gone=$!
wait "$gone"
start_idle
coproc threads { exec perl -Mthreads -e '$| = 1; threads->create(sub { sleep 300 }); print "ready\n"; sleep 300'; }
# shellcheck disable=SC2154 # coproc sets it
cli_started+=("$threads_PID")
read -r -t 10 _ <&"${threads[0]}" || :
tid=
for task in /proc/"$threads_PID"/task/*; do
	[[ ${task##*/} == "$threads_PID" ]] || tid=${task##*/}
done
: >"$work/zombie"
perl -e '$| = 1; my $p = fork // die; exit 0 if !$p; print $p; sleep 300' >>"$work/zombie" &
cli_started+=($!)
until zombie=$(<"$work/zombie") && [[ -n $zombie ]]; do sleep 0.01; done
for ((i = 0; i < 500; i++)); do grep -q 'State:.Z' "/proc/$zombie/status" && break; sleep 0.01; done
: >"$work/file"
chmod 644 "$work/file"
mkdir "$work/directory"

# WORD... : ARG...
wrong() {
	local words=()
	while [[ $1 != : ]]; do
		words+=("$1")
		shift
	done
	shift
	run "$tool" "$@"
	refused "$tool $* cannot run" 1 "$tool" "${words[@]}"
}

wrong_ids() {
	has "$tool" --pid && {
		wrong --pid "no process $gone" : -d 0.1 -p "$gone"
		wrong --pid "no process $gone" : -d 0.1 -p "$idle,$gone"
		wrong --pid "no process 2147483647" : -d 0.1 -p 2147483647
		wrong --pid "$tid" "$threads_PID" -t : -d 0.1 -p "$tid"
	}
	has "$tool" --pid && wrong --pid "process $zombie has ended" : -d 0.1 -p "$zombie"
	has "$tool" --tid && wrong --tid "no thread $gone" : -d 0.1 -t "$gone"
}

wrong_cgroups() {
	has "$tool" --cgroup || return
	wrong cgroup /nonexistent/group : -d 0.1 -g /nonexistent/group
	wrong cgroup "$work/directory" : -d 0.1 -g "$work/directory"
	wrong cgroup "$work/file" : -d 0.1 -g "$work/file"
	wrong cgroup "$work/directory" : -d 0.1 -g "/,$work/directory"
}

wrong_commands() {
	has "$tool" COMMAND || return
	wrong "$work/missing" : -- "$work/missing"
	wrong nonexistent-command : -- nonexistent-command
	wrong "$work/directory" : -- "$work/directory"
	wrong "$work/file" : -- "$work/file"
	wrong "$work/file/below" : -- "$work/file/below"
}

# What cannot be attached is found out when the command is there already, stopped.
abandoned_commands() {
	local mechanism left
	has "$tool" --mechanism && has "$tool" COMMAND || return
	for mechanism in $(mechanisms "$tool"); do
		# In our own process group: the kernel hangs up what is stopped in one that nobody is left to look after.
		timeout --foreground 20 "$bin/$tool" --mechanism "$mechanism" ${operand[$tool]:+"${operand[$tool]}"} ${second[$tool]:+"${second[$tool]}"} -- true \
			</dev/null >"$out" 2>"$err"
		for _ in {1..20}; do # what is killed takes a moment to be gone
			mapfile -t left < <(pgrep -f "^$bin/$tool --mechanism $mechanism .*-- true")
			((${#left[@]})) || break
			sleep 0.1
		done
		is "$tool --mechanism=$mechanism leaves no command behind, whether it can be used or not" "${left[*]}" ""
		[[ -z ${left[*]} ]] || kill -9 "${left[@]}"
	done
}

too_large() {
	has "$tool" --max-keys && has "$tool" --percentiles || return
	if [[ $tool == syscall-breakdown ]]; then
		run "$tool" -d 0.1 -p "$idle" -s read -f "*"
		like "$tool -f of too many functions says what to do" "$status $(tail -n 1 "$err")" \
			'^1 .*: choose fewer functions or lower --precision$'
	fi
	run "$tool" --sort nonsense
	grep -qw p50 "$err" || return # it keeps no distribution
	wrong --max-keys --precision : -d 0.1 --max-keys 1048576 -p "$idle"
	wrong --max-keys --precision : -d 0.1 --max-keys 50000 --precision 10 -p "$idle"
}

other_namespace() {
	has "$tool" --pid || return
	unshare --pid --fork true 2>/dev/null || { skip "$tool in another pid namespace" "none can be made"; return; }
	# /proc stays that of this one.
	status=0
	timeout 20 unshare --pid --fork "$bin/$tool" \
		${operand[$tool]:+"${operand[$tool]}"} ${second[$tool]:+"${second[$tool]}"} -d 0.1 -p 1 </dev/null >"$out" 2>"$err" || status=$?
	refused "$tool -p in another pid namespace cannot run" 1 "$tool" "pid namespace"
	[[ $tool == syscall-latency ]] || return 0
	unshare --pid --fork "$bin/$tool" -c none -d 0.1 >"$out" 2>"$err"
	claim "$tool says there whose pids it prints" grep -q "^pids: those of the host's pid namespace" "$out"
	unshare --pid --fork "$bin/$tool" -c none -d 0.1 -j >"$out" 2>"$err"
	claim "... in JSON, too" grep -q '"foreign_pids":true' "$out"
	unshare --pid --fork sh -c 'sleep 2 & "$0" -c sleep -d 0.5 -j' "$bin/syscall-latency" >"$out" 2>"$err"
	claim "... and that it does not know all that is in flight" grep -q '"in_flight_complete":false' "$out"
	unshare --pid --fork "$bin/func-count" -j -d 0.5 u:libc.so.6:malloc >"$out" 2>"$err"
	claim "... nor which processes map a library" grep -q '"processes":null' "$out"
}

# Whose types these are said to be.
wrong_types() {
	has "$tool" --btf && has "$tool" --pid || return
	wrong --btf "$work/missing" : -d 0.1 -p "$idle" --btf "$work/missing"
	wrong --btf "$work/file" : -d 0.1 -p "$idle" --btf "$work/file"
	wrong --btf "$bin/$tool" "neither BTF nor ELF with BTF" : -d 0.1 -p "$idle" --btf "$bin/$tool"
	wrong --btf "$work/directory" : -d 0.1 -p "$idle" --btf "$work/directory"
}

wrong_operands() {
	takes_words "$tool" || return
	if [[ ${operand[$tool]} == *:app:* ]]; then
		run_bare "$tool" -d 0.1 -p "$idle" "$usdt:app:begin" "$usdt:app:no_such_probe"
		refused "$tool: a probe that is not there" 1 "$tool" no_such_probe
		run_bare "$tool" -d 0.1 -p "$idle" "$usdt:app:begin" "$usdt:app:begin"
		refused "$tool: the same probe twice" 1 "$tool" begin
		return
	fi
	if [[ ${operand[$tool]} == libc:* ]]; then
		wrong no_such_name libc.so.6 : -d 0.1 -p "$idle" libc:no_such_name
		wrong no_such_library : -d 0.1 -p "$idle" no_such_library:malloc
		wrong "$work/file" "not a program or library" : -d 0.1 -p "$idle" "$work/file:malloc"
		wrong "$work/missing" : -d 0.1 -p "$idle" "$work/missing:malloc"
		return
	fi
	wrong no_such_name : -d 0.1 -p "$idle" no_such_name
	if [[ $tool == event-rate ]]; then
		wrong "page-fault;" "did you mean page-faults" : -d 0.1 -p "$idle" page-fault
		wrong sched:no_such_name : -d 0.1 -p "$idle" sched:no_such_name
		wrong no_such_name : -d 0.1 -p "$idle" probe:no_such_name
		return
	fi
	run "$tool" -d 0.1 -p "$idle" "*"
	is "$tool does not take all functions that there are" "$status $(grep -o "at most 16384" "$err")" "1 at most 16384"
	wrong "no_such_name*" : -d 0.1 -p "$idle" "no_such_name*"
	# It may be a module's, though it begins as a number does.
	wrong "8021q:no_such_name" : -d 0.1 -p "$idle" 8021q:no_such_name
	[[ $("$bin/$tool" -b help) == *arg:* ]] || return
	wrong vfs_read no_such_name "file, buf, count, pos" : -d 0.1 -p "$idle" -b arg:no_such_name
	wrong vfs_read 9 "file, buf, count, pos" : -d 0.1 -p "$idle" -b arg:9
}

for tool in "${kinds[@]}"; do
	wrong_ids
	wrong_cgroups
	wrong_commands
	wrong_types
	abandoned_commands
	too_large
	other_namespace
done
for tool in "${tools[@]}"; do
	wrong_operands
done
tool=user-func-latency
if [[ -r /proc/2/comm && $(</proc/2/comm) == kthreadd ]]; then
	run "$tool" -d 0.1 -p 2
	refused "$tool -p of a kernel thread cannot run" 1 "$tool" --pid "2 is a kernel thread"
else
	skip "$tool -p of a kernel thread" "none is seen here"
fi
cp "$(command -v sleep)" "$work/foreign"
chown 65534 "$work/foreign"
"$work/foreign" 300 &
foreign=$!
cli_started+=("$foreign")
for ((i = 0; i < 500; i++)); do grep -q foreign "/proc/$foreign/maps" && break; sleep 0.01; done
run "$tool" -d 0.1 -p "$foreign" foreign:no_such_name
refused "$tool of a file that a process leads to, of a user who has nothing to do with it" 1 "$tool" \
	"$work/foreign" "belongs to uid 65534, which is neither the user of process $foreign nor root"
run "$tool" -d 0.1 -p "$foreign" "$work/foreign:no_such_name"
refused "... is read if it is named itself" 1 "$tool" "$work/foreign has no function"
done_trying
