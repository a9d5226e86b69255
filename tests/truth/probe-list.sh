# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154,SC3043
# probe-list: its targets are those that this kernel's own files have, and can be attached to.

# What the kernel itself lists, be tracefs mounted or not.
read_tracefs() {
	if [ -e /sys/kernel/tracing/available_events ]; then
		cat /sys/kernel/tracing/available_events >events
		cat /sys/kernel/tracing/available_filter_functions >filter 2>/dev/null
	else
		unshare -m sh -c 'mount -t tracefs none /sys/kernel/tracing || exit
			cat /sys/kernel/tracing/available_events >events
			cat /sys/kernel/tracing/available_filter_functions >filter 2>/dev/null'
	fi
	awk '$2 ~ /^[tTwW]$/ { print $1, $3 }' /proc/kallsyms >code
}

# try HOOK TOOL ARG... - does another tool get by with it?
try() {
	hook=$1 program=$2
	shift 2
	timeout 60 "$program" -d 0.1 --no-calibrate -c no-such-name "$@" >/dev/null 2>"$hook.err"
	echo "$hook $?" >>tried
}

run() {
	uname -r >kernel
	calls=$(command -v calls)
	# shellcheck disable=SC2034 # by what starts a tool
	program=probe-list
	probe-list >list.json 2>list.err
	echo $? >list.status
	probe-list -j --summary >kinds.json 2>kinds.err
	probe-list -j 's:*' >calls.json 2>calls.err
	probe-list -a k:vfs_read s:lseek t:task:task_rename >typed.json 2>typed.err
	read_tracefs
	# Without any mount.
	unshare -m sh -c 'umount /sys/kernel/debug/tracing; umount /sys/kernel/tracing; umount /sys/kernel/debug
		probe-list "t:*" "k:vfs_*"' 2>unmounted.err | awk '{ print $1 }' >unmounted

	# Detaching takes the kernel a while: some will do.
	awk '/^r:/ && !(++n % 20) { print $1 }' list.json >raw
	attaches <raw >raw.tried
	awk '$3 ~ /kprobe($|\))/ && NF == 3 && !(++n % 1000) { print $1 }' list.json >kprobes
	attaches <kprobes >kprobes.tried

	for hook in raw_tracepoint tracepoint; do
		try $hook func-count --mechanism=$hook t:task:task_rename
	done
	for hook in fentry kprobe kprobe.multi; do
		try $hook func-count --mechanism=$hook vfs_read
	done
	try fexit func-latency --mechanism=fentry vfs_read
	try uprobe func-count --mechanism=uprobe "u:$calls:make_call"
}

# targets KIND - as the summary counts them
targets() {
	jq --arg kind "$1" '[.kinds[] | select(.kind == $kind)][0].targets' kinds.json
}

check_events() {
	is "system calls are as many as their events" "$(targets syscall)" "$(grep -c ^syscalls: events)"
	is "tracepoints are as many as the other events" "$(targets tracepoint)" "$(grep -vc ^syscalls: events)"
	is "they have the events' names" "$(sed -n 's/^t:\([^ ]*\).*/\1/p' list.json)" "$(grep -v ^syscalls: events | LC_ALL=C sort)"
	is "each system call has an entry and an exit" "$(jq -r '.targets[] | select(.count != 2).name' calls.json)" ""
	is "and there are no others" "$(jq '.targets | length * 2' calls.json)" "$(grep -c ^syscalls: events)"
	is "all that is also seen where tracefs is not mounted" "$(cat unmounted)" \
		"$(awk '/^t:/ || /^k:(.*:)?vfs_/ { print $1 }' list.json)"
}

# Weak functions that were not linked have made-up names; a module's name follows a name.
of_ftrace() {
	sed 's/[ \t].*//' filter | grep -v __ftrace_invalid_address__ | sort -u
}

# Each line of stdin with its code's other names.
aliases() {
	awk 'FILENAME == "code" { at[$2] = at[$2] " " $1; names[$1] = names[$1] " " $2; next }
		{ printf "%s", $1; n = split(at[$1], all, " ")
		  for (i = 1; i <= n; i++) printf "%s", names[all[i]]
		  print "" }' code -
}

check_functions() {
	awk '/^k:/ { sub(".*:", "", $1); print $1 }' list.json | sort -u >functions
	claim "there are functions by the ten thousand" test "$(wc -l <functions)" -gt 20000
	if [ ! -s filter ]; then
		like "what the kernel does not tell is said" "$(cat list.err)" "which functions can be traced is not known"
		return
	fi
	of_ftrace >traced
	is "each function that ftrace knows is listed" "$(comm -13 functions traced)" ""
	is "each function that is listed is known to ftrace, by some name" \
		"$(comm -23 functions traced | aliases | awk 'NR == FNR { known[$1]; next }
			{ for (i = 1; i <= NF; i++) if ($i in known) next; print $1 }' traced -)" ""
	is "nothing is unknown" "$(grep -c "is not known" list.err)" 0
}

check_attached() {
	local hook status
	claim "raw tracepoints were tried" test "$(wc -l <raw)" -ge 10
	is "each raw tracepoint can be attached to" "$(grep -v ' 0$' raw.tried)" ""
	if grep -q '^kprobe 0' tried; then
		claim "kprobes were tried" test "$(wc -l <kprobes)" -ge 30
		is "each kprobe can be made" "$(grep -v ' 0$' kprobes.tried)" ""
	fi
	is "all hooks were tried" "$(wc -l <tried)" 7
	while read -r hook status; do
		evidence "$hook.err" kinds.json
		holds "$hook is open where another tool gets by with it" kinds.json \
			'[$last.kinds[] | select(.hook == $hook).open] | length > 0 and all(. == $works)' \
			--arg hook "$hook" --argjson works "$([ "$status" = 0 ] && echo true || echo false)"
	done <tried
	evidence
}

check() {
	local expected
	evidence list.err kinds.json kinds.err
	is "all is listed" "$(cat list.status)" 0
	# shellcheck disable=SC2034 # by forced
	case $(cat kernel) in
	5.10.* | 6.1.*) expected="kprobe.multi" ;;
	6.12.* | 7.*) expected="" ;;
	*) expected=unknown ;;
	esac
	[ "$expected" = unknown ] ||
		is "what is closed is what this kernel lacks" "$(jq -r '.kinds[] | select(.open | not).hook' kinds.json)" "$expected"
	for target in s:openat s:fstat t:sched:sched_switch r:sched_switch k:vfs_read k:tcp_sendmsg; do
		is "$target is listed once" "$(awk -v name="$target" '$1 == name' list.json | wc -l)" 1
	done
	like "types are told" "$(tr -s '\n ' ' ' <typed.json)" \
		'off_t lseek|long lseek\(unsigned int fd, off_t offset, unsigned int whence\)'
	like "types of a function are told" "$(tr -s '\n ' ' ' <typed.json)" \
		'ssize_t vfs_read\(struct file \*file, char \*buf, size_t count, loff_t \*pos\)'
	check_events
	check_functions
	check_attached
}
