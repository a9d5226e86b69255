#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A limit that is reached and a capability that is missing are named as what they are: status 1, not
# 77, and nothing of what the kernel does not support.
. "$(dirname "$0")/lib.sh"
root_or_end "limits, capabilities, cgroups"

start_idle
mkdir "$work/directory" "$work/bin"
chmod 755 "$work" "$work/bin"

# CLAIM WORD... - status 1, no output, one line with all the words, and not a word of the kernel
named() {
	refused "$tool: $1" 1 "$tool" "${@:2}"
	is "... and not as the kernel's" "$(grep -E 'this kernel|CONFIG_' "$err")" ""
}

limited() {
	status=0
	timeout 20 "$@" "$bin/$tool" ${operand[$tool]:+"${operand[$tool]}"} ${second[$tool]:+"${second[$tool]}"} --no-calibrate -d 0.1 -p "$idle" \
		--mechanism "$first" </dev/null >"$out" 2>"$err" || status=$?
	sed -i '/ has not mapped /d' "$err" # the file of the operand
}

# CAPABILITIES that are not there, as setpriv takes them
without() {
	local drop=-${1//,/,-}
	status=0
	timeout 20 setpriv --bounding-set "$drop" --inh-caps "$drop" "$bin/$tool" \
		${operand[$tool]:+"${operand[$tool]}"} ${second[$tool]:+"${second[$tool]}"} -d 0.1 -p "$idle" "${@:2}" </dev/null >"$out" 2>"$err" || status=$?
}

# UID COMMAND... - with CAP_BPF and CAP_PERFMON, and no other
as_two() {
	local only=-all,+bpf,+perfmon
	status=0
	timeout 20 setpriv --reuid="$1" --clear-groups --inh-caps="$only" --ambient-caps="$only" --bounding-set="$only" \
		"${@:2}" </dev/null >"$out" 2>"$err" || status=$?
}

# UID TOOL ARG...
with_two() {
	as_two "$1" "$work/bin/$2" --no-calibrate -d 0.1 -p "$idle" "${@:3}"
}

for tool in offcpu-time syscall-slower syscall-latency; do
	traces "$tool" || continue
	install -m 755 "$bin/$tool" "$work/bin/$tool"
	with_two 65534 "$tool" ${operand[$tool]:+"${operand[$tool]}"} ${second[$tool]:+"${second[$tool]}"}
	is "$tool takes CAP_BPF and CAP_PERFMON only" "$status $(grep refused "$err")" "0 "
done
# Kernels from 6.16 on require CAP_SYS_ADMIN for uprobes by perf events: there is another mechanism.
user=u:$work/bin/userfuncs:user_leaf
install -m 755 "${bin%/*}/tests/userfuncs" "$bin/probe-check" "$work/bin"
for tool in func-count func-stack; do
	run_bare "$tool" --no-calibrate -d 0.1 --mechanism=uprobe.multi "$user"
	((status == 0)) || continue
	install -m 755 "$bin/$tool" "$work/bin/$tool"
	as_two 65534 "$work/bin/$tool" --no-calibrate -d 0.1 "$user"
	is "$tool takes CAP_BPF and CAP_PERFMON only for a user function" "$status" 0
	as_two 65534 "$work/bin/$tool" --no-calibrate -d 0.1 --mechanism=uprobe "$user"
	like "... if not by perf events, it names the capability" "$status $(<"$err")" \
		"^(0 .*|77 $tool: uprobe refused: [^"$'\n'"]*: EACCES, without CAP_SYS_ADMIN [^"$'\n'"]*)$"
done
(ulimit -n 64 && exec timeout 20 "$bin/func-count" --no-calibrate -d 0.1 --mechanism=uprobe 'u:libc:str*') >"$out" 2>"$err"
like "of targets that are not attached for one reason the reason is given" "$? $(<"$err")" \
	'^(0 .* targets could not be attached: EMFILE, too many open files .ulimit -n is 64.|77 .*uprobe refused: )'
as_two 65534 "$work/bin/probe-check" --live=0.1 "$user"
like "probe-check --live names the capability" "$status $(tr -s ' \n' ' ' <"$out")" '^0|^77 .* EACCES, without CAP_SYS_ADMIN '

# By the step that failed: to attach, not to load.
if traces syscall-latency; then
	with_two 65534 syscall-latency --mechanism=tracepoint
	# Where tracefs is not mounted, CAP_SYS_ADMIN would mount it.
	claim "a tracepoint without tracefs is not refused by the verifier" \
		grep -E 'EACCES, (tracefs is not readable without CAP_DAC_READ_SEARCH|without CAP_SYS_ADMIN)|EPERM, not permitted .no CAP_SYS_ADMIN' "$err"
	with_two 0 syscall-latency --mechanism=tracepoint
	is "... nor if perf events are not permitted" \
		"$(grep -v -e 'EACCES, without CAP_SYS_ADMIN' -e 'EPERM, not permitted (no CAP_SYS_ADMIN' "$err" | grep refused)" ""
	status=0
	timeout 20 unshare -m sh -c 'umount -R /sys/kernel/debug /sys/kernel/tracing 2>/dev/null; exec "$@"' sh \
		"$bin/syscall-latency" --no-calibrate -d 0.1 --mechanism=tracepoint -p "$idle" </dev/null >"$out" 2>"$err" || status=$?
	is "a tracepoint is traced where tracefs is not mounted" "$status $(grep refused "$err")" "0 "
fi

# By each mechanism once, whichever tool has it; with CHECK_ALL (scripts/check.sh --all) by each tool.
declare -A limited_by=()
for tool in "${tools[@]}"; do
	if ! has "$tool" --mechanism || ! has "$tool" --pid; then continue; fi
	traces "$tool" || continue
	for first in $(mechanisms "$tool"); do
		run "$tool" --no-calibrate -d 0.05 -p "$idle" --mechanism "$first"
		((status)) || break
	done
	[[ ${CHECK_ALL-} || -z ${limited_by[$first]-} ]] || continue
	limited_by[$first]=$tool
	limited prlimit --nofile=12
	named "few open files" "$first refused" "too many open files (ulimit -n is 12)"
	limited prlimit --as=8388608
	named "little memory" "too little memory" "ulimit -v"
	without sys_admin,perfmon
	named "without CAP_PERFMON" "CAP_PERFMON is missing" "setcap cap_bpf,cap_perfmon+ep"
	without sys_admin,bpf
	named "without CAP_BPF" "CAP_BPF is missing"
	without sys_admin,bpf,perfmon
	named "without both" "CAP_BPF and CAP_PERFMON are missing"
	status=0
	timeout 20 unshare --user --map-root-user "$bin/$tool" ${operand[$tool]:+"${operand[$tool]}"} ${second[$tool]:+"${second[$tool]}"} -d 0.1 -p "$idle" \
		</dev/null >"$out" 2>"$err" || status=$?
	grep -q '^unshare:' "$err" || named "in a user namespace" "initial user namespace"
	has "$tool" --cgroup || continue
	for directory in "$work/directory" /proc ..; do
		run "$tool" -d 0.1 -g "$directory"
		named "-g of a directory that is no cgroup" "cgroup $directory: a directory, but not in the cgroup2 hierarchy"
	done
done

# A list that may not be made is not taken for one of nothing.
tool=syscall-latency
if traces "$tool"; then
	without sys_ptrace
	like "without CAP_SYS_PTRACE threads in flight that cannot be seen are counted" "$(<"$out")" \
		"in flight: 0"$'\n'"1 threads could not be inspected: .* CAP_SYS_PTRACE"
	claim "... and JSON does not call the list complete" eval \
		'without sys_ptrace -j; jq -e "(.in_flight | length) == 0 and .in_flight_complete == false" "$out" >/dev/null'
fi

# ulimit -f: no report is cut without a word, and no temporary file is left.
cd "$work" || exit 1
status=0
(ulimit -f 1 && exec "$bin/probe-check" --save="$work/directory/saved") >"$out" 2>"$err" || status=$?
is "--save beyond ulimit -f fails" "$status $(<"$err")" \
	"1 probe-check: --save: cannot write $work/directory/saved: File too large"
is "... and leaves nothing" "$(ls -A "$work/directory")" ""
(ulimit -f 1 && exec "$bin/cpu-profile" -F 99 --flame="$work/directory/x.svg" -- true) >"$out" 2>"$err" || status=$?
is "... nor does --flame" "$(ls -A "$work/directory")" ""
like "... which says so" "$(<"$err")" "--flame: cannot write .*: File too large"
(ulimit -f 64 && exec "$bin/cpu-profile" -F 99 -j -- sh -c "head -c 100000 /dev/zero >big") >"$out" 2>"$err"
is "... and the command has its own death by it" "$?" $((128 + $(kill -l XFSZ)))

# ulimit -s: it takes little.
# shellcheck disable=SC2317 # by claim
run_small() { (ulimit -s 64 && exec "$bin/$1" "${@:2}") >"$out" 2>"$err"; }
claim "probe-check --save takes little of a stack" run_small probe-check --save="$work/directory/small"
claim "... and --against" run_small probe-check --against="$work/directory/small"
rm "$work/directory/small"

# What has no end is not read.
mkfifo pipe
for file in /dev/zero pipe "$work/directory"; do
	for word in "tcp-sendmsg-lat --labels=" "probe-check --against=" "syscall-latency --btf="; do
		status=0
		# shellcheck disable=SC2086 # two words
		(ulimit -v 1000000 && exec timeout 20 "$bin"/$word"$file") >"$out" 2>"$err" </dev/null || status=$?
		refused "${word}$file is refused" 1 "${word%% *}" "$file is not a regular file" || :
	done
done

# The kernel's types, 6 MB, are mapped and not copied, where the kernel offers that (6.16).
mappable() {
	python3 -c 'import mmap, sys; mmap.mmap(sys.stdin.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)' </sys/kernel/btf/vmlinux 2>/dev/null
}
for tool in syscall-latency runq-latency; do
	traces "$tool" || continue
	if ! mappable; then
		skip "$tool takes at most 8 MB of memory at its start" "this kernel's types cannot be mapped"
		continue
	fi
	: >"$err"
	"$bin/$tool" -p $$ >"$out" 2>"$err" &
	until grep -q tracing "$err" || ! kill -0 $!; do sleep 0.1; done
	most=$(awk '/^VmHWM/ { print $2 }' /proc/$!/status)
	kill $!
	wait $!
	claim "$tool takes at most 8 MB of memory at its start: $most kB" test "$most" -le 8000
done
done_trying
