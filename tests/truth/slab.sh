# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Allocations from slab caches: as many as known system calls make, of the cache, size and caller, by the path that /proc/slabinfo confirms.

# One tool after the other: a probe on the return of a function takes the place of the caller for all others.
run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=slab-latency quick=--no-calibrate
	uname -r >kernel
	# shellcheck disable=SC2154 # run has it
	for mech in $mechanisms ${mechanism:-raw_tracepoint}; do
		traced "parts-$mech" "--mechanism=$mech" -c s-files,s-messages -b comm,cache,caller,asked,given,node"$(path_of "$mech")" -- slabs
	done
	start frees-of slabs
	attach frees --frees -t "$pid" -b comm,cache,caller
	attached
	open_gate frees-of go
	await 60 [ -e frees-of.gates/done ]
	detach frees
	open_gate frees-of leave
	finish frees-of "$pid"
	run_threads
	limit_of_cgroup
	sends=40009
	grep -q 'QEMU TCG' /proc/cpuinfo || sends=239999
	echo "$sends" >sends
	traced sends -c sends -- sends "127.0.0.1,$sends,100,udp"
	traced nobody --mechanism=raw_tracepoint -c no-such-name -- slabs
	traced intervals --mechanism=raw_tracepoint -b comm 0.1 -- slabs 2
	launch table --mechanism=raw_tracepoint -d 1
	finish table "$tool"
	launch path --mechanism=raw_tracepoint -b path
	finish path "$tool"
}

# Tracepoints do not have it.
path_of() {
	[ "$1" = raw_tracepoint ] || echo ,path
}

# Threads that allocate side by side, while packets are sent and received in interrupts.
run_threads() {
	start threads slabs 8
	attach threads -p "$pid" -b tid,asked
	attached
	sends 127.0.0.1,20011,100,udp ::1,5003,8000,udp >traffic.truth &
	traffic=$!
	open_gate threads go
	await 120 [ -e threads.gates/done ]
	detach threads
	open_gate threads leave
	finish threads "$(cat threads.pid)"
	wait "$traffic"
}

# A memory cgroup at its limit, which has no process that may be killed: allocations fail.
limit_of_cgroup() {
	top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	echo +memory >"$top/cgroup.subtree_control" || return
	cgroups=$top/plumb-slab-$$
	mkdir "$cgroups" || return
	echo 2M >"$cgroups/memory.max" || return
	start limit slabs limit
	echo -1000 >"/proc/$pid/oom_score_adj"
	echo "$pid" >"$cgroups/cgroup.procs"
	attach limit -g "/plumb-slab-$$" -b comm,cgroup
	echo "/plumb-slab-$$" >cgroup
	attached
	open_gate limit go
	await 120 [ -e limit.gates/done ]
	detach limit
	open_gate limit leave
	finish limit "$pid"
}

# The sum of the counts of the rows that match.
matching='def matching(f): [$last.rows[] | select(.key | f).count] | add // 0;'
# An allocation in an interrupt on top of the program is missed, which the report says.
missed='$last.ledger.lost > 0'

# A report is consistent, and a call is lost only where the kernel skipped a program in an interrupt.
accounted() {
	whole "$1" "$2" || return 0
	holds "what is lost was missed in interrupts, $1" "$2" '$last.ledger | .no_state == 0 and .too_deep == 0 and .unpaired == 0 and .dropped == 0
		and (.lost == 0 or .missed == null or .missed > 0)'
}

check_parts() {
	local file='.cache == "filp"' dentry='.cache == "dentry"'
	forced "parts-$1" "$1" || return
	# Up to 6.0 the tracepoint does not have the cache.
	if [[ $1 == raw_tracepoint && $(cat kernel) == 5.10.* ]]; then
		file='(.caller | startswith("__alloc_file+"))' dentry='(.caller | startswith("__d_alloc+"))'
	fi
	evidence "parts-$1.json" "parts-$1.truth"
	holds "$1: as many objects of a cache as descriptors were opened" "parts-$1.json" "$matching $missed or (
		matching(.comm == \"s-files\" and $file) == 1009 and matching(.comm == \"s-files\" and $dentry) == 1009)"
	holds "$1: as many buffers as messages, with the size asked for and that given" "parts-$1.json" "$matching $missed or (
		matching(.comm == \"s-messages\" and .asked == 1048 and .given == 2048 and (.cache | test(\"^(kmalloc|kmalloc-cg|msg_msg)-2k$\"))) == 503
		and ([\$last.rows[] | select(.key.asked == 1048)] | map(.asked) == map(.count * 1048) and map(.given) == map(.count * 2048)))"
	holds "$1: the caller is the function that allocates" "parts-$1.json" "
		([\$last.rows[] | select(.key | .comm == \"s-files\" and $file).key.caller] | unique
			| length == 1 and (.[0] | test(\"^(__alloc_file|alloc_empty_file)[+]0x[0-9a-f]+$\")))"'
		and ([$last.rows[] | select(.key.asked == 1048).key.caller] | unique
			| length == 1 and (.[0] | test("^(load_msg|alloc_msg)[+]0x[0-9a-f]+$")))'
	holds "$1: a filter by names" "parts-$1.json" '[$last.rows[].key.comm] | unique == ["s-files", "s-messages"]'
	accounted "$1" "parts-$1.json"
	holds "$1: no node is asked for" "parts-$1.json" 'all($last.rows[] | select(.key.cache == "filp"); .key.node == null)'
	[[ $1 != raw_tracepoint ]] || return 0
	check_path "$1"
	holds "$1: the allocations take no longer than the calls around them" "parts-$1.json" '
		($truth[0].calls[] | select(.comm == "s-files")) as $true
		| [$last.rows[] | select(.key.comm == "s-files" and .key.cache == "filp")]
		| (map(.sum) | add) <= $true.sum and (map(.max) | max) <= $true.max' --slurpfile truth "parts-$1.truth"
}

# Where CPUs have arrays of objects ("sheaves"), one allocation can fetch several slabs.
check_path() {
	local sheaves=false
	[[ $(cat kernel) != 7.* ]] || sheaves=true
	holds "$1: as many allocations on the path of a new slab as /proc/slabinfo has new slabs" "parts-$1.json" "$matching
		matching(.comm == \"s-files\" and .cache == \"filp\" and .path == \"new-slab\") as \$new
		| \$truth[0].calls[0].slabs as \$slabs | $missed or \$slabs == 0
		or (\$new >= (if \$sheaves then 1 else \$slabs - 2 end) and \$new <= \$slabs + 2)" \
		--slurpfile truth "parts-$1.truth" --argjson sheaves "$sheaves"
	holds "$1: ... which take longer than the fast path" "parts-$1.json" '
		[$last.rows[] | select(.key.comm == "s-files" and .key.cache == "filp")] | map({(.key.path): .percentiles["50"]}) | add
		| .fast < .["new-slab"]'
	holds "$1: parts of the slow path are no rows of their own" "parts-$1.json" '$last.ledger | .filtered_at_exit > 0'
}

check_threads() {
	evidence threads.json threads.err threads.truth
	holds "each of 8 threads has its allocations, beside network traffic" threads.json '
		($last.ledger.missed // 0) as $missed | all($truth[0].calls[]; . as $t
			| [$last.rows[] | select(.key == {"tid": $t.tid, "asked": 1048}).count] | add | . <= 5003 and . >= 5003 - $missed)' \
		--slurpfile truth threads.truth
	accounted "of threads" threads.json
}

check_limit() {
	if [[ ! -e cgroup ]]; then
		skip "allocations at the limit of a memory cgroup" "there is no memory controller in the v2 hierarchy"
		return
	fi
	evidence limit.json limit.err limit.truth
	holds "at the limit of a memory cgroup, as many allocations fail as calls with ENOMEM" limit.json '
		($last.ledger.missed // 0) > 0 or ($truth[0].calls[0].errors == 11 and ([$last.rows[] | select(.key.comm == "s-limit").errors] | add) == 11)' \
		--slurpfile truth limit.truth
	holds "... a stall, for memory is reclaimed, on any path" limit.json '[$last.rows[] | select(.key.comm == "s-limit").max] | max > 1000000'
	holds "... and all are of that cgroup" limit.json '$last.rows != [] and all($last.rows[].key; .cgroup == $cgroup)' --arg cgroup "$(cat cgroup)"
}

check() {
	local mech
	must=raw_tracepoint
	for mech in $(mechanisms); do
		check_parts "$mech"
	done
	[[ -z $mechanism ]] || return 0
	check_parts raw_tracepoint
	evidence frees.json frees.err
	holds "frees: of a cache, and by kfree" frees.json "$matching $missed or (
		matching(.comm == \"s-closes\" and .op == \"free\" and .cache == \"dentry\") == 1009
		and matching(.comm == \"s-closes\" and .op == \"kfree\" and (.caller | startswith(\"eventfd_\"))) == 1009)"
	accounted "of allocations and frees" frees.json
	holds "nobody of that name: no row" nobody.json '$last.rows == [] and $last.ledger.recorded == 0'
	check_threads
	check_limit
	evidence sends.json sends.err
	holds "socket buffers of datagrams, none missing" sends.json '
		([$last.rows[] | select((.key.cache == "skbuff_head_cache") and (.key.caller | startswith("__alloc_skb+"))).count] | add) as $n
		| $n <= $sends and $n >= $sends - ($last.ledger.missed // 0)' --argjson sends "$(cat sends)"
	holds "by default rows are of a cache and a caller, and of a path where functions are traced" sends.json '
		[$last.rows[].key | keys] | unique | . == [["cache", "caller", "path"]] or . == [["cache", "caller"]]'
	accounted "of socket buffers" sends.json
	holds "intervals add up" intervals.json '([$all[].rows[].count] | add) == $last.ledger.recorded and $last.ledger.recorded >= 2 * 5003'
	check_table
}

check_table() {
	evidence table.json table.err path.err
	like "without functions, the report says that they are needed" "$(cat table.json)" 'latency: not measured, .* it needs kernel'
	like "... and rows are of a cache and a caller" "$(head -n 1 table.json)" '^CACHE +CALLER +CALLS +ASKED +GIVEN +RATE/S +ERRORS$'
	like "the path is refused by the tracepoints" "$(cat path.status) $(cat path.err)" '^2 .*raw_tracepoint.*path'
}
