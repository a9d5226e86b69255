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
		# shellcheck disable=SC2046 # a word, or none
		traced "parts-$mech" "--mechanism=$mech" $(frees_of "$mech") -c 's-*' -b comm,cache,caller,asked,given,node"$(path_of "$mech")" -- slabs
	done
	[ -z "$mechanism" ] || return
	# Of those that attach fast, if there is one.
	fast=
	! grep -q '^0$' parts-kprobe.session.status 2>/dev/null || fast=--mechanism=kprobe.session
	run_threads
	run_together
	if everything && ! grep -q 'QEMU TCG' /proc/cpuinfo; then
		# shellcheck disable=SC2016 # the inner shell expands it
		traced sends -c sends -b comm,cache,caller -- sh -c 'WORKLOAD_JSON=others.truth sends "$0" & sends "$0"; wait' 127.0.0.1,239999,100,udp
	fi
	traced intervals --mechanism=raw_tracepoint -b comm 0.01 -- sh -c "slabs 1; sleep 0.05; slabs 1"
	launch table --mechanism=raw_tracepoint -- true
	finish table "$tool"
	list_names
	launch default ${fast:+"$fast"} -- true
	finish default "$tool"
	for what in '-b path' --sort=p99; do
		# shellcheck disable=SC2086 # words
		launch "refused${what%%[ =]*}" --mechanism=raw_tracepoint $what
		finish "refused${what%%[ =]*}" "$tool"
	done
}

# The same allocations as a table and as JSON, and the names of caches, as the kernel has them.
list_names() {
	for name in /sys/kernel/slab/*; do
		[ ! -L "$name" ] || echo "$(readlink "$name") ${name##*/}"
	done >links
	launch named --mechanism=raw_tracepoint -b cache -- sends 127.0.0.1,11,100
	finish named "$tool"
	traced merged --mechanism=raw_tracepoint -b cache -- sends 127.0.0.1,11,100
}

# Frees by some: more executions are missed with them.
frees_of() {
	case $1 in
	kprobe.multi | raw_tracepoint) echo --frees ;;
	esac
}

# Tracepoints do not have it.
path_of() {
	[ "$1" = raw_tracepoint ] || echo ,path
}

# Threads that allocate side by side, while packets are sent and received in interrupts.
run_threads() {
	attach threads --mechanism=raw_tracepoint -c 's-thread*' -b comm,asked
	attached
	sends 127.0.0.1,5003,100,udp ::1,1009,8000,udp >traffic.truth &
	traffic=$!
	slabs 8 >threads.truth
	wait "$traffic"
	detach threads
}

# Under one tool, each by its name: connections, which the kernel takes in softirqs; large objects; a memory cgroup at
# its limit.
run_together() {
	attach together ${fast:+"$fast"} -c 's-limit,s-vectors,accepts,client,opens,reads,ksoftirqd/*' -b comm,cgroup,cache,caller,asked,context
	attached
	accepts 127.0.0.1 127.0.0.1 53 1 >connections.truth
	trace=/sys/kernel/tracing/trace_pipe
	if [ -r "$trace" ]; then
		# shellcheck disable=SC2016 # the inner shell expands it
		sh -c 'printf opens >/proc/$$/comm; for _ in $(seq 23); do exec 3<"$0"; exec 3<&-; done' "$trace" && : >opened
	fi
	# shellcheck disable=SC2016 # the inner shell expands it
	sh -c 'printf reads >/proc/$$/comm; for _ in $(seq 29); do read -r _ </proc/uptime; done'
	slabs vectors
	limit_of_cgroup
	detach together
}

# It has no process that may be killed: allocations fail.
limit_of_cgroup() {
	top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	echo +memory >"$top/cgroup.subtree_control" || return
	cgroups=$top/plumb-slab-$$
	mkdir "$cgroups" || return
	echo 2M >"$cgroups/memory.max" || return
	start limit slabs limit
	echo -1000 >"/proc/$pid/oom_score_adj"
	echo "$pid" >"$cgroups/cgroup.procs"
	echo "/plumb-slab-$$" >cgroup
	open_gate limit go
	await 120 [ -e limit.gates/done ]
	open_gate limit leave
	finish limit "$pid"
}

# The sum of the counts of the rows that match.  An allocation in an interrupt on top of the program is missed, which the
# report says: about(N) is true for N, and for as many fewer as there were.
matching='def matching(f): [$last.rows[] | select(.key | f).count] | add // 0;
	def about($n): . <= $n and . >= $n - ($last.ledger.missed // 0);'

# A report is consistent, and no more calls are lost than executions of a program that the kernel skipped.
accounted() {
	whole "$1" "$2" || return 0
	holds "no more is lost than was missed, $1" "$2" '$last.ledger | .no_state == 0 and .too_deep == 0 and .unpaired == 0 and .dropped == 0
		and (.missed == null or .lost <= .missed) and (.missed == null) == (.lost == null)'
}

check_parts() {
	local file='.cache == "filp" and (.op // "alloc") == "alloc"' dentry='.cache == "dentry" and (.op // "alloc") == "alloc"'
	forced "parts-$1" "$1" || return
	# Up to 6.0 the tracepoint does not have the cache.
	if [[ $1 == raw_tracepoint && $(cat kernel) == 5.10.* ]]; then
		file='(.caller | startswith("__alloc_file+"))' dentry='(.caller | startswith("__d_alloc+"))'
	fi
	evidence "parts-$1.json" "parts-$1.truth"
	holds "$1: as many objects of a cache as descriptors were opened" "parts-$1.json" "$matching
		(matching(.comm == \"s-files\" and $file) | about(1009)) and (matching(.comm == \"s-files\" and $dentry) | about(1009))"
	holds "$1: as many buffers as messages, with the size asked for and that given" "parts-$1.json" "$matching
		(matching(.comm == \"s-messages\" and .asked == 1048 and .given == 2048 and (.cache | test(\"^(kmalloc|kmalloc-cg|msg_msg)-2k$\"))) | about(503))
		and ([\$last.rows[] | select(.key.asked == 1048)] | map(.asked) == map(.count * 1048) and map(.given) == map(.count * 2048))"
	holds "$1: the caller is the function that allocates" "parts-$1.json" "
		([\$last.rows[] | select(.key | .comm == \"s-files\" and $file).key.caller] | unique
			| length == 1 and (.[0] | test(\"^(__alloc_file|alloc_empty_file)[+]0x[0-9a-f]+$\")))"'
		and ([$last.rows[] | select(.key.asked == 1048).key.caller] | unique
			| length == 1 and (.[0] | test("^(load_msg|alloc_msg)[+]0x[0-9a-f]+$")))'
	holds "$1: a filter by names" "parts-$1.json" '[$last.rows[].key.comm] | unique - ["s-closes"] == ["s-files", "s-messages"]'
	accounted "$1" "parts-$1.json"
	holds "$1: no node is asked for" "parts-$1.json" 'all($last.rows[] | select(.key.cache == "filp"); .key.node == null)'
	[[ -z $(frees_of "$1") ]] || check_frees "$1"
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
		| \$truth[0].calls[0].slabs as \$slabs | (\$last.ledger.missed // 0) as \$missed | \$slabs == 0
		or (\$new >= (if \$sheaves then 1 else \$slabs - 2 - \$missed end) and \$new <= \$slabs + 2)" \
		--slurpfile truth "parts-$1.truth" --argjson sheaves "$sheaves"
	holds "$1: ... which take longer than the fast path" "parts-$1.json" '
		[$last.rows[] | select(.key.comm == "s-files" and .key.cache == "filp")] | map({(.key.path): .percentiles["50"]}) | add
		| .fast < .["new-slab"]'
	holds "$1: parts of the slow path are no rows of their own" "parts-$1.json" '$last.ledger | .filtered_at_exit > 0'
}

check_frees() {
	holds "$1: frees, of a cache, and by kfree" "parts-$1.json" "$matching
		(matching(.comm == \"s-closes\" and .op == \"free\" and .cache == \"dentry\") | about(1009) or \$unnamed)
		and (matching(.comm == \"s-closes\" and .op == \"kfree\" and (.caller | startswith(\"eventfd_\"))) | about(1009))" \
		--argjson unnamed "$([[ $1 == raw_tracepoint && $(cat kernel) == 5.10.* ]] && echo true || echo false)"
	holds "... whose cache the kernel tells from 6.13 on" "parts-$1.json" '
		[$last.rows[] | select(.key | .op == "kfree" and (.caller | startswith("eventfd_"))).key.cache] | unique
		| if $named then . - ["-"] | length > 0 and all(.[]; test("^kmalloc-(.+-)?64$")) else . == ["-"] end' --argjson named "$(names_caches)"
}

check_threads() {
	evidence threads.json threads.err threads.truth
	accounted "of threads" threads.json
	holds "each of 8 threads has its allocations, beside network traffic" threads.json "$matching
		all(\$truth[0].calls[]; . as \$t | matching(.comm == \$t.comm and .asked == 1048) | about(5003))" --slurpfile truth threads.truth
	holds "... and all together lack no more than was missed" threads.json "$matching
		matching(.asked == 1048) | about(\$truth[0].calls | map(.count) | add)" --slurpfile truth threads.truth
}

check_together() {
	evidence together.json together.err connections.truth limit.truth
	accounted "of workloads one after the other" together.json
	check_contexts
	check_large
	check_virtual
	check_vectors
	check_limit
}

names_caches() {
	case $(cat kernel) in
	5.* | 6.[0-9].* | 6.1[0-2].*) echo false ;;
	*) echo true ;;
	esac
}

# Without names of the kernel's variables it is not known on x86, as on the machine that the project is built on.
check_contexts() {
	local known=true
	! grep -q EPERM parts-fentry.err || known=false
	holds "a connection is taken in a softirq, and descriptors are opened by a thread" together.json "$matching
		def contexts(f): [\$last.rows[].key | select(f).context] | unique;
		(matching(.caller | startswith(\"inet_reqsk_alloc+\")) | about(53))
		and contexts(.caller | startswith(\"inet_reqsk_alloc+\")) == [if \$known then \"softirq\" else \"-\" end]
		and contexts(.cache == \"filp\") == [if \$known then \"thread\" else \"-\" end]" \
		--argjson known "$known"
}

# From 6.7 on, what the kernel allocates for it is larger than all caches.
check_large() {
	if [[ ! -e opened ]]; then
		skip "large objects" "there is no tracefs"
		return
	fi
	holds "large objects, as many as trace_pipe was opened" together.json "$matching
		matching(.comm == \"opens\" and .cache == \"[pages]\" and .asked > 8192 and (.caller | startswith(\"tracing_open_pipe+\"))) | about(23)"
}

# Its buffer is by kvmalloc(), which up to 6.14 calls a function of kmalloc().
check_virtual() {
	holds "objects by kvmalloc(), as many as files were read that the kernel prints" together.json "$matching
		matching(.comm == \"reads\" and .asked == 4096 and (.cache | test(\"^kmalloc-(.+-)?4k$\"))
			and (.caller | test(\"^(seq_read_iter|__kvmalloc_node(_noprof)?|kvmalloc_node)[+]\"))) | about(29)"
}

# From 6.10 on the kernel has two events of each, one by a function of the allocator.
check_vectors() {
	holds "large objects of a size that is not constant count once each" together.json "$matching
		def vectors: .comm == \"s-vectors\" and .asked == 16384;
		matching(vectors) | about(31)"
}

check_limit() {
	if [[ ! -e cgroup ]]; then
		skip "allocations at the limit of a memory cgroup" "there is no memory controller in the v2 hierarchy"
		return
	fi
	holds "at the limit of a memory cgroup, as many allocations fail as calls with ENOMEM" together.json "$matching
		\$truth[0].calls[0].errors == 11 and ([\$last.rows[] | select(.key.comm == \"s-limit\").errors] | add | about(11))" \
		--slurpfile truth limit.truth
	if [[ $(jq -r .mechanism.name together.json) != raw_tracepoint ]]; then
		holds "... a stall, for memory is reclaimed, on any path" together.json '[$last.rows[] | select(.key.comm == "s-limit").max] | max > 1000000'
	fi
	holds "... and all are of that cgroup" together.json '[$last.rows[].key | select(.comm == "s-limit").cgroup] | unique == [$cgroup]' --arg cgroup "$(cat cgroup)"
}

check() {
	local mech
	must=raw_tracepoint
	for mech in $(mechanisms); do
		check_parts "$mech"
	done
	[[ -z $mechanism ]] || return 0
	check_parts raw_tracepoint
	check_threads
	check_together
	check_sends
	check_merged
	holds "intervals add up" intervals.json '($all | length) > 1 and ([$all[].rows[].count] | add) == $last.ledger.recorded
		and ([$all[].rows[] | select(.key.comm | startswith("s-thread")).count] | add) >= 2 * 5003'
	check_table
}

# From as many threads as the machine that the project is built on has CPUs; how fast depends on what else it does.
check_sends() {
	everything || return 0
	if [[ ! -e sends.json ]]; then
		skip "socket buffers of datagrams at a high rate, none missing" "an emulated machine is slow"
		return
	fi
	evidence sends.json sends.err sends.truth others.truth
	echo "# $(jq -s '[.[].calls[0] | .count * 1e9 / .sum] | add | floor' sends.truth others.truth) datagrams a second"
	holds "socket buffers of datagrams at a high rate, none missing" sends.json "$matching
		matching(.cache == \"skbuff_head_cache\" and (.caller | startswith(\"__alloc_skb+\"))) | about(2 * 239999)"
	accounted "of socket buffers" sends.json
}

check_merged() {
	if [[ ! -s links ]]; then
		skip "merged caches" "the kernel has merged none"
		return
	fi
	evidence named.json merged.json links
	claim "a cache has the number of names that the kernel has merged with its own" awk '
		NR == FNR { of[$2] = $1; n[$1]++; next }
		/^$/ { exit }
		FNR > 1 {
			name = $1
			more = sub(/[+][0-9]+$/, "", name) ? substr($1, length(name) + 2) : 0
			rows++
			marked += more > 0
			if (more != (name in of ? n[of[name]] - 1 : 0)) wrong++
		}
		END { exit wrong || !rows || !marked }' links named.json
	holds "... and JSON has them" merged.json '
		($links | split("\n") | map(split(" ") | select(length == 2))) as $links
		| all($last.rows[]; .key.cache as $name | ($links[] | select(.[1] == $name) | .[0]) // "" | . as $folder
			| ($links | map(select(.[0] == $folder and .[1] != $name) | .[1]) | sort) as $others
			| $others == ($last.rows[] | select(.key.cache == $name).merged | sort))
		and any($last.rows[]; .merged | length > 0)' --arg links "$(cat links)"
}

check_table() {
	evidence table.json default.json table.err refused-b.err refused--sort.err
	like "without functions, the report says that they are needed" "$(cat table.json)" 'latency: not measured, .* it needs kernel'
	like "... and rows are of a cache and a caller" "$(head -n 1 table.json)" '^CACHE +CALLER +CALLS +ASKED +GIVEN +RATE/S +SHARE +ERRORS$'
	like "... and of a path where functions are traced" "$(head -n 1 default.json)" '^CACHE +CALLER +(CALLS.* RATE/S +SHARE +ERRORS|PATH +CALLS +ASKED +GIVEN .*RATE/S .*P50 .*MAX)$'
	like "the path is refused by the tracepoints" "$(cat refused-b.status) $(cat refused-b.err)" '^2 .*raw_tracepoint.*path'
	like "... and an order by latency" "$(cat refused--sort.status) $(cat refused--sort.err)" '^2 .*raw_tracepoint.*latency'
}
