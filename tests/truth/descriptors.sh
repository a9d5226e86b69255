# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# syscall-slower: what descriptors are, as /proc, getpeername() and getsockname() said before the call.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=syscall-slower quick=--no-calibrate mechanisms=${mechanism:-tracepoint raw_tracepoint}
	ip link set lo up 2>/dev/null
	[ -e /sys/kernel/tracing/events/raw_syscalls ] && echo tracepoint >tracepoints
	uname -r >kernel
	mkdir here
	start opened descriptors here
	attach_each what 10ms -p "$pid"
	launch what-text 10ms -p "$pid"
	await 30 is_tracing what-text
	go opened
	detach_each what
	detach what-text
}

found='[$all[] | .call // empty | select(.descriptors != [])]'

has_no_arguments() {
	jq -s -e 'any(.[].call; . and .arguments == null)' "what-$1.json" >/dev/null
}

check_mechanism() {
	forced "what-$1" "$1" || return
	evidence "what-$1.json" "what-$1.err" opened.truth
	if has_no_arguments "$1"; then
		holds "without arguments there are no descriptors, $1" "what-$1.json" "$found | length == 0"
		return
	fi
	# Other calls are slow, too, where the machine is emulated.
	holds "each descriptor is what it was, though its number is another file's by now, $1" "what-$1.json" "$found"' as $found
		| [$truth[0].calls[] | . as $t | select(any($found[]; . as $f | $f.descriptors[0] as $d
			| $f.syscall == $t.syscall and $f.ret == ($t.ret | if . < 0 then $f.ret else . end) and $d.fd == $t.fd
				and $d.argument == 0 and $d.kind == $t.kind
				and ($d.text == $t.text or (($t.text | length) > 300 and ($d.text | length) > 256
					and ($d.text | startswith(".../")) and ($t.text | endswith($d.text[3:]))))) | not)]
		| if . == [] then true else error("\(.[0])") end' --slurpfile truth opened.truth
	holds "... so is the one that a call returned, $1" "what-$1.json" "$found"'
		| [.[] | select(.syscall == "accept4").descriptors[1] | [.argument, .fd > 2, .text]]
			== [$truth[0].calls[] | select(.returned != "") | [null, true, .returned]]' --slurpfile truth opened.truth
	holds "... and sockets have states and addresses, files paths, $1" "what-$1.json" "$found"' | map(.descriptors[0])
		| any(.[]; .state == "LISTEN" and .protocol == "tcp" and .type == "SOCK_STREAM" and (has("remote") | not))
		and any(.[]; .state == "ESTABLISHED" and .remote and .local)
		and any(.[]; .protocol == "unix" and .remote == "plumb.sock") and any(.[]; .protocol == "udp" and .type == "SOCK_DGRAM")
		and any(.[]; .deleted and (.path | endswith("plumb-deleted"))) and any(.[]; .end == "read")'
}

check() {
	# shellcheck disable=SC2034 # by what judges a refusal
	must="raw_tracepoint $(cat tracepoints 2>/dev/null)"
	for mech in ${mechanism:-tracepoint raw_tracepoint}; do
		check_mechanism "$mech"
	done
	evidence what-text.json
	claim "the text has them behind their numbers" grep -qE ' read\([0-9]+<pipe:\[[0-9]+\] read end>, 0x[0-9a-f]+, 8\) = 8' what-text.json
	claim "... and a file's" grep -qE ' flock\([0-9]+</.*/plumb-deleted \(deleted\)>, LOCK_EX\) = 0' what-text.json
	claim "... that of a poll, which is ready" grep -qE ' ppoll\(0x[0-9a-f]+, 2, .*\) = 1, ready: [0-9]+<pipe:\[[0-9]+\] read end>' what-text.json
	claim "... or is not" grep -qE ' ppoll\(0x[0-9a-f]+, 1, .*\) = 0, not ready: [0-9]+<pipe:\[[0-9]+\] read end>; woken by a timer' what-text.json
	is "... none, if a signal ended it" "$(grep -oE ' ppoll\(.*\) = -E[A-Z_]*[^;]*' what-text.json | sed 's/.*) = //')" -ERESTARTNOHAND
	claim "... escaped" grep -qF '\\ odd\x0a<name>' what-text.json
	claim "... and what a call returned" grep -qE ' accept4\([0-9]+<tcp listening on [^>]*>, NULL, NULL, SOCK_CLOEXEC\) = [0-9]+<tcp 127' what-text.json
}
