# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# block-io-latency: disks of a known delay, partitions, disks that are made of others, SCSI disks that
# fail, merged and polled requests, more requests than the tool can hold.  One tool traces nearly all of
# it, since on some kernels it takes seconds to start.

# shellcheck source=lib/disks.sh
. "$truth/lib/disks.sh"
# shellcheck source=lib/disks-outside.sh
. "$truth/lib/disks-outside.sh"

# ready NAME ARG... - a workload on the disk NAME
ready() {
	ready=$1
	shift
	start_on "$(cat "$ready.disk")" "$ready" "$@"
	workloads="$workloads $ready"
}

delayed() {
	for delay in 100000 2000000 20000000; do
		null_blk "null-$delay" "$delay" 64 && ready "null-$delay" 4096 2 23 11 0
	done
	null_blk at-once 0 64 && start_on "$disk" at-once 4096 8 1009 0 0
	# A timer's interrupt completes requests while a thread does.
	null_blk by-thread 0 64 && start_on "$disk" by-thread 4096 2 503 0 0
	null_blk by-timer 100000 64 && start_on "$disk" by-timer 4096 4 101 0 0
	# One request at a time in the device; others that made theirs meanwhile dispatch it.
	load mq-deadline
	null_blk narrow 20000000 1 || return
	echo mq-deadline >"/sys/block/$disk/queue/scheduler" && ready narrow 4096 8 5 3 0
}

# Polled requests, and what kernels lack that cannot poll.
polled() {
	if null_blk polling 100000 64 poll_queues=1; then
		ready polling 4096 1 17 11 0 polled
	else
		echo "null_blk has no queue that is polled" >polling.skip
	fi
}

# Disks of the device mapper: one passes on at once, one 40 ms later, from another thread, and one what a
# third thread has encrypted.
mappers() {
	for module in dm-mod dm-delay dm-crypt; do
		load "$module"
	done
	for name in linear late-dm crypt; do
		null_blk "$name-below" 100000 64 || return
	done
	mapped linear "linear /dev/$(cat linear-below.disk) 4096" && ready linear 4096 1 13 0 0
	mapped late-dm "delay /dev/$(cat late-dm-below.disk) 0 40" && ready late-dm 4096 1 7 0 0
	mapped crypt "crypt aes-cbc-plain64 $(printf '%064d' 7) 0 /dev/$(cat crypt-below.disk) 0" && ready crypt 4096 1 5 11 0
	mapped held error && mapper held suspend
}

arrays() {
	for module in md-mod raid0 raid1; do
		load "$module"
	done
	for name in stripe-0 stripe-1 mirror-0 mirror-1; do
		null_blk "$name" 100000 64 || return
	done
	array md_stripes raid0 "$(cat stripe-0.disk)" "$(cat stripe-1.disk)" && ready md_stripes 4096 1 26 0 0
	array md_mirror raid1 "$(cat mirror-0.disk)" "$(cat mirror-1.disk)" && ready md_mirror 4096 1 0 11 0
}

# Files on a disk, and a loop device whose writes wait while the file system is frozen.
files() {
	null_blk formatted 100000 64 memory_backed=1 size=16 || return
	mkdir mounted
	mke2fs "/dev/$disk" >/dev/null 2>&1 && mount -t ext4 "/dev/$disk" mounted || return
	dd if=/dev/zero of=mounted/file bs=65536 count=16 2>/dev/null
	dd if=/dev/zero of=mounted/loop bs=65536 count=16 2>/dev/null
	sync
	start in-file blocks mounted/file 4096 2 13 11 0
	echo "$disk" >in-file.disk
	workloads="$workloads in-file"
	load loop
	losetup /dev/loop0 mounted/loop && start_on loop0 late 4096 3 0 1 0
	fsfreeze --freeze mounted
}

scsi_disk() {
	for module in scsi_common scsi_mod sd_mod; do
		load "$module"
	done
	load scsi_debug dev_size_mb=16 delay=0 ndelay=100000 lbpu=1 opts=2
	sd=$(grep -l scsi_debug /sys/block/sd*/device/model 2>/dev/null | cut -d / -f 4)
	await 10 [ -b "/dev/$sd" ] || return
	echo 1 >"/sys/block/$sd/device/timeout"
	echo "$sd" >scsi.disk
	start_on "$sd" timeout 4096 1 3 0 0
}

# More reads than the tool has room for, then writes that do not end before it does.
beyond() {
	attach ends -b op -c disks,blocks-0,blocks-1,blocks-2
	attached
	disks adjacent "/dev/$(cat held.disk)" 33013 1 2>beyond.out &
	reads=$!
	await 60 grep -q submitted beyond.out
	mapper held resume
	wait "$reads"
	open_gate late go
	await 30 are_held loop0 3
}

# What a process of a cgroup wrote, and a thread of the kernel writes back; reads at 1 MB/s in another cgroup.
in_cgroups() {
	null_blk throttled 0 64 && null_blk written 100000 64 || return
	top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	echo "+io +memory" >"$top/cgroup.subtree_control" || return
	cgroups="$top/plumb-block-$$ $top/plumb-slow-$$"
	# shellcheck disable=SC2086 # words
	mkdir $cgroups || return
	ready throttled 65536 1 16 0 0
	echo "$pid" >"${cgroups#* }/cgroup.procs"
	echo "$(cat "/sys/block/$(cat throttled.disk)/dev") rbps=1048576" >"${cgroups#* }/io.max"
	echo "/plumb-block-$$" >cgroup
	echo 10 >/proc/sys/vm/dirty_writeback_centisecs
	echo 10 >/proc/sys/vm/dirty_expire_centisecs
	exec 3<>"/dev/$disk" # the last to close it writes back
}

# A disk with an unreadable place, sectors 4660 to 4669, then one that is busy, and one that does not answer.
on_scsi() {
	sd=$(cat scsi.disk) set=/sys/bus/pseudo/drivers/scsi_debug
	disks command "/dev/$sd" 5
	cat "/sys/block/$sd/device/ioerr_cnt" >scsi.before
	disks at "/dev/$sd" 4656 16 2>unreadable.out
	for _ in 1 2 3 4 5; do
		disks at "/dev/$sd" 4660 8 2>>unreadable.out
	done
	cat "/sys/block/$sd/device/ioerr_cnt" >scsi.after
	disks at "/dev/$sd" 4640 16
	blkdiscard "/dev/$sd"
	echo 3 >"$set/every_nth"
	echo 0x8000 >"$set/opts"
	dd "if=/dev/$sd" of=/dev/null bs=4096 count=23 iflag=direct 2>/dev/null
	echo 1 >"$set/every_nth"
	echo 4 >"$set/opts"
	open_gate timeout go
	await 30 are_held "$sd" 1
	sleep 0.1 # until the driver has looked at it
	echo 0 >"$set/opts"
	await 30 [ -e timeout.gates/done ]
	end timeout
}

go_all() {
	for name in $workloads; do
		open_gate "$name" go
	done
	[ ! -e cgroup ] || sh -c 'echo $$ >"$0/cgroup.procs"; exec dd if=/dev/zero of="$1" bs=65536 count=64' \
		"${cgroups% *}" "/dev/$(cat written.disk)"
	parted=$(cat parted.disk)
	dd "if=/dev/${parted}p1" of=/dev/null bs=4096 count=7 iflag=direct 2>/dev/null
	dd "if=/dev/${parted}p2" of=/dev/null bs=4096 count=11 iflag=direct 2>/dev/null
	[ ! -e md_stripes.disk ] || dd if=/dev/md_stripes of=/dev/null bs=65536 count=1 iflag=direct 2>/dev/null
	# Eight reads that become one request.
	disks adjacent "/dev/$(cat merged.disk)" 8 13
	[ ! -e scsi.disk ] || on_scsi
	[ -e journal.skip ] || run_journal
	[ ! -e cgroup ] || await 30 sectors "$(cat written.disk)" 8192
	for name in $workloads; do
		await 120 [ -e "$name.gates/done" ]
	done
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=block-io-latency quick=--no-calibrate n_disks=0 workloads=
	[ -e /modules/null_blk.ko ] || {
		echo "no null_blk" >null.skip
		return
	}
	load configfs
	load null_blk nr_devices=0
	mount -t configfs configfs /sys/kernel/config
	delayed
	polled
	mappers
	arrays
	null_blk parted 100000 64 && disks partition "/dev/$disk" 1 2048 2048 && disks partition "/dev/$disk" 2 8192 2048
	null_blk merged 2000000 64
	in_cgroups
	files
	virtio_disks
	[ -e virtio.skip ] || fio_disks
	journal
	scsi_disk
	beyond
	attach all --verify --max-keys=1024 -b disk,part,op,flags,errno,comm,tid,cgroup,stage
	attached
	cat /sys/block/*/stat >before
	detach ends
	fsfreeze --unfreeze mounted
	await 30 [ -e late.gates/done ]
	go_to_done at-once
	[ -e virtio.skip ] || run_virtio
	go_all
	cat /sys/block/*/stat >after
	open_gate by-timer go
	go_to_done by-thread
	await 60 [ -e by-timer.gates/done ]
	detach all
	for name in late at-once by-thread by-timer vda vdb $workloads; do
		[ ! -e "$name.pid" ] || end "$name"
	done
	exec 3>&-
}

# rows of a stage, and how many requests they are
rows='def rows(stage; filter): [$last.rows[] | select(.key.stage == stage) | select(filter)];
	def whole(filter): rows("whole"; filter);
	def calls(filter): whole(filter) | map(.count) | add // 0; '

# of_all CLAIM FILTER [NAME [NAME]] - what holds of all.json, with the disks of two names as $a and $b
of_all() {
	holds "$1" all.json "$rows$2" --arg a "$(cat "${3-none}.disk" 2>/dev/null)" --arg b "$(cat "${4-none}.disk" 2>/dev/null)" \
		--slurpfile fio "$([ -e fio.json ] && echo fio.json || echo /dev/null)"
}

# disk_is_true CLAIM NAME - what the workload NAME did on its disk
disk_is_true() {
	local disk
	disk=$(cat "$2.disk")
	jq -c --arg disk "$disk" --slurpfile truth "$2.truth" '[$truth[0].calls[].tid] as $tids | .rows |= map(select(
		.key.stage == "whole" and .key.disk == $disk and (.key.tid | IN($tids[]))))' all.json >"$2.json"
	as_truth "$1: each request counts once" "$2.json" "$2.truth" op,tid
	within "... and takes" "$2.json" "$2.truth"
}

check_delays() {
	local delay
	for delay in 100000 2000000 20000000; do
		disk_is_true "a disk of $delay ns" "null-$delay"
		of_all "... and at least $delay ns of it in the device" '
			rows("device"; .key.disk == $a) | length == 4
			and all(.[]; .min >= '"$delay"') and (map(.min) | min) < '"$delay"' + 3000000' "null-$delay"
	done
	disk_is_true "requests that are complete when they are submitted" at-once
	if [ -e narrow.truth ]; then
		disk_is_true "requests that other threads dispatch" narrow
		# There are two places for requests: some wait for one, the others in the scheduler.
		of_all "of eight that share a device which takes one at a time, each waits for another" '
			def sum(stage): rows(stage; .key.disk == $a) | map(.sum) | add;
			sum("before") + sum("queued") >= 64 * 5 * 20000000 and sum("before") >= 64 * 3 * 20000000
			and (rows("device"; .key.disk == $a) | all(.[]; .min >= 20000000) and (map(.min) | min) < 32000000)' narrow
	else
		skip "requests that wait in a scheduler" "there is no mq-deadline"
	fi
	if [ -e polling.skip ]; then
		skip "polled requests" "$(cat polling.skip)"
	else
		disk_is_true "polled requests" polling
		of_all "... say so" 'whole(.key.disk == $a) | length == 2 and all(.[]; .key.flags | test("polled"))' polling
	fi
}

check_ends() {
	evidence ends.json ends.err late.truth
	# A few slots are only for those whose address leads there.
	holds "requests beyond those that can be held are lost, and said to be" ends.json '$last.ledger
		| all(33013 - .recorded - .no_state, (.lost // .lost_at_least) - .no_state; . >= 0 and . <= $last.ledger.missed)
		and (32768 - .recorded | . >= 0 and . <= 16 + $last.ledger.missed)'
	holds "what has not ended is listed, with its thread" ends.json '
		$last.ledger.in_flight == 3 and ([$last.in_flight[].tid] | sort) == ([$truth[0].calls[].tid] | sort)
		and all($last.in_flight[]; .age_ns > 0 and (.request | test("^loop0 write 4096 @ ")))' --slurpfile truth late.truth
	evidence all.json all.err
	of_all "what began before the trace is unmatched, and nothing else is" \
		'$last.ledger.unmatched == 3 and calls(.key.disk == $a) == 0' late
}

check_mappers() {
	local name
	if [ ! -e linear.truth ]; then
		skip "disks of the device mapper" "there is no device mapper"
		return
	fi
	for name in linear late-dm crypt; do
		disk_is_true "a mapped disk, $name" "$name"
		evidence all.json all.err
		of_all "... the disk below has as many requests, which take less" '
			def sum(disk; member): whole(.key.disk == disk) | map(member) | add;
			sum($a; .count) == sum($b; .count) and sum($a; .sum) > sum($b; .sum)' "$name" "$name-below"
	done
	# The kernel counts the delay in ticks, and may be late to count.
	of_all "a delay of 40 ms is the mapped disk's, the request below another thread's" '
		(whole(.key.disk == $a) | map(.min) | min) >= 20000000 and calls(.key.disk == $b and (.key.comm | test("^blocks"))) == 0
		and (whole(.key.disk == $b) | map(.min) | min) < 20000000' late-dm late-dm-below
	of_all "what is encrypted before is written by another thread" \
		'calls(.key.disk == $b and .key.op == "write" and (.key.comm | test("^blocks") | not)) == 11' crypt crypt-below
}

check_arrays() {
	if [ ! -e md_stripes.truth ]; then
		skip "RAID" "there is none"
		return
	fi
	disk_is_true "striped disks" md_stripes
	evidence all.json all.err
	of_all "... each request on one of the disks" 'def own(disk): calls(.key.disk == disk and .key.comm != "dd"); own($a) == 13 and own($b) == 13' stripe-0 stripe-1
	of_all "parts of a read are as long as the read" \
		'whole(.key.disk == $a and .key.comm == "dd") | map(.bytes) | add == 65536' md_stripes
	disk_is_true "mirrored disks" md_mirror
	evidence all.json all.err
	of_all "... each write on both" 'calls(.key.disk == $a) == 11 and calls(.key.disk == $b) == 11' mirror-0 mirror-1
}

check_rest() {
	evidence all.json all.err before after
	of_all "requests of a partition are its own" '
		whole(.key.disk == $a) | map([.key.part, .count, .bytes]) | sort == [[$a + "p1", 7, 7 * 4096], [$a + "p2", 11, 11 * 4096]]' parted
	of_all "bios that end without a request are those of disks that are made of others" '
		$last.passed == calls(.key.disk | test("^(dm|md)"))'
	of_all "reads that are merged are one request, of all their bytes" '
		whole(.key.disk == $a) | map([.key.op, .bytes]) == [["read", 8 * 13 * 4096]] and .[0].count < 8 * 13' merged
	# reads merged sectors ms writes merged
	claim "... and the kernel counts as many bios that were merged" awk -v merged="$(jq -s '.[-1].merged_bios' all.json)" \
		'NR == FNR { n -= $2 + $6; next } { n += $2 + $6 } END { exit !(n == merged && n > 0) }' before after
	if [ -e cgroup ]; then
		of_all "what is written back belongs to the cgroup that wrote it" '
			whole(.key.disk == $a) | map(select(.key.cgroup == "'"$(cat cgroup)"'" and .key.op == "write" and (.key.comm | test("^kworker"))) | .bytes)
			| add == 64 * 65536' written
		disk_is_true "reads that io.max throttles" throttled
		evidence all.json throttled.truth
		of_all "... wait before they are queued, 1 MB/s" '
			rows("before"; .key.disk == $a) | map(.sum) | add > 800000000' throttled
	else
		skip "what is written back, and throttled" "there is no io controller"
	fi
	disk_is_true "a file" in-file
}

check_scsi() {
	if [ ! -e scsi.disk ]; then
		skip "SCSI disks" "there is no scsi_debug"
		return
	fi
	evidence all.json all.err
	of_all "commands that are passed through to the driver" '
		whole(.key.disk == $a and .key.op == "driver") | map([.key.comm, .count, .bytes]) == [["disks", 5, 5 * 96]]' scsi
	of_all "requests that fail, one of them in part, fail once each, by the error of the call" '
		(whole(.key.disk == $a and .errors > 0) | map([.key.comm, .key.op, .key.errno, .count, .errors, .bytes]) | sort)
			== [range(5) | ["disks", "read", "ENODATA", 1, 1, 4096]] + [["disks", "read", "ENODATA", 1, 1, 8192]]
		and $last.partial > 0' scsi
	is "... which returned the same" "$(grep -cx 'disks: -1 bytes, errno 61' unreadable.out)" 6
	is "... and the kernel counts as many errors" "$(($(cat scsi.after) - $(cat scsi.before)))" 6
	of_all "others of the disk succeed" '
		whole(.key.disk == $a and .key.comm == "disks" and .key.op == "read" and .key.errno == "0") | map([.count, .bytes]) == [[1, 8192]]' scsi
	of_all "a discard is an operation of its own" '
		whole(.key.disk == $a and .key.comm == "blkdiscard") | map([.key.op, .bytes]) == [["discard", 16777216]]' scsi
	of_all "requests that a busy driver gives back are queued again, and count once" '
		calls(.key.disk == $a and .key.comm == "dd") == 23 and $last.requeued > 0
		and (rows("queued"; .key.disk == $a and .key.comm == "dd") | map(.max) | max) > 0' scsi
	disk_is_true "a request that the disk did not answer, and that was made again a second later" timeout
	evidence all.json all.err
	of_all "... was queued until then" '
		rows("queued"; .key.disk == $a and .key.comm == "blocks-0") | map(.max) | max > 1000000000' scsi
}

check() {
	if [ -e null.skip ]; then
		skip "disks" "$(cat null.skip)"
		return
	fi
	check_ends
	check_delays
	check_mappers
	check_arrays
	check_rest
	check_scsi
	check_outside
	disk_is_true "requests that a thread completes, interrupted by others" by-thread
	disk_is_true "requests that an interrupt completes meanwhile" by-timer
	evidence all.json all.err
	# On 7.3 the command by which scsi_debug aborts another one ends without an event.
	of_all "nothing is lost, or left" '($last.ledger | (.lost // .lost_at_least) == 0) and $last.ledger.missed == 0
		and all($last.in_flight[]; .request | test("^- driver "))'
	of_all "--verify: the statistics of the disks count as many" '$last.witness
		| .missed == 0 and .more == 0 and .least > 10000 and (.seen - .least | fabs) < 30'
}
