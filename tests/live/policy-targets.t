#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# /etc/plumb/policy: the targets that it forbids, whatever names are used for them.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/policy.sh"

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
	libc=$("$bin/probe-list" u:libc:malloc | sed -nE 's/^u:([^ ]*):malloc .*/\1/p')
	forbidden "tracepoint" t:sched:sched_switch func-count --no-calibrate -d 0.1 t:sched:sched_switch
	forbidden "one of many" 't:sched:sched_s*' func-count --no-calibrate -d 0.1 'u:libc:malloc' 't:sched:*'
	forbidden "raw tracepoint" k:nothing,r:sched_switch runq-latency --no-calibrate -d 0.1
	forbidden "tracepoint by the name of the raw one" r:sched_switch func-count --no-calibrate -d 0.1 t:sched:sched_switch
	forbidden "system call" s:getppid func-count --no-calibrate -d 0.1 t:syscalls:sys_enter_getppid
	forbidden "arguments of system calls" s:execve process-life --arguments --no-calibrate -d 0.1
	forbidden "system call, among many" s:getppid func-count --no-calibrate -d 0.1 't:syscalls:sys_enter_get*'
	forbidden "user function" "u:$libc:malloc" func-count --no-calibrate -d 0.1 u:libc:malloc
	cp "$libc" "$work/library.so"
	# The same file, or the same code, by a name that no line has.
	ln "$work/library.so" "$work/hard.so"
	cp "$libc" "$work/copy.so"
	forbidden "a hard link" "u:$work/library.so:mall*" user-func-latency --no-calibrate -d 0.1 "$work/hard.so:malloc"
	forbidden "a copy" "u:$work/lib*.so:malloc" user-func-latency --no-calibrate -d 0.1 "$work/copy.so:malloc"
	printf 'forbid-target=u:%s:free\n' "$work/library.so" >"$policy"
	run user-func-latency --no-calibrate -d 0.1 "$work/copy.so:malloc"
	is "... by another function of it" "$status" 0
	rm "$work/hard.so" "$work/copy.so"
	ln -s library.so "$work/link.so"
	forbidden "user function by a link to its file" "u:$work/library.so:*" user-func-latency --no-calibrate -d 0.1 "$work/link.so:malloc"
	# Mounts of a user's own, and of the tool's namespace.
	local inside
	: >"$work/innocent"
	: >"$work/innocent 2"
	: >"$work/go"
	mkdir "$work/jail"
	unshare -rm sh -c "[ ! -e '$bin/../tests/gofuncs' ] || mount --bind '$bin/../tests/gofuncs' '$work/go'; mount --bind '$work/library.so' '$work/innocent' && exec sleep 300" &
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
	if [[ -e $bin/../tests/gofuncs ]]; then
		run user-func-latency --no-calibrate -d 0.1 "/proc/$inside/root$work/go:main.*"
		is "... and a program of Go, whose goroutines end elsewhere in it" "$status" 0
	fi
	# A library that was replaced, as by an upgrade, while a process maps it.
	local maps range
	cp "$libc" "$work/replaced.so"
	python3 -c 'import mmap, sys, time
with open(sys.argv[1], "rb") as f: m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC)
time.sleep(300)' "$work/replaced.so" &
	maps=$!
	started+=("$maps")
	until grep -q replaced.so "/proc/$maps/maps"; do sleep 0.02; done
	cp "$libc" "$work/new.so"
	mv "$work/new.so" "$work/replaced.so"
	range=$(grep -m 1 replaced.so "/proc/$maps/maps" | sed -E 's/^0*([0-9a-f]+)-0*([0-9a-f]+) .*/\1-\2/')
	forbidden "a file that was replaced, by a mapping" "u:$work/replaced.so:*" \
		user-func-latency --no-calibrate -d 0.1 "/proc/$maps/map_files/$range:malloc"
	kill "$maps"
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
	local delayed='^bpf\(BPF_LINK_CREATE.*\(DELAYED\)$' count process tool attempt found i
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
		rm -f "$work"/calls.*
		strace -ff -o "$work/calls" -e trace=bpf -e inject=bpf:delay_enter=1 "${tool[@]}" >"$work/out" 2>"$work/err"
		count=$(awk '/DELAYED/ { n[FILENAME]++ } /BPF_LINK_CREATE/ { last = n[FILENAME] } END { print last + 0 }' "$work"/calls.*)
		((count)) || { skip "a target is swapped" "uprobe.multi does not work here"; return; }
		rm -f "$work"/calls.*
		: >"$work/err"
		ln -s forbidden.so "$work/other.so"
		strace -ff -o "$work/calls" -e trace=bpf -e "inject=bpf:delay_enter=2000000:when=$count" "${tool[@]}" \
			>"$work/out" 2>"$work/err" &
		started+=("$!")
		for ((i = 0; i < 1500; i++)); do
			grep -qs sched_process_exec "$work"/calls.* && break
			sleep 0.02
		done
		sleep 0.5
		mv -T "$work/other.so" "$work/swapped.so"
		await "$work/err" 'tracing …'
		found=$(breakpoints "$process" "$work/forbidden.so")
		! grep -qsE "$delayed" "$work"/calls.* || break
		wait "$!"
	done
	is "a target is swapped while it is attached to: what is forbidden has no breakpoint" \
		"$found $(cat "$work"/calls.* | grep -cE "$delayed")" "0 1"
	wait "$!"
	like "... and is refused, and why" "$(<"$work/err")" 'swapped.so was replaced.*refused, forbidden by /etc/plumb/policy:1'
	rm "$policy"
	: >"$work/err" # what is waited for is in it
	"${tool[@]::6}" "$work/forbidden.so:malloc" >"$work/out" 2>"$work/err" &
	await "$work/err" 'tracing …'
	claim "... where it is allowed, it has some" test "$(breakpoints "$process" "$work/forbidden.so")" -gt 0
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

test_targets
test_names
test_swap
evidence
done_testing
