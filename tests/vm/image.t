#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A kernel's file says of the kernel what the kernel says of itself when it runs: types, all symbols,
# and what became of calls. And what is known of some functions is found.  6.12 is run for that; with
# CHECK_ALL (scripts/check.sh --all) each kernel.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
evidence "$work/file" "$work/said" "$work/core" "$work/boot" "$work/err"
# Nothing calls them but by pointers that init code sets: at boot, handlers are registered.
registered=(net_rx_action tcp_v4_rcv meminfo_proc_show)
# 32 at most.
functions=(vfs_llseek vfs_read vfs_write null_lseek tcp_sendmsg tcp_sendmsg_locked schedule __alloc_skb nothing_like_it "${registered[@]}")

# image_of [--arch=ARCH] SERIES - the path of its file, in $path
image_of() {
	local status=0
	path=$(scripts/kernels.sh "$@" 2>"$work/err" | cut -f 3)
	[[ -n $path ]] || status=1
	if ((status)); then
		skip "$*" "no such kernel: $(tail -n 1 "$work/err")"
	fi
	return "$status"
}

# value NAME FILE
value() {
	sed -n "s/^$1 //p" "$work/$2"
}

# What holds of each kernel's file. known SERIES MACHINE
known() {
	is "$1: its machine is told" "$(value machine file)" "$2"
	like "$1: its release is told" "$(value release file)" "^${1//./\\.}\\.[0-9.]+.*-cloud-"
	is "$1: its build id is told" "$(value build_id file)" 20
	claim "$1: its types are read" test "$(value types file)" -gt 50000
	claim "$1: its symbols are read" test "$(value symbols file)" -gt 50000
	is "$1: its code and data are read" "$(value file_code file) $(value file_data file)" "1 1"
	like "$1: vfs_read is called" "$(value file_vfs_read file)" '^[2-9] direct, 0 taken, not exported$'
	like "$1: null_lseek is called by pointer only" "$(value file_null_lseek file)" '^0 direct, [1-9] taken, not exported$'
	like "$1: schedule is called, and exported" "$(value file_schedule file)" '^[1-9][0-9][0-9] direct, [0-9]+ taken, exported$'
	like "$1: tcp_sendmsg is called by pointer, too" "$(value file_tcp_sendmsg file)" '^[1-9] direct, [1-9] taken, exported$'
	is "$1: what is not there is not found" "$(value file_nothing_like_it file)" \
		"no address, 0 direct, 0 taken, not exported"
	# On x86_64 the call of lseek() has it inlined; from 6.1 on writing a core still calls it.  On
	# arm64, 7.2 has four calls, by the words of its image that branch there.
	like "$1: vfs_llseek is hardly called" "$(value file_vfs_llseek file)" '^[014] direct, 0 taken, exported$'
}

# What probe-check says of registered functions. handled NAME FILE
handled() {
	is "$1, what is registered at boot is called" "$(jq -r '.checks[].verdict' "$2" | paste -sd ' ')" "ok ok ok"
}

# The numbers of direct calls, of what is told of FILE or of a running kernel.
direct() {
	sed -n "s/^$1_\([a-z_]* [0-9]* direct\),.*/\1/p" "$work/$2"
}

# not_running SERIES MACHINE NAME - what is known of it is found in its file at $path
not_running() {
	build/trust/image "$path" "${functions[@]}" >"$work/file" 2>"$work/err"
	is "$3: what looks at it ends well" $? 0
	known "$1" "$2"
	build/bin/probe-check -j --image="$path" "${registered[@]}" >"$work/said" 2>"$work/err"
	handled "$3" "$work/said"
}

for series in 5.10 6.1 6.12 7; do
	image_of "$series" || continue
	if [[ $series != 6.12 && ! ${CHECK_ALL:-} ]]; then
		not_running "$series" 62 "$series"
		continue
	fi
	release=$(cat "${path%/*}/release")
	# shellcheck disable=SC2016 # for the guest
	scripts/vm.sh --mem=1536 --file="$path:/boot/vmlinuz-$release" --file=build/trust/image:/image "$series" -- \
		env "registered=${registered[*]}" sh -c '
		/image --running "$0" "$@"; echo; mount --bind /dev/null /proc/kcore; /image --running "$0" "$@"; umount /proc/kcore
		exec >&2; echo; probe-check -j $registered; rm "$0"; probe-check -j $registered; test $? = 3' \
		"/boot/vmlinuz-$release" "${functions[@]}" >"$work/out" 2>"$work/err"
	is "$series: what looks at it ends well" $? 0
	sed '/^$/Q' "$work/out" >"$work/core"
	sed '1,/^$/d' "$work/out" >"$work/boot"
	grep '^{' "$work/err" >"$work/checks"
	grep -v '^running' "$work/core" >"$work/file"
	known "$series" 62
	build/bin/probe-check -j --image="$path" "${registered[@]}" >"$work/said" 2>"$work/err"
	handled "$series" "$work/said"
	is "$series: all symbols and their addresses are those of the running kernel" \
		"$(value different_symbols core) different, $(value missing_symbols core) missing, same: $(value same_symbols core)" \
		"0 different, 0 missing, same: $(value symbols core)"
	is "$series: so are release, build id and types" \
		"$(value same_release core)$(value same_build_id core)$(value same_types core)" 111
	is "$series: the running kernel's code is in its memory" "$(value from core)$(value why core)" /proc/kcore
	is "$series: which has the same calls" "$(direct running core)" "$(direct file core)"
	is "$series: where its memory is refused, the code is in its file" \
		"$(value from boot)$(value why boot)" "/boot/vmlinuz-$release"
	is "$series: which has the same calls and pointers, wherever the kernel is loaded" \
		"$(sed -n 's/^running_//p' "$work/boot")" "$(sed -n 's/^file_//p' "$work/boot")"
	[[ $series == 6.12 ]] || continue
	# Its init code is gone from memory. Its file has it, and without that nothing is said for sure.
	jq -s '.[0]' "$work/checks" >"$work/said"
	handled "$series, running" "$work/said"
	is "$series, running: without its file, never being called is not claimed" \
		"$(jq -rs '.[1].checks[] | select(.target == "meminfo_proc_show").verdict' "$work/checks")" "maybe inlined"
done

for series in 6.12 7; do
	image_of --arch=arm64 "$series" || continue
	not_running "$series" 183 "$series, arm64"
done

# The addresses in its data are filled in at boot, and symbols are of its code only.
if [[ ${CHECK_ALL:-} ]] && image_of --arch=arm64 5.10; then
	build/trust/image "$path" "${functions[@]}" >"$work/file" 2>"$work/err"
	claim "5.10, arm64: its types are read" test "$(value types file)" -gt 50000
	is "5.10, arm64: its code is read, its data is not" "$(value file_code file) $(value file_data file)" "1 0"
	like "5.10, arm64: vfs_read is called" "$(value file_vfs_read file)" '^[2-9] direct, 0 taken, not exported$'
	build/bin/probe-check -j --image="$path" vfs_read __arm64_sys_getppid >"$work/file" 2>"$work/err"
	is "5.10, arm64: functions can be probed" "$(jq -r '.checks[].verdict' "$work/file" | paste -sd ' ')" "ok ok"
	is "... not by fentry" "$(grep -c 'kprobes take it; this image has no fentry' "$work/file")" 2
fi
done_testing
