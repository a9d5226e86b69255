# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# The least capabilities with which each tool runs, as an unprivileged user, and counts right: what the table in
# tools/lib/manual/privileges.rst says of this kernel.

# A set for each letter of the table; each has those before it.
set_of() {
	case $1 in
	none) echo none ;;
	B) echo bpf,perfmon ;;
	D) echo bpf,perfmon,dac_read_search ;;
	S) echo bpf,perfmon,dac_read_search,syslog ;;
	A) echo bpf,perfmon,dac_read_search,syslog,sys_admin ;;
	admin) echo sys_admin ;;
	esac
}

# least TOOL ARG... - with one set after the other, until it runs; and with CAP_SYS_ADMIN alone
least() {
	tool=$1
	shift
	case $tool in
	probe-*) ;;
	*) set -- --no-calibrate "$@" ;;
	esac
	for letter in none B D S A admin; do
		[ "$letter" = admin ] || [ ! -e "$tool.least" ] || continue
		name=$tool-$letter
		WORKLOAD_JSON=/dev/null capable "$(set_of "$letter")" "$tool" -j "$@" </dev/null >"$name.json" 2>"$name.err"
		echo "$?" >"$name.status"
		[ "$(cat "$name.status")" != 0 ] || [ "$letter" = admin ] || echo "$letter" >"$tool.least"
	done
	[ -e "$tool.least" ] || echo - >"$tool.least"
}

run() {
	uname -r >kernel
	calls='calls 23 getppid'
	reach=$(command -v callpaths)
	usdt=$(command -v usdt)
	# shellcheck disable=SC2086 # words
	{
		least syscall-count -s getppid -- $calls
		least syscall-latency -s getppid -- $calls
		least syscall-slower -s getppid 1ns -- $calls
		least syscall-breakdown -s getppid -- $calls
		least cpu-profile -- callpaths 23 1009
		least offcpu-time -- $calls
		least runq-latency -- $calls
		least page-fault-latency -- $calls
		least event-rate page-faults -- $calls
		least file-latency -- $calls
		least file-io-breakdown -- $calls
		least block-io-latency -- $calls
		least slab-latency -- $calls
		for tool in cache-hit futex-latency irq-latency lock-latency process-life reclaim-latency request-latency wall-time; do
			least "$tool" -- $calls
		done
		for tool in skb-alloc tcp-accept-latency tcp-connect-latency tcp-retransmits tcp-sendmsg-lat; do
			least "$tool" -- sends 127.0.0.1,23,10
		done
		least func-latency write_null -- callpaths 23 1009
		least func-count write_null -- callpaths 23 1009
		least func-stack write_null -- callpaths 23 1009
		least user-func-latency "u:$reach:reach" -- callpaths 23 1009
		least usdt-latency "usdt:$usdt:app:slow_begin" "usdt:$usdt:app:slow_end" -- usdt 1
		least probe-list 't:sched:*'
		least probe-check t:sched:sched_switch
		least probe-misses -d 0.1
		least probe-cost --rounds=5
	}
	by_name
	outputs
}

# output OPTION TOOL ARG... - with it naming a file of the user's folder, of root's, and one that root has there
output() {
	option=$1
	shift
	for file in "$folder/his/$option" "$folder/roots/new" "$folder/roots/old"; do
		capable bpf,perfmon,syslog,sys_admin,dac_read_search,dac_override,fowner,chown "$@" "--$option=$file.prom" \
			</dev/null >/dev/null 2>outputs.err
		echo "$option ${file#"$folder/"} $?" >>outputs
		cat outputs.err >>outputs.all
	done
}

# What the user of a tool that has these capabilities may not write or read himself.
outputs() {
	folder=$(mktemp -d /tmp/outputs.XXXXXX)
	mkdir "$folder/his" "$folder/roots"
	chmod 755 "$folder" "$folder/roots"
	chown 65534 "$folder/his"
	echo kept >"$folder/roots/old.prom"
	chmod 600 "$folder/roots/old.prom"
	for option in heatmap chart openmetrics otlp audit; do
		output "$option" syscall-latency --no-calibrate -d 0.1 -p $$
	done
	output out syscall-latency --no-calibrate -d 0.1 -p $$ --keep=1s
	output flame cpu-profile --no-calibrate -d 0.1 -p $$
	{ ls "$folder/roots" && cat "$folder/roots/old.prom"; } >outputs.left
	syscall-latency --no-calibrate -j -d 0.1 -p $$ </dev/null >"$folder/report.json" 2>/dev/null
	chmod 600 "$folder/report.json"
	capable dac_read_search,dac_override hist-merge "$folder/report.json" </dev/null >outputs.merge 2>&1
	echo $? >outputs.merge.status
	rm -r "$folder"
}

# A file that a process of the same user has mapped, by its name.
by_name() {
	capable none loop udp 60 </dev/null >loop.out 2>&1 &
	pid=$!
	started="$started $pid"
	await 20 grep -q loop "/proc/$pid/comm"
	capable "$(set_of "$(cat user-func-latency.least)")" user-func-latency -j --no-calibrate -d 0.5 -p "$pid" loop:syscall \
		</dev/null >by-name.json 2>by-name.err
	kill "$pid"
}

# counts TOOL FILTER - with the least set that it runs with, and with CAP_SYS_ADMIN
counts() {
	local letter
	for letter in "$(cat "$1.least")" admin; do
		[[ -e $1-$letter.status && $(cat "$1-$letter.status") == 0 ]] || continue
		evidence "$1-$letter.json" "$1-$letter.err" notes
		holds "$1 counts right with $(set_of "$letter")" "$1-$letter.json" "$2" || :
	done
}

# The column of this kernel in the table; "": it has none.
column() {
	awk -v kernel="$(cat kernel)" '/^ *TOOL / { for (i = 2; i <= NF; i++) if (index(kernel, $i ".") == 1) print i }' "$1"
}

check() {
	local table=$truth/../../tools/lib/manual/privileges.rst file tool column letter
	local only='$last.ledger.recorded'
	column=$(column "$table")
	for file in *.least; do
		tool=${file%.least}
		evidence "$tool"-*.err notes
		if [[ -n $column ]]; then
			is "$tool runs on $(cat kernel) with what the table of the manual says, and with no less" "$(cat "$file")" \
				"$(awk -v tool="$tool" -v column="$column" '$1 == tool { print $column }' "$table")" || :
		fi
		like "$tool names what is missing" "$(cat "$tool-none.status") $(head -n 1 "$tool-none.err")" \
			"^1 $tool: .*(CAP_BPF and CAP_PERFMON are missing: run as root, or: setcap|CAP_SYS_ADMIN|root)" || :
	done
	for tool in syscall-count syscall-latency syscall-slower syscall-breakdown; do
		counts "$tool" "$only == 23"
	done
	for tool in func-latency func-count func-stack user-func-latency; do
		counts "$tool" "$only == 1032"
	done
	for tool in event-rate runq-latency page-fault-latency slab-latency; do
		counts "$tool" "$only > 0"
	done
	counts tcp-sendmsg-lat "$only == 23"
	evidence by-name.json by-name.err
	holds "user-func-latency finds the file of a process by its name, with no more" by-name.json "$only > 0" || :
	counts usdt-latency "$only > 0"
	evidence outputs outputs.all outputs.left outputs.merge
	is "a user writes files of his own" "$(grep -c ' his/.* 0$' outputs)" 7
	is "... and not root's, whatever his tools may" "$(grep -c ' roots/.* 1$' outputs)" 14
	is "... which are left as they were" "$(paste -sd ' ' outputs.left)" "old.prom kept"
	is "hist-merge reads what its user may" "$(cat outputs.merge.status)" 1
	like "... and says why it does not" "$(cat outputs.merge)" 'report.json: Permission denied'
	# Whose stacks and names others hide.
	for tool in cpu-profile offcpu-time; do
		[[ $(cat "$tool.least") == B ]] || continue
		evidence "$tool-B.err" notes
		like "$tool says which capability the names of kernel functions take" "$(cat "$tool-B.err")" \
			'names of kernel functions: not readable without CAP_SYSLOG: run as root, or: setcap cap_syslog,cap_perfmon,cap_bpf\+ep FILE' || :
	done
}
