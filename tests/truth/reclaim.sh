# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# reclaim-latency: as often and as long as the kernel accounts to the threads, and as many pages; whom it kills.

# shellcheck source=lib/limits.sh
. "$truth/lib/limits.sh"
# shellcheck source=lib/disks.sh
. "$truth/lib/disks.sh"

emulated() {
	grep -q 'QEMU TCG' /proc/cpuinfo
}

# A file of 256 MB that takes no disk to read: $cold.
make_file() {
	if emulated; then
		load configfs
		load null_blk nr_devices=0
		mount -t configfs configfs /sys/kernel/config 2>/dev/null
		null_blk file 0 64 size=8192 && cold=/dev/$disk
	else
		truncate -s 256M sparse.data && cold=$PWD/sparse.data
	fi
}

# within NAME MB - a cgroup that may have so much memory, by either version
within() {
	limited "$1" "memory.max=$2M" || limited "$1" "memory.limit_in_bytes=$2M"
}

# events NAME WHEN - what the kernel has counted of the machine, and of the cgroup, if there is one
events() {
	cat /proc/vmstat >"$1.$2"
	[ -z "$limited" ] || cat "$limited/memory.stat" "$limited/memory.events" "$limited/memory.oom_control" >"$1.cgroup.$2" 2>/dev/null
}

# play NAME - the workload from its beginning to its end, with the counters before and after
play() {
	attached
	events "$1" before
	open_gate "$1" go
	await 120 [ -e "$1.gates/done" ]
	events "$1" after
}

over() {
	open_gate "$1" end
	finish "$1" "$(cat "$1.pid")"
}

# threads_in NAME MB THREADS - they read the file, in a cgroup that has not that much memory
threads_in() {
	start "$1" reclaims read "$cold" "$2" "$3"
	within "$1" 16 && echo "$pid" >"$limited/cgroup.procs" || return
	attach "in-$1" -p "$pid" -b tid,kind,order,gfp
}

# A machine that has not as much memory, either. Its reserves are small, so that kswapd is not always in time. The
# file stays open, and in memory, until huge pages have been made of it.
whole_machine() {
	limited=
	echo 0 >/proc/sys/vm/watermark_boost_factor
	echo 1 >/proc/sys/vm/watermark_scale_factor
	echo 256 >/proc/sys/vm/min_free_kbytes
	start machine reclaims read "$cold" 512 4
	attach all -b kind,pid
	attach huge -b kind,order,gfp # before there is no memory for it
	attached
	events huge before
	play machine
	detach all
	echo 300 >/proc/sys/vm/nr_hugepages
	events huge after
	detach huge
	echo 0 >/proc/sys/vm/nr_hugepages
	over machine
	start compact reclaims compact 23
	attach compacted -p "$pid" -b comm,kind,order,gfp
	play compact
	detach compacted
	over compact
	awk '$1 == "present" && $2 > 0 { n++ } END { print n }' /proc/zoneinfo >zones
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=reclaim-latency quick=--no-calibrate
	uname -r >kernel
	make_file || return
	# New threads have it accounted to them, from 5.14 on only then.
	accounted=$(cat /proc/sys/kernel/task_delayacct 2>/dev/null)
	[ "$accounted" != 0 ] || echo 1 >/proc/sys/kernel/task_delayacct
	if threads_in one 64 1; then
		attach by-name -c reclaims -b comm,kind
		attach nobody -c no-such-name
		play one
		detach in-one by-name nobody
	fi
	over one
	if threads_in eight 24 8; then
		play eight
		detach in-eight
	fi
	over eight
	start kill reclaims kill 64
	if within kill 16 && echo "$pid" >"$limited/cgroup.procs"; then
		attach kills -p "$pid" -b comm
		attach others -p $$
		attach all-kills -b comm
		play kill
		detach kills others all-kills
	fi
	over kill
	! emulated || whole_machine
	[ "$accounted" != 0 ] || echo 0 >/proc/sys/kernel/task_delayacct
	rm -f sparse.data
	traced none -d 0.3 -c no-such-name
}

# grown COUNTER NAME - by how much it grew; "": there is none of that name
grown() {
	awk -v name="$1" '$1 == name { n[FILENAME] += $2; seen = 1 } END { if (seen) print n[ARGV[2]] - n[ARGV[1]] }' "$2.before" "$2.after"
}

check_readers() {
	local file=in-$1.json pages
	if [[ ! -e $file ]]; then
		skip "$1: reclaim of a memory cgroup" "no memory controller here can be used"
		return
	fi
	evidence "$file" "in-$1.err" "$1.truth"
	holds "$1: all stalls are in memcg reclaim, of single pages, order and flags known" "$file" \
		'($last.rows | length) > 0 and all($last.rows[].key; .kind == "memcg" and .order == 0 and (.gfp | test("GFP_")))'
	if [[ $(jq '.calls[0].accounted and (.calls | map(.stalls) | add > 0)' "$1.truth") == true ]]; then
		holds "$1: as often as the kernel accounts to each thread" "$file" \
			'all($truth[0].calls[]; . as $t | ([$last.rows[] | select(.key.tid == $t.tid).count] | add // 0) == $t.stalls)' \
			--slurpfile truth "$1.truth"
		# The kernel's part begins later and ends earlier; a preemption may come between.
		holds "... for at least as long, and not much longer" "$file" \
			'all($truth[0].calls[]; . as $t | ([$last.rows[] | select(.key.tid == $t.tid).sum] | add // 0)
				| . >= $t.stalled and . <= $t.stalled * 1.3 + 20000 * $t.stalls + 20000000)' --slurpfile truth "$1.truth"
	else
		skip "$1: as often and as long as the kernel accounts to each thread" "no delay accounting here"
	fi
	holds "$1: no thread stalls longer than its reads took by its own clock" "$file" \
		'all($truth[0].calls[]; . as $t | [$last.rows[] | select(.key.tid == $t.tid)]
			| (map(.sum) | add // 0) <= $t.sum and (map(.max) | max // 0) <= $t.max)' --slurpfile truth "$1.truth"
	# Each page is read once: what is in memory no more was reclaimed, except what another thread did.
	holds "$1: as many pages as were read and are in memory no more" "$file" \
		'($truth[0].calls | map(.pages) | add) as $read | $truth[0].calls[0].resident as $left
			| $last.rows | map(.pages) | add | . >= ($read - $left) * 0.98 and . <= ($read - $left) * 1.1 + 64' \
		--slurpfile truth "$1.truth"
	pages=$(grown pgsteal_direct "$1.cgroup")
	[[ ! $pages ]] || holds "$1: ... exactly those that memory.stat has" "$file" '($last.rows | map(.pages) | add) == $pages' --argjson pages "$pages"
	sound "of $1" "$file"
}

check_kills() {
	local n
	if [[ ! -e kills.json ]]; then
		skip "whom the kernel kills" "no memory controller here can be used"
		return
	fi
	evidence kills.json kills.err kill.truth all-kills.json
	is "a child of the workload was killed" "$(jq '.calls[0].signal' kill.truth)" 9
	holds "all kills: the victim, and for what" all-kills.json '$truth[0].calls[0].tid as $victim
		| $last.kills == 1 and $last.kills_lost == 0 and ($last.last_kills | length) == 1 and ($last.last_kills[0]
			| .pid == $victim and (.comm == "r-victim" or .comm == "?") and .kind == "memcg" and .order == 0
			and .time >= $last.start and .time <= $last.end)' --slurpfile truth kill.truth
	n=$(grown oom_kill kill.cgroup)
	[[ ! $n ]] || is "... as often as the cgroup's events say" "$n" 1
	holds "... of others: none" others.json '$last.kills == 0 and $last.rows == []'
	sound "of kills" all-kills.json
}

check_machine() {
	if [[ ! -e all.json ]]; then
		skip "direct reclaim and compaction" "not on a machine that others use"
		return
	fi
	local stalls pages
	evidence all.json all.err machine.truth
	stalls=$(($(awk '$1 ~ /^allocstall/ { n[FILENAME] += $2 } END { print n[ARGV[2]] - n[ARGV[1]] }' machine.before machine.after)))
	pages=$(grown pgsteal_direct machine)
	# The tool's time is a little longer than the counters'.
	holds "direct reclaim: as often as allocstall says" all.json '[$last.rows[] | select(.key.kind == "direct").count] | add // 0
		| . >= $n and . <= $n * 1.05 + 5' --argjson n "$stalls"
	holds "... as many pages as pgsteal_direct says, and those of slabs" all.json '[$last.rows[] | select(.key.kind == "direct").pages] | add // 0
		| . >= $n and . <= $n * 1.2 + 2000' --argjson n "$pages"
	if ((stalls)); then
		holds "... for no longer than the reads took" all.json '$truth[0] as $t | [$last.rows[] | select(.key.pid == $t.pid and .key.kind == "direct").sum] | add // 0
			| . <= ($t.calls | map(.sum) | add)' --slurpfile truth machine.truth
	else
		skip "direct reclaim takes time" "kswapd was fast enough"
	fi
	sound "of direct reclaim" all.json
	evidence compacted.json compacted.err compact.truth zones
	holds "compaction that is asked for: each zone each time, of no order" compacted.json '$last.rows | length == 1 and (.[0]
		| .count == 23 * $zones and .errors == 0 and .key == {"comm": "reclaims", "kind": "compaction", "order": null, "gfp": null})' \
		--argjson zones "$(cat zones)"
	holds "... within the writes" compacted.json '($last.rows | map(.sum) | add) <= $truth[0].calls[0].sum' --slurpfile truth compact.truth
	sound "of compaction" compacted.json
	evidence huge.json huge.err
	stalls=$(grown compact_stall huge)
	if ((stalls)); then
		holds "compaction for allocations of several pages: their order is known" huge.json '[$last.rows[] | select(.key.kind == "compaction" and .key.order >= 1 and .key.gfp != null).count] | add // 0 | . > 0'
	else
		holds "no compaction where compact_stall has none" huge.json '[$last.rows[] | select(.key.kind == "compaction" and .key.order != null).count] | add // 0 | . == 0'
	fi
}

check() {
	if [[ $(cat none.status) == 77 ]]; then
		skip "reclaim" "$(cat none.err)"
		return
	fi
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	check_readers one
	if [[ -e by-name.json ]]; then
		evidence by-name.json in-one.json
		holds "-c has the same" by-name.json '$last.rows == [$last.rows[0]] and $last.rows[0].key == {"comm": "reclaims", "kind": "memcg"}
			and $last.rows[0].count == ($other[-1].rows | map(.count) | add)' --slurpfile other in-one.json
		holds "no name, no rows" nobody.json '$last.rows == [] and $last.ledger.recorded == 0'
	fi
	check_readers eight
	check_kills
	check_machine
}
