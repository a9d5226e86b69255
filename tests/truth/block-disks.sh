# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# block-io-latency: disks of a known delay, partitions, disks that are made of others, SCSI disks that
# fail, merged and polled requests.

# shellcheck source=lib/disks.sh
. "$truth/lib/disks.sh"

delayed() {
	for delay in 100000 2000000 20000000; do
		null_blk "$delay" 64 none || return
		start_on nullb0 "null-$delay" 4096 2 43 19 0
		attach "stages-$delay" -b op,stage -p "$pid"
		attach "whole-$delay" -b op,tid -p "$pid"
		go_to_done "null-$delay"
		detach "stages-$delay" "whole-$delay"
		end "null-$delay"
	done
}

# One request at a time in the device; others that made theirs meanwhile dispatch it.
one_at_a_time() {
	null_blk 20000000 1 mq-deadline || return
	grep -qF '[mq-deadline]' /sys/block/nullb0/queue/scheduler || return
	start_on nullb0 narrow 4096 8 11 7 0
	attach narrow-stages -b tid,stage -p "$pid"
	go_to_done narrow
	detach narrow-stages
	end narrow
}

at_the_ends() {
	null_blk 7000000000 64 none || return # longer than tools take to begin and end
	start_on nullb0 late 4096 3 1 1 0
	attach open -p "$pid" -b op
	attached
	open_gate late go
	sleep 1
	attach behind -b disk,op
	attached
	detach open
	await 30 [ -e late.gates/done ]
	detach behind
	end late
}

# What a process of a cgroup wrote, and a thread of the kernel writes back.
writeback() {
	null_blk 100000 64 none || return
	top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	echo "+io +memory" >"$top/cgroup.subtree_control" || return
	cgroups=$top/plumb-block-$$
	mkdir "$cgroups" || return
	echo "/plumb-block-$$" >cgroup
	echo 10 >/proc/sys/vm/dirty_writeback_centisecs
	echo 10 >/proc/sys/vm/dirty_expire_centisecs
	attach writeback -b cgroup,comm,op
	attached
	exec 3<>/dev/nullb0 # the last to close it writes back
	sh -c 'echo $$ >"$0/cgroup.procs"; exec dd if=/dev/zero of=/dev/nullb0 bs=65536 count=64' "$cgroups"
	sleep 4
	detach writeback
	exec 3>&-
}

partitions() {
	null_blk 100000 64 none || return
	disks partition /dev/nullb0 1 2048 2048 && disks partition /dev/nullb0 2 8192 2048 || return
	attach parts -b disk,part,op -c dd
	attached
	dd if=/dev/nullb0p1 of=/dev/null bs=4096 count=7 iflag=direct 2>/dev/null
	dd if=/dev/nullb0p2 of=/dev/null bs=4096 count=11 iflag=direct 2>/dev/null
	detach parts
}

# Disks of the device mapper.  One passes on at once, the other 40 ms later, from another thread.
mapped() {
	for module in dm-mod dm-delay; do
		load "$module"
	done
	null_blk 100000 64 none || return
	if ! disks map linear 20480 linear "/dev/nullb0 4096"; then
		echo "no device mapper" >mapped.skip
		return
	fi
	traced linear -b disk,op -- dd if=/dev/dm-0 of=/dev/null bs=4096 count=13 iflag=direct
	disks unmap linear
	if disks map late 20480 delay "/dev/nullb0 0 40"; then
		attach late-dm -b disk,op,comm
		attached
		dd if=/dev/dm-0 of=/dev/null bs=4096 count=7 iflag=direct 2>/dev/null
		detach late-dm
		disks unmap late
	fi
}

# array NAME LEVEL - of two disks, without a superblock
array() {
	echo "$1" >/sys/module/md_mod/parameters/new_array || return
	md=/sys/block/$1/md
	echo none >"$md/metadata_version"
	echo "$2" >"$md/level"
	echo 2 >"$md/raid_disks"
	[ "$2" = raid1 ] || echo 4096 >"$md/chunk_size"
	for slot in 0 1; do
		cat "/sys/block/nullb$slot/dev" >"$md/new_dev"
		echo "$slot" >"$md/dev-nullb$slot/slot"
		echo 65536 >"$md/dev-nullb$slot/size"
	done
	[ "$2" = raid0 ] || echo 65536 >"$md/component_size"
	echo none >"$md/resync_start" 2>/dev/null
	echo active >"$md/array_state" && [ "$(cat "/sys/block/$1/size")" -gt 0 ]
}

arrays() {
	for module in md-mod raid0 raid1; do
		load "$module"
	done
	null_blk 100000 64 none 2 || return
	if ! array md_stripes raid0; then
		echo "no RAID" >arrays.skip
		return
	fi
	: </dev/md_stripes # the first to open it reads the partitions
	attach stripes -b disk,op
	attached
	dd if=/dev/md_stripes of=/dev/null bs=4096 count=26 iflag=direct 2>/dev/null
	detach stripes
	echo clear >/sys/block/md_stripes/md/array_state
	array md_mirror raid1 || return
	attach mirror -b disk,op
	attached
	dd if=/dev/zero of=/dev/md_mirror bs=4096 count=11 oflag=direct 2>/dev/null
	detach mirror
	echo clear >/sys/block/md_mirror/md/array_state
}

# Eight reads that become one request.
merged() {
	null_blk 2000000 64 none || return
	cat /sys/block/nullb0/stat >merged.before
	traced merged -b op -- disks adjacent /dev/nullb0 8 13
	cat /sys/block/nullb0/stat >merged.after
}

polled() {
	null_blk 100000 64 none 1 poll_queues=1
	if [ "$(cat /sys/module/null_blk/parameters/poll_queues 2>/dev/null)" != 1 ]; then
		echo "null_blk has no queue that is polled" >polled.skip
		return
	fi
	start_on nullb0 polling 4096 1 17 11 0 polled
	attach polled -b op,flags -p "$pid"
	go_to_done polling
	detach polled
	end polling
}

# A disk with an unreadable place, sectors 4660 to 4669, and then one that is busy.
scsi() {
	for module in scsi_common scsi_mod sd_mod; do
		load "$module"
	done
	load scsi_debug dev_size_mb=16 delay=0 ndelay=100000 lbpu=1 opts=2
	sd=$(grep -l scsi_debug /sys/block/sd*/device/model 2>/dev/null | cut -d / -f 4)
	await 10 [ -b "/dev/$sd" ] || return
	echo "$sd" >scsi.disk
	traced command -b disk,op -- disks command "/dev/$sd" 5
	traced unreadable -b op,errno -- disks at "/dev/$sd" 4656 16
	traced readable -b op,errno -- disks at "/dev/$sd" 4640 16
	traced discard -b op -- blkdiscard "/dev/$sd"
	echo 3 >/sys/bus/pseudo/drivers/scsi_debug/every_nth
	echo 0x8000 >/sys/bus/pseudo/drivers/scsi_debug/opts
	traced busy -b op,stage -- dd "if=/dev/$sd" of=/dev/null bs=4096 count=23 iflag=direct
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=block-io-latency quick=--no-calibrate
	[ -e /modules/null_blk.ko ] || {
		echo "no null_blk" >null.skip
		return
	}
	delayed
	one_at_a_time
	at_the_ends
	writeback
	partitions
	mapped
	arrays
	merged
	polled
	scsi
}

check_null() {
	local delay
	for delay in 100000 2000000 20000000; do
		as_truth "a disk of $delay ns: each request counts once" "whole-$delay.json" "null-$delay.truth" op,tid
		within "... and takes" "whole-$delay.json" "null-$delay.truth"
		evidence "stages-$delay.json" "null-$delay.truth"
		holds "... and at least $delay ns of it in the device" "stages-$delay.json" '
			[$last.rows[] | select(.key.stage == "device")]
			| length == 2 and all(.[]; .min >= $delay and .percentiles["50"] < $delay * 2 + 3000000)' --argjson delay "$delay"
	done
	evidence narrow-stages.json narrow.truth
	if [ -e narrow.truth ]; then
		holds "the thread that makes a request is known, although others dispatch it" narrow-stages.json '
			($last.rows | map(select(.key.stage == "whole") | [.key.tid, .count]) | sort)
				== ($truth[0].calls | group_by(.tid) | map([.[0].tid, 18]))' --slurpfile truth narrow.truth
		# There are two places for requests: some wait for one, the others in the scheduler.
		holds "of eight that share a device which takes one at a time, each waits for another" narrow-stages.json '
			def sum(stage): [$last.rows[] | select(.key.stage == stage) | .sum] | add;
			sum("before") + sum("queued") >= 144 * 6 * 20000000 and sum("before") >= 144 * 4 * 20000000
				and all($last.rows[] | select(.key.stage == "device"); .min >= 20000000 and .percentiles["50"] < 32000000)'
	else
		skip "requests that wait in a scheduler" "there is no mq-deadline"
	fi
	evidence open.json open.err late.truth
	holds "what has not ended is listed, with its thread" open.json '
		$last.ledger.in_flight == 3 and $last.rows == [] and ($last.in_flight | length) == 3
		and ([$last.in_flight[].tid] | sort) == ([$truth[0].calls[].tid] | unique)
		and all($last.in_flight[]; .age_ns > 500000000 and (.request | test("^nullb0 read 4096 @ ")))' --slurpfile truth late.truth
	evidence behind.json behind.err
	holds "what began before the trace is unmatched, and nothing else is" behind.json \
		'$last.ledger.unmatched == 3 and $last.ledger.lost == 0 and ([$last.rows[].count] | add) == 3'
	if [ -e cgroup ]; then
		evidence writeback.json writeback.err
		holds "what is written back belongs to the cgroup that wrote it" writeback.json '
			[$last.rows[] | select(.key.cgroup == $cgroup and (.key.comm | test("^kworker")) and .key.op == "write") | .bytes]
				| add == 64 * 65536' --arg cgroup "$(cat cgroup)"
	else
		skip "what is written back" "there is no io controller"
	fi
}

# of(KEY): the requests of the rows that KEY selects
requests='def of(key): [$last.rows[] | select(key)] | map(.count) | add // 0;'

check_stacked() {
	evidence parts.json parts.err
	holds "requests of a partition are its own" parts.json '
		($last.rows | map([.key.disk, .key.part, .count]) | sort) == [["nullb0", "nullb0p1", 7], ["nullb0", "nullb0p2", 11]]'
	if [ -e mapped.skip ]; then
		skip "disks of the device mapper" "$(cat mapped.skip)"
	else
		evidence linear.json linear.err
		holds "a mapped disk has a row, the disk below another" linear.json '
			($last.rows | map({(.key.disk): .}) | add) as $by | ($last.rows | length) == 2
			and $by."dm-0".count == 13 and $by.nullb0.count == 13 and $by."dm-0".sum > $by.nullb0.sum and $last.passed == 13'
		evidence late-dm.json late-dm.err
		holds "the time of a delay by the mapper is that of the mapped disk" late-dm.json "$requests"'
			($last.rows | map(select(.key.disk == "dm-0" and .key.comm == "dd"))) as $dm
			| ($dm | length) == 1 and $dm[0].count == 7 and $dm[0].min >= 36000000
			and of(.key.disk == "nullb0" and .key.comm != "dd") == 7
			and all($last.rows[] | select(.key.disk == "nullb0"); .min < 36000000)'
	fi
	if [ -e arrays.skip ]; then
		skip "RAID" "$(cat arrays.skip)"
	else
		evidence stripes.json stripes.err
		holds "striped: each read once in the array, and on one disk" stripes.json "$requests"'
			(of(.key.disk == "md_stripes") | . == 26 or (. == 0 and ($last.kernel | test("^5[.]10"))))
			and $last.ledger.lost == 0 and $last.ledger.in_flight == 0 and of(.key.disk == "nullb0") == 13 and of(.key.disk == "nullb1") == 13'
		evidence mirror.json mirror.err
		holds "mirrored: each write once in the array, and on both disks" mirror.json "$requests"'
			of(.key.op == "write" and .key.disk == "md_mirror") == 11
			and of(.key.op == "write" and .key.disk == "nullb0") == 11 and of(.key.op == "write" and .key.disk == "nullb1") == 11'
	fi
}

check_merged() {
	evidence merged.json merged.err merged.before merged.after
	holds "reads that are merged are one request, of all their bytes" merged.json '
		$last.rows[0].bytes == 8 * 13 * 4096 and $last.rows[0].count + $last.merged_bios == 8 * 13 and $last.merged_bios > 0
		and $last.ledger.lost == 0 and $last.ledger.in_flight == 0'
	# reads merged ...
	claim "... and the kernel's own counters say the same" awk -v reads="$(jq -s '.[-1].rows[0].count' merged.json)" \
		-v merged="$(jq -s '.[-1].merged_bios' merged.json)" \
		'NR == 1 { r = $1; m = $2; next } { exit !($1 - r == reads && $2 - m == merged) }' merged.before merged.after
	if [ -e polled.skip ]; then
		skip "polled requests" "$(cat polled.skip)"
	else
		evidence polled.json polled.err
		holds "polled requests end, too, and say so" polled.json '
			($last.rows | map([.key.op, .count]) | sort) == [["read", 17], ["write", 11]]
			and all($last.rows[]; .key.flags | test("polled")) and $last.ledger.in_flight == 0'
	fi
}

check_scsi() {
	if [ ! -e scsi.disk ]; then
		skip "SCSI disks" "there is no scsi_debug"
		return
	fi
	evidence command.json command.err
	holds "commands that are passed through to the driver" command.json '
		$last.rows | map([.key.disk, .key.op, .count]) == [[$disk, "driver", 5]]' --arg disk "$(cat scsi.disk)"
	evidence unreadable.json unreadable.err
	holds "a request of which a part fails has failed, by the error of the call" unreadable.json '
		([$last.rows[] | .count] | add) == [$last.rows[] | .count][0] and ($last.rows | map([.key.errno, .errors > 0])) == [["ENODATA", true]]
		and $last.partial > 0 and $last.ledger.in_flight == 0'
	claim "... which returned the same" grep -qx 'disks: -1 bytes, errno 61' unreadable.err
	evidence readable.json readable.err
	holds "others of the disk succeed" readable.json '$last.rows | map([.key.errno, .errors, .bytes]) == [["0", 0, 8192]]'
	evidence discard.json discard.err
	holds "a discard is an operation of its own" discard.json '[$last.rows[] | select(.key.op == "discard") | .bytes] | add == 16777216'
	evidence busy.json busy.err
	holds "requests that a busy driver gives back are queued again, and count once" busy.json '
		$last.requeued > 0 and $last.ledger.recorded == 23 and $last.ledger.in_flight == 0
		and ([$last.rows[] | select(.key.stage == "queued") | .max] | max) > 0'
}

check() {
	if [ -e null.skip ]; then
		skip "disks" "$(cat null.skip)"
		return
	fi
	check_null
	check_stacked
	check_merged
	check_scsi
}
