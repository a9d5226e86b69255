# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Page faults: as many as the kernel counts itself, for as long as the thread waited, of each kind and area.

# shellcheck source=lib/disks.sh
. "$truth/lib/disks.sh"

# Never the host's memory.
emulated() {
	grep -q 'QEMU TCG' /proc/cpuinfo
}

# Huge pages, a swap area that is read page by page, and a disk for the file that is not in memory.
make_room() {
	echo 2 >/proc/sys/vm/nr_hugepages
	load configfs
	load null_blk nr_devices=0
	mount -t configfs configfs /sys/kernel/config 2>/dev/null
	null_blk swap 100000 64 memory_backed=1 size=16 && mkswap "/dev/$disk" && swapon "/dev/$disk" || return
	echo 0 >/proc/sys/vm/page-cluster
	null_blk files 100000 64 memory_backed=1 size=16 && mke2fs "/dev/$disk" && mkdir mounted || return
	mount -t ext4 "/dev/$disk" mounted && ln -s mounted/cold.data cold.data
}

kind_cost() {
	quick='' launch cost-kind -j -d 1 -b kind,area -c no-such-name
	finish cost-kind "$tool"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=page-fault-latency quick=--no-calibrate
	uname -r >kernel
	! emulated || make_room >room 2>&1 || echo "failed: $?" >>room
	# shellcheck disable=SC2034 # by attach_each
	mechanisms="${mechanism:-perf_event $mechanisms}"
	start parts faults
	attach_each parts -p "$pid" -b comm,type,kind,area
	attach forbidden -p "$pid" -c f-forbidden
	attach named -c f-anon,f-heap -b comm
	attach types -p "$pid"
	attach nobody -c no-such-name -b comm,type,kind,area
	attached
	open_gate parts go
	await 60 [ -e parts.gates/done ]
	detach_each parts
	detach forbidden named types nobody
	open_gate parts leave
	finish parts "$pid"
	rm -f cold.data # in an emulated machine a link
	start threads faults 8
	attach_each threads -p "$pid" -b comm,tid
	attached
	open_gate threads go
	await 60 [ -e threads.gates/done ]
	detach_each threads
	open_gate threads leave
	finish threads "$pid"
	start stays faults stuck
	attach stuck -p "$pid"
	attached
	open_gate stays go
	await 20 [ -e stays.gates/done ] && sleep 0.1
	detach stuck
	open_gate stays leave
	finish stays "$pid"
	traced command -b comm,type -- faults
	traced busy -b comm -- faults 8
	if emulated && [ -w /sys/devices/system/cpu/cpu1/online ]; then
		attach hotplug --strict -b comm
		attached
		echo 0 >/sys/devices/system/cpu/cpu1/online
		echo 1 >/sys/devices/system/cpu/cpu1/online
		detach hotplug
	fi
	quick='' launch cost -j -d 1 -c no-such-name
	finish cost "$tool"
	also kind_cost
}

# The sum of the counts of the rows that match.
matching='def matching(f): [$last.rows[] | select(.key | f).count] | add // 0;'
# A fault that another thread, preempted inside the program, made this kernel miss is said to be.
missed='($last.ledger.missed // 0) > 0'

check_parts() {
	local not="" cow='.kind == "cow"'
	forced "parts-$1" "$1" || return
	evidence "parts-$1.json" parts.truth
	# Pages that a system call brings in are no exceptions: only the function sees them.
	[[ $1 != perf_event ]] || not=f-locked
	holds "$1: as many faults as the kernel counts, minor and major, in each part" "parts-$1.json" "$matching $missed or all(\$truth[0].calls[] | select(.part != \$not);
		. as \$p | matching(.comm == \$p.part and .type == \"minor\") == \$p.minor and matching(.comm == \$p.part and .type == \"major\") == \$p.major)" \
		--slurpfile truth parts.truth --arg not "$not"
	holds "$1: a page that mlock brings in is seen by the function only" "parts-$1.json" \
		"$matching $missed or matching(.comm == \"f-locked\") == (if \$not == \"\" then 37 else 0 end)" --arg not "$not"
	holds "$1: each part of the address space has its faults" "parts-$1.json" "$matching $missed or (
		matching(.comm == \"f-anon\" and .area == \"[anon]\" and .kind == \"anonymous\") == 1009
		and matching(.comm == \"f-heap\" and .area == \"[heap]\" and .kind == \"anonymous\") == 211
		and matching(.comm == \"f-stack\" and .area == \"[stack]\" and .kind == \"anonymous\") == 53
		and matching(.comm == \"f-kernel\" and .area == \"[anon]\" and .kind == \"anonymous\") == 59)"
	holds "$1: huge pages are anonymous" "parts-$1.json" "$matching $missed or
		matching(.comm == \"f-huge\" and .area == \"anon_hugepage\" and .kind == \"anonymous\") == (\$truth[0].calls[] | select(.part == \"f-huge\") | .minor)" \
		--slurpfile truth parts.truth
	holds "$1: files have their names" "parts-$1.json" "$matching $missed or (
		[\$truth[0].calls[] | select(.part == (\"f-warm\", \"f-cold\"))] | all(. as \$p |
			matching(.comm == \$p.part and .area == \$p.part[2:] + \".data\" and .kind == \"file\" and (.type == \"minor\" or .type == \"major\")) == \$p.minor + \$p.major))" \
		--slurpfile truth parts.truth
	# The function's arguments do not say whether the page was there before.
	[[ $1 == perf_event ]] || cow='(.kind == "cow" or .kind == "anonymous")'
	holds "$1: a page that is shared after a fork is copied" "parts-$1.json" \
		"$matching $missed or matching(.comm == \"f-cow\" and .area == \"[anon]\" and $cow) == 307"
	check_swap "$1"
	check_times "$1"
}

check_swap() {
	if [[ $(jq '.calls[] | select(.part == "f-swap").count' parts.truth) == 0 ]]; then
		skip "$1: pages that were swapped out" "this machine has no swap area"
		return
	fi
	holds "$1: pages that were swapped out are major faults of their kind" "parts-$1.json" "$matching $missed or (
		\$truth[0].calls[] | select(.part == \"f-swap\") | .major == 41 and .minor == 0) and
		matching(.comm == \"f-swap\" and .area == \"[anon]\" and .kind == \"swap\" and .type == \"major\") == 41" --slurpfile truth parts.truth
	holds "$1: so are pages of a file on a disk" "parts-$1.json" "$matching $missed or
		matching(.comm == \"f-cold\" and .area == \"cold.data\" and .kind == \"file\" and .type == \"major\") == 101"
}

# The function returns to the handler for the wait, which makes that call a retry.
check_times() {
	local waits='(.key.type == "minor" or .key.type == "major")'
	[[ $1 == perf_event ]] || waits='.key.type == "retry"'
	holds "$1: no fault takes longer than the touch around it" "parts-$1.json" '
		($truth[0].calls[] | select(.part == "f-anon")) as $true
		| $last.rows[] | select(.key.comm == "f-anon" and .key.area == "[anon]")
		| .sum <= $true.sum and .max <= $true.max and all(.percentiles | to_entries[]; .value <= $true.percentiles[.key] * 65 / 64)' \
		--slurpfile truth parts.truth
	if [[ $(jq '.calls[] | select(.part == "f-slow").count' parts.truth) == 0 ]]; then
		skip "$1: a fault lasts until its page has come" "this kernel has no userfaultfd"
		return
	fi
	holds "$1: a fault lasts until its page has come" "parts-$1.json" "$missed or (
		(\$truth[0].calls[] | select(.part == \"f-slow\")) as \$true
		| [\$last.rows[] | select(.key.comm == \"f-slow\" and $waits)] | map(.count) == [23] and (.[0]
			| .max <= \$true.max and .sum <= \$true.sum and .sum >= 23 * 3000000 and .min >= 3000000))" --slurpfile truth parts.truth
	[[ $1 != perf_event ]] ||
		holds "$1: ... and is one of userfaultfd" "parts-$1.json" "$matching matching(.comm == \"f-slow\" and .kind == \"userfaultfd\") == 23"
}

check_threads() {
	everything || [[ -e threads-$1.status ]] || return 0
	[[ $(cat "threads-$1.status") != 77 ]] || return
	evidence "threads-$1.json" threads.truth
	holds "$1: 8 threads of one address space, each with its faults" "threads-$1.json" "$missed or all(\$truth[0].calls[];
		. as \$t | [\$last.rows[] | select(.key.tid == \$t.tid and .key.comm == \$t.comm).count] == [\$t.minor + \$t.major])" \
		--slurpfile truth threads.truth
}

# In each part that is not of mlock, at least what the kernel counted: a command is traced from its start.
check_command() {
	holds "of a command, every fault of each part" command.json "$matching \$last.final and all(\$truth[0].calls[] | select(.part != \"f-locked\"); . as \$p
		| matching(.comm == \$p.part and .type == \"minor\") == \$p.minor and matching(.comm == \$p.part and .type == \"major\") == \$p.major)" \
		--slurpfile truth command.truth
	holds "of busy threads, every fault" busy.json "$matching all(\$truth[0].calls[]; . as \$t | matching(.comm == \$t.comm) == \$t.minor + \$t.major)" \
		--slurpfile truth busy.truth
	sound "of a command" command.json
	sound "of busy threads" busy.json
}

check() {
	local mech
	[[ $(<kernel) == *arm64* ]] || must=perf_event # its tracepoints of the exception, for parts, are those of x86
	for mech in ${mechanism:-perf_event fsession fentry kprobe.session kprobe.multi kprobe}; do
		check_parts "$mech"
		check_threads "$mech"
	done
	[[ -z $mechanism ]] || return 0
	evidence forbidden.json forbidden.err parts.truth
	# On a busy machine the kernel may meanwhile have taken a page of the stack, which then faults.
	holds "a fault that fails is abandoned, and no other is lost" forbidden.json '$last.ledger
		| .abandoned + .in_flight == 31 and (.lost // .lost_at_least) == 0 and .unmatched == 0 and .recorded < 5'
	if [[ $(jq '.calls[] | select(.part == "f-slow").count' parts.truth) == 0 ]]; then
		skip "a fault in flight is listed, with its thread and its age" "this kernel has no userfaultfd"
	else
		evidence stuck.json stuck.err
		holds "a fault in flight is listed, with its thread and its age" stuck.json '$last.ledger.in_flight == 1
			and ($last.in_flight | length == 1 and (.[0] | .pid == $pid and .tid == $pid and .age_ns > 1e8 and .age_ns < 1e11
				and .since_before == false and (.address | test("^0x[0-9a-f]+$"))))' --argjson pid "$(cat stays.pid)"
	fi
	evidence types.json parts.truth
	holds "by default rows are of a process and a type" types.json '[$last.rows[].key | keys] | unique == [["comm", "pid", "type"]]'
	holds "... and have a rate" types.json 'all($last.rows[]; .rate > 0)'
	holds "a filter by name" named.json '[$last.rows[] | {(.key.comm): .count}] | add == {"f-anon": 1009, "f-heap": 211}'
	holds "nobody of that name: no row" nobody.json '$last.rows == [] and $last.ledger.recorded == 0'
	evidence command.json command.err command.truth busy.json busy.err busy.truth
	check_command
	if [[ -e hotplug.err ]]; then
		evidence hotplug.err
		like "a CPU that was offline meanwhile is said" "$(cat hotplug.status hotplug.err)" '^3.*CPUs went online or offline'
		holds "... and in JSON" hotplug.json '$last.ledger.cpus_changed and ($last.ledger.missed == null)'
	else
		skip "a CPU that was offline meanwhile is said" "not of the host's CPUs"
	fi
	is "CPUs that stay online are not" "$(grep -c "CPUs went" types.err)" 0
	evidence cost.json cost-kind.json
	for mech in cost cost-kind; do
		everything || [[ -e $mech.json ]] || continue
		holds "what a fault costs is measured, unless something disturbs that ($mech)" $mech.json '$last.overhead_ns
			| .traced == null or ((.how | startswith("calibrated") or . == "the kernel'\''s run-time statistics") and .traced > 0 and .traced < 200000)'
	done
}
