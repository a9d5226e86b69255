# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Workloads that wait in a known layer, and what file-io-breakdown says of each of their threads.

# ready NAME FILE KIND SIZE COUNT THREADS HOGS - the workload; one tool will trace all of them
ready() {
	ready=$1
	shift
	start "$ready" layers "$@"
	workloads="$workloads $ready" pids=$pids${pids:+,}$pid
}

# shellcheck disable=SC2034 # by groups
# Of each thread of the workload: .t what it measured, .r its row, .p the parts of that.
each='def threads: $truth[0].calls[] | . as $t
	| [$last.rows[] | select(.key.tid == $t.tid and .key.syscall == $t.syscall and .key.fs != "proc")] | .[0] as $r
	| {$t, $r, p: $r.split};
	def ready: .preempted + .runq + .wake;
	def asleep: .device + .queue + .other_device + .other_queue + .limit + .page_cache + .file_system + .unexplained;
	def calls: [$all[] | .call // empty | select(.fs != "proc" and (.tid as $tid | any($truth[0].calls[]; .tid == $tid)))];
	def must(good): if good then true else error("\(.)") end; '

# each_thread WHAT WORKLOAD FILTER [ARG...] - what FILTER says of each of its threads
each_thread() {
	local what=$1 workload=$2 filter=$3
	shift 3
	evidence all.err "$workload.truth"
	holds "$workload: $what" all.json "$each all(threads; must($filter))" --slurpfile truth "$workload.truth" "$@"
}

counts_once() {
	each_thread "each call counts once, and takes no longer than its thread says" "$1" '
		.r.count == .t.count and .t.errors == 0 and .r.errors == 0 and .r.sum <= .t.sum and .r.max <= .t.max and .r.min <= .t.min'
	# The kernel brings schedstat up to date at its ticks.
	each_thread "... is on the CPU no longer than schedstat says" "$1" '.p.on_cpu <= .t.ran * 1.1 + 10000000 + .t.count * 200000'
}
