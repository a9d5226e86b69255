# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Which capabilities let which tool run: each tool with each set, as an unprivileged user.  It is what the
# table in tools/lib/manual/privileges.rst says.

# What the sets are called in the table.
sets='none sys_admin bpf,perfmon bpf,perfmon,dac_read_search bpf,perfmon,dac_read_search,syslog bpf,perfmon,dac_read_search,syslog,sys_ptrace bpf,perfmon,dac_read_search,syslog,sys_ptrace,sys_admin'

# one TOOL ARG... - with each set.  Natively the files of the tests are not in a directory of that user.
one() {
	tool=$1
	shift
	for set in $sets; do
		name=$tool-$set
		export WORKLOAD_JSON=/dev/null
		case $tool in
		probe-*) capable "$set" "$tool" -j "$@" </dev/null >"$name.json" 2>"$name.err" ;;
		*) capable "$set" "$tool" -j --no-calibrate "$@" </dev/null >"$name.json" 2>"$name.err" ;;
		esac
		echo "$?" >"$name.status"
	done
}

run() {
	uname -r >kernel
	calls='calls 23 getppid'
	reach=$(command -v callpaths)
	usdt=$(command -v usdt)
	# shellcheck disable=SC2086 # words
	{
		one syscall-count -s getppid -- $calls
		one syscall-latency -s getppid -- $calls
		one syscall-slower -s getppid 1ns -- $calls
		one syscall-breakdown -s getppid -- $calls
		one cpu-profile -- callpaths 23 1009
		one offcpu-time -- calls 23 getppid
		one runq-latency -- $calls
		one page-fault-latency -- $calls
		one event-rate page-faults -- $calls
		one file-latency -- $calls
		one file-io-breakdown -- $calls
		one block-io-latency -- $calls
		one slab-latency -- $calls
		one skb-alloc -- sends 127.0.0.1,23,10
		one tcp-sendmsg-lat -- sends 127.0.0.1,23,10
		one func-latency write_null -- callpaths 23 1009
		one func-count write_null -- callpaths 23 1009
		one func-stack write_null -- callpaths 23 1009
		one user-func-latency "u:$reach:reach" -- callpaths 23 1009
		one usdt-latency "usdt:$usdt:app:slow_begin" "usdt:$usdt:app:slow_end" -- usdt 1
		one probe-list -s
		one probe-misses -d 0.1
		one probe-check t:sched:sched_switch
	}
}

check() {
	for f in *.status; do
		n=${f%.status}
		echo "$n $(cat "$f") $(jq -r -s '.[-1].ledger.recorded // "-"' "$n.json" 2>/dev/null) $(grep -v tracing "$n.err" | grep -oE 'without CAP[A-Z_, ]+|refused:.*|CAP_.*missing|needs.*|.*' | head -2 | paste -sd'|' | cut -c1-150)"
	done | column -t | sed 's/^/# /' >&2
}
