#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Audit records: each member beside another source, each way in which a run ends, each place where
# records go, and what happens where they cannot.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/audit.sh"

# shellcheck disable=SC2317 # claim calls it
as_the_kernel_has_it() {
	local id tag
	while read -r id tag; do
		jq -e --argjson id "$id" --arg tag "$tag" '.programs | any(.id == $id and .tag == $tag)' "$work/attach" >/dev/null ||
			{ echo "no $id $tag"; return 1; }
	done < <(bpftool -j prog show | jq -r --slurpfile a "$work/attach" '.[] | select(.id as $i | $a[0].programs | any(.id == $i)) | "\(.id) \(.tag)"')
}

# An output cannot be the file of the records, by whatever name.
test_outputs() {
	local option name
	log=$work/taken
	evidence "$log" "$work/err"
	ln -s taken "$work/taken.link"
	ln "$log" "$work/taken.prom" 2>/dev/null || { : >"$log"; chmod 600 "$log"; ln "$log" "$work/taken.prom"; }
	for option in "heatmap=$log" "chart=$work/taken.link" "openmetrics=$work/taken.prom" "otlp=$work/./taken" "keep=1s --out=$work/taken.link"; do
		: >"$log"
		name=${option##*--}
		name=${name%%=*}
		status=0
		# shellcheck disable=SC2086 # words
		"$bin/syscall-latency" --no-calibrate -p $$ -d 0.2 --audit="$log" --${option} </dev/null >"$work/out" 2>"$work/err" || status=$?
		is "--$name of the records' file" "$status" 1
		like "--$name: why" "$(<"$work/err")" 'it is the file of the audit records'
		is "--$name: the records are there" "$(jq -r .event "$log" | sed '/attach/d' | paste -sd ' ')" "begin end"
	done
	rm "$work/taken.prom"
	trace syscall-count -p $$ -d 60
	rm "$log"
	kill "$tool"
	status=0
	wait "$tool" || status=$?
	is "records that were removed during the run: status" "$status" 1
	like "... which is said" "$(<"$work/err")" "$log: it was removed during the run"
}

# Who: a user with a login uid, by sudo as it seems, on a terminal; what is attached, while it is.
test_members() {
	local pid before=$EPOCHSECONDS
	log=$work/members
	evidence "$log" "$work/err"
	cat >"$work/run" <<-END
	#!/bin/bash
	echo 4711 >/proc/self/loginuid
	export SUDO_USER=alice SUDO_UID=1234
	exec "$bin/syscall-count" --no-calibrate --audit="$log" -s write,getppid -d 60 -c 'no such*' -c x -g / "\$@" 2>"$work/err" >"$work/out"
	END
	chmod +x "$work/run"
	: >"$work/err"
	script -qec "$work/run -j" /dev/null </dev/null >/dev/null 2>&1 &
	started+=($!)
	await "$work/err" 'tracing …'
	records "$log" attach >"$work/attach"
	pid=$(jq .pid "$work/attach")
	started+=("$pid")
	is "pid" "$(readlink "/proc/$pid/exe")" "$bin/syscall-count"
	if [[ $(<"/proc/$pid/loginuid") == 4711 ]]; then
		holds "login uid" "$work/attach" '$last.loginuid == 4711'
		holds "session" "$work/attach" "\$last.session == $(<"/proc/$pid/sessionid")"
	else
		skip "login uid and session" "this process may not set its own"
	fi
	holds "user" "$work/attach" "\$last.uid == $(id -ru) and \$last.euid == $(id -u)"
	holds "sudo's user" "$work/attach" '$last.sudo_user == "alice" and $last.sudo_uid == "1234"'
	is "terminal" "$(jq -r .tty "$work/attach")" "$(ps -o tty= -p "$pid")"
	is "host and kernel" "$(jq -r '.host + " " + .kernel' "$work/attach")" "$(uname -nr)"
	is "tool and version" "$(jq -r '.tool + " (plumb) " + .version' "$work/attach")" "$("$bin/syscall-count" --version)"
	is "command line" "$(jq -r '.command[]' "$work/attach")" "$(tr '\0' '\n' <"/proc/$pid/cmdline")"
	is "words of it" "$(jq .n_command "$work/attach")" "$(tr -cd '\0' <"/proc/$pid/cmdline" | wc -c)"
	holds "time" "$work/attach" "\$last.time | sub(\"[.][0-9]*Z\"; \"Z\") | fromdate | . >= $before - 1 and . <= now + 1"
	holds "hooks" "$work/attach" '$last.mechanism == "raw_tracepoint" and
		($last.hooks | index("r:sys_enter") and index("r:sys_exit")) and $last.n_hooks == ($last.hooks | length)'
	# The kernel says which programs each descriptor of the tool means.
	is "programs are those that the process has" "$(jq '.programs[].id' "$work/attach" | sort -un)" \
		"$(cat "/proc/$pid/fdinfo"/* 2>/dev/null | awk '$1 == "prog_id:" { print $2 }' | sort -un)"
	is "all are there" "$(jq .n_programs "$work/attach")" "$(jq '.programs | length' "$work/attach")"
	claim "their tags are the kernel's" as_the_kernel_has_it
	holds "filters" "$work/attach" '$last.filters == {pid: [], tid: [], comm: ["no such*", "x"], cgroup: ["/"], command: []}'
	is "mode of the file" "$(stat -c %a "$log")" 600
	is "one process watches" "$(watcher_of "$pid" | wc -l)" 1
	local watcher
	watcher=$(watcher_of "$pid")
	is "in a session of its own" "$(ps -o sid= -p "$watcher" | tr -d ' ')" "$watcher"
	is "it has no capability, gets none, and has a filter of system calls" \
		"$(grep -E '^(CapPrm|NoNewPrivs|Seccomp):' "/proc/$watcher/status" | tr -s '\t\n' '  ')" \
		"CapPrm: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 "
	is "it has no file but the log" "$(find "/proc/$watcher/fd" -type l -printf '%l\n' | grep -v '^socket:\|^anon_inode:')" "$log"
	kill -TERM "$pid"
	await "$log" '"event":"end"'
	claim "records are valid" valid "$log"
	is "one run has one id" "$(jq -r .id "$log" | sort -u | wc -l)" 1
	claim "the watcher is gone with the tool" gone "$watcher"
	"$bin/probe-list" --audit="$log" r:sched_switch >"$work/out" 2>&1
	is "another run has another" "$(jq -r .id "$log" | sort -u | wc -l)" 2
	is "a tool that attaches nothing has two records" "$(jq -r 'select(.tool == "probe-list").event' "$log" | paste -sd ' ')" "begin end"
	local i
	log=$work/words
	for i in $'\xff' $'\xfe' '?' '\xff' '{"hex":"ff"}' ff $'\xc3\xa4'; do
		"$bin/syscall-count" --no-calibrate --audit="$log" -s write -p $$ -c "$i" -d 0.01 >/dev/null 2>&1
	done
	claim "records of words that are not UTF-8 are valid" valid "$log"
	is "different words have different records" "$(records "$log" begin | jq -c '.command | .[index("-c") + 1]' | paste -sd ' ')" \
		'{"hex":"ff"} {"hex":"fe"} "?" "\\xff" "{\"hex\":\"ff\"}" "ff" "ä"'
	is "... and different filters" "$(records "$log" attach | jq -c '.filters.comm[0]' | sort -u | wc -l)" 7
	"$bin/syscall-count" --audit="$log.long" -s write -- true "$(printf '%070000d' 1)" >/dev/null 2>&1
	holds "a long word is whole" "$log.long" '$all[0].command[-1] | length == 70000'
	cp "$bin/syscall-count" "$work/nobody"
	SUDO_USER=root SUDO_UID=0 setpriv --reuid=65534 --regid=65534 --clear-groups "$work/nobody/syscall-count" --audit="$work/nobody/log" 2>/dev/null
	holds "whose environment is not believed" "$work/nobody/log" '$all | all(.sudo_user == null and .sudo_uid == null)'
	holds "another user, who may not trace" "$work/nobody/log" '[$all[] | [.event, .uid, .ended, .status]] == [["begin", 65534, null, null], ["end", 65534, "error", 1]]'
}

test_ends() {
	trace syscall-count -s write -- dd if=/dev/zero of="$work/zeroes" bs=1 count=1000 status=none
	ended "command: 1000 calls of write" '$last | .ended == "command" and .status == 0 and .events == 1000 and .lost == 0'
	records "$log" attach >"$work/attach"
	holds "its words" "$work/attach" '$last.filters.command[0:2] == ["dd", "if=/dev/zero"] and ($last.filters.command | length) == 6'
	trace syscall-count -s write -d 0.3 -p $$
	ended "duration" '$last | .ended == "duration" and .status == 0 and .signal == null and .events == 0'
	holds "detached before the end, after attaching" "$log" '$last.detached < $last.time and $last.detached > ($all[1].time)'
	records "$log" attach >"$work/attach"
	holds "its process" "$work/attach" "\$last.filters.pid == [$$]"
	trace syscall-count -s write -p $$ 0.1 2
	ended "count" '$last | .ended == "count" and .status == 0'
	for signal in TERM HUP; do
		log=$work/log.early.$signal
		"$bin/syscall-count" --audit="$log" --start-at=+60s </dev/null >"$work/out" 2>"$work/err" &
		tool=$!
		started+=("$tool")
		await "$log" '"event":"begin"'
		until [[ $(watcher_of "$tool") ]]; do sleep 0.02; done
		kill -"$signal" "$tool"
		wait "$tool" 2>/dev/null
		is "SIG$signal before the trace: status" $? $((128 + $(kill -l "$signal")))
		await "$log" '"event":"end"'
		claim "SIG$signal before the trace: records are valid" valid "$log"
		holds "SIG$signal before the trace" "$log" "\$last | .ended == \"signal\" and .signal == \"SIG$signal\" and .status == null"
	done
	for signal in INT TERM HUP; do
		trace syscall-count -s write -p $$
		kill -"$signal" "$tool"
		ended "SIG$signal" "\$last | .ended == \"signal\" and .signal == \"SIG$signal\" and .status == 0"
	done
	sleep 60 &
	local traced=$!
	trace syscall-count -s write -p "$traced"
	kill "$traced"
	ended "processes" '$last | .ended == "processes" and .status == 0'
	sleep 60 &
	traced=$!
	trace syscall-count -s write -t "$traced"
	kill "$traced"
	ended "threads" '$last | .ended == "threads" and .status == 0'
	trace syscall-count -s write -p $$
	local watcher
	watcher=$(watcher_of "$tool")
	kill -9 "$tool"
	wait "$tool" 2>/dev/null
	await "$log" '"event":"end"'
	ended "killed" '$last | .ended == "killed" and .status == null and .events == null and .detached == null'
	claim "its watcher is gone" gone "$watcher"
	trace syscall-count -s write -- sh -c 'exit 7'
	ended "status of the command" '$last | .ended == "command" and .status == 7'
	# The reader leaves at once.
	log=$work/log.closed
	"$bin/syscall-count" --no-calibrate --audit="$log" -s write -p $$ 0.1 2>"$work/err" | true
	await "$log" '"event":"end"'
	holds "output closed" "$log" '$last | .ended == "output closed" and .status == 0'
	"$bin/syscall-count" --audit="$work/log.refused" --mechanism=no-such -p $$ 2>/dev/null
	claim "wrong usage leaves no record" test ! -e "$work/log.refused"
	for option in --help --version --about; do
		"$bin/syscall-count" --audit="$work/log.refused" "$option" >/dev/null
	done
	claim "help leaves no record" test ! -e "$work/log.refused"
}

# CLAIM SINK WORD...: exit 1, one message with the words, and no call of bpf(2).
refuses() {
	local message failed=1 end=0
	strace -f -qq -e trace=bpf,perf_event_open -o "$work/strace" "$bin/syscall-count" --no-calibrate --audit="$2" -- \
		touch "$work/ran" >"$work/out" 2>"$work/err" </dev/null || end=$?
	message=$(<"$work/err")
	[[ $end == 1 && $message == *"$3"* && $message != *$'\n'* && ! -s $work/out && ! -s $work/strace && ! -e $work/ran ]] && failed=0
	tap_result "$failed" "$1" <<<"status $end: $message; $(wc -l <"$work/strace") calls of bpf"
}

test_file() {
	log=$work/there
	printf 'a line without an end' >"$log"
	chmod 600 "$log"
	"$bin/probe-list" --audit="$log" r:sched_switch >/dev/null 2>&1
	is "what was there stays, and a line without an end gets one" "$(head -n 1 "$log")" "a line without an end"
	claim "records follow" valid <(tail -n +2 "$log")
	ln -s "$log" "$work/link"
	refuses "symbolic link" "$work/link" "symbolic link"
	mkfifo -m 600 "$work/fifo"
	refuses "FIFO" "$work/fifo" "not a regular file"
	refuses "directory" "$work" "directory"
	refuses "device" /dev/full "not a regular file"
	touch "$work/other" "$work/writable"
	chmod 600 "$work/other"
	chown 65534 "$work/other"
	refuses "another user's file" "$work/other" "another user"
	chmod 620 "$work/writable"
	refuses "a file that others can write" "$work/writable" "written by others"
	mkdir -m 777 "$work/open"
	refuses "a folder that all may write" "$work/open/log" "--audit=$work/open/log: its folder can be written by others"
	claim "nothing is made there" test ! -e "$work/open/log"
	refuses "another user's folder" "$work/nobody/other" "--audit=$work/nobody/other: its folder belongs to another user"
	chmod 1777 "$work/open"
	"$bin/probe-list" --audit="$work/open/log" r:sched_switch >"$work/out" 2>"$work/err"
	is "a folder with the sticky bit" "$?:$(jq -r .event "$work/open/log" | paste -sd ' ')" "0:begin end"
	refuses "no directory" "$work/none/log" "No such file"
	mkdir "$work/small" "$work/read-only"
	mount -t tmpfs -o size=4k none "$work/small"
	head -c 4096 /dev/zero >"$work/small/log"
	chmod 600 "$work/small/log"
	refuses "full disk" "$work/small/log" "No space left"
	# Room for one record, but not for two.
	head -c 3000 /dev/zero | tr '\0' '\n' >"$work/small/log"
	"$bin/syscall-count" --no-calibrate --audit="$work/small/log" -- touch "$work/ran" >"$work/out" 2>"$work/err"
	is "disk full when it attaches: status" $? 1
	claim "disk full when it attaches: nothing is reported or run" test ! -s "$work/out" -a ! -e "$work/ran"
	like "disk full when it attaches: it says so" "$(<"$work/err")" 'audit=.*(part of the record|No space)'
	(
		ulimit -f 1
		exec "$bin/syscall-count" --no-calibrate --audit="$work/limited" -- touch "$work/ran"
	) >"$work/out" 2>"$work/err"
	is "beyond the limit of a file's size: status, report" "$?:$(<"$work/out")$(ls "$work/ran" 2>/dev/null)" "1:"
	like "beyond the limit of a file's size: it says so" "$(<"$work/err")" 'audit=.*(part of the record|File too large)'
	mount -t tmpfs -o ro none "$work/read-only"
	refuses "file system that is read only" "$work/read-only/log" "Read-only"
	umount "$work/small" "$work/read-only"
	refuses "no daemon" syslog "no daemon listens on /dev/log"
}

mkdir "$work/nobody" && chown 65534 "$work/nobody"
test_members
test_ends
test_file
test_outputs
evidence
done_testing
