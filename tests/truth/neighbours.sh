# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Whose I/O a disk had while traced threads waited for it: that of file-io-breakdown, wall-time and
# syscall-slower.

# shellcheck source=lib/disks.sh
. "$truth/lib/disks.sh"
# shellcheck source=lib/file-systems.sh
. "$truth/lib/file-systems.sh"
# shellcheck source=lib/limits.sh
. "$truth/lib/limits.sh"

# looped FILE - a loop device on it, $loop
looped() {
	loop=$(losetup -f) && losetup "$loop" "$1" || return
	echo none >"/sys/block/${loop#/dev/}/queue/scheduler" 2>/dev/null
}

# $disk and $elsewhere
two_disks() {
	if [ -e /modules/null_blk.ko ]; then
		load configfs
		load null_blk nr_devices=0
		mount -t configfs none /sys/kernel/config 2>/dev/null
		null_blk near 100000 64 64 || {
			echo "no null_blk" >waiter.skip
			return 1
		}
		one=/dev/$disk
		null_blk far 100000 64 64 || return
		disk=$one elsewhere=/dev/$disk
		return
	fi
	dd if=/dev/zero of=file bs=1048576 count=1 seek=63 2>/dev/null
	dd if=/dev/zero of=elsewhere bs=1048576 count=1 seek=63 2>/dev/null
	if ! looped file; then
		echo "no loop device" >waiter.skip
		return 1
	fi
	disk=$loop
	looped elsewhere
	elsewhere=$loop
}

# neighbour NAME DEVICE - it will read, write and flush there
neighbour() {
	start_on "${2#/dev/}" "$1" 65536 3 41 29 5
}

# acts NAME - it does so now
acts() {
	open_gate "$1" go
	await 60 [ -e "$1.gates/done" ]
}

# waits NAME DEVICE - for a read, all the time, because it may read hardly anything; calls-NAME, wall-NAME and slow-NAME trace it
waits() {
	number=$(cat "/sys/block/${2#/dev/}/dev")
	if limited "$1" io.max="$number rbps=8192"; then
		unlimited="$limited/io.max" no_limit="$number rbps=max"
	elif limited "$1" "blkio.throttle.read_bps_device=$number 8192"; then
		unlimited="$limited/blkio.throttle.read_bps_device" no_limit="$number 0"
	else
		echo "no cgroup has a limit of I/O here" >"$1.skip"
		return 1
	fi
	start "$1" blocks "$2" 1048576 1 1 0 0
	echo "$pid" >"$limited/cgroup.procs"
	program=file-io-breakdown
	attach "calls-$1" -p "$pid"
	program=wall-time
	attach "wall-$1" -p "$pid"
	program=syscall-slower
	attach "slow-$1" 100ms -p "$pid"
	attached
	open_gate "$1" go
	await 20 grep -q '^State:.D' "/proc/$pid/task/$(tid_of "$pid" blocks-0)/status"
}

# waited NAME - it is over; what was done meanwhile has to be over before
waited() {
	[ ! -e "$1.gates/done" ] || echo "the machine is too slow" >"$1.skip"
	echo "$no_limit" >"$unlimited"
	await 120 [ -e "$1.gates/done" ]
}

# A file system's data, which a thread of the kernel writes.
written_back() {
	mkdir mounted
	insmod /modules/ext4.ko 2>/dev/null
	if [ -e "$truth/lib/journal.img.gz" ]; then
		gzip -d -c "$truth/lib/journal.img.gz" | dd of="$1" bs=65536 2>/dev/null
	else
		mke2fs -q -F -t ext4 -b 4096 -J size=4 "$1" 2>/dev/null
	fi
	if ! mount -t ext4 "$1" mounted 2>written.skip; then
		return
	fi
	rm written.skip
	waits written "$1" || return
	dd if=/dev/zero of=mounted/file bs=65536 count=48 2>/dev/null # 3 MiB
	sync
	waited written
	detach calls-written wall-written slow-written
	end written
	umount mounted
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	quick=--no-calibrate
	two_disks || return
	echo "${disk#/dev/}" >disk.name
	echo "${elsewhere#/dev/}" >elsewhere.name

	neighbour beside "$disk"
	neighbour other-disk "$elsewhere"
	neighbour late "$disk"
	cat "/sys/block/${disk#/dev/}/stat" >before
	waits waiter "$disk" || return
	acts beside
	acts other-disk
	waited waiter
	cat "/sys/block/${disk#/dev/}/stat" >after
	acts late
	detach calls-waiter wall-waiter slow-waiter
	end waiter
	end beside
	end other-disk
	end late
	written_back "$elsewhere"

	start alone blocks "$disk" 4096 2 50 0 0
	program=file-io-breakdown
	attach alone-json -p "$pid"
	launch alone-text -p "$pid"
	await 30 is_tracing alone-text
	program=wall-time
	launch alone-wall -p "$pid"
	await 30 is_tracing alone-wall
	program=syscall-slower
	launch alone-slow 1s -p "$pid"
	await 30 is_tracing alone-slow
	attached
	open_gate alone go
	await 60 [ -e alone.gates/done ]
	detach alone-json alone-text alone-wall alone-slow
	end alone
	if [ -e file ]; then
		losetup -d "$disk"
		losetup -d "$elsewhere"
		rm file elsewhere
	fi
}

# users WHAT TOOL FILTER DISK [ARG...] - what it says of the users of the disk of that name
users() {
	local what=$1 tool=$2 filter=$3 disk=$4
	shift 4
	evidence "$tool.json" "$tool.err" before after
	holds "$tool: $what" "$tool.json" '
		def must(good): if good then true else error("\(.)") end;
		[$last.disks[] | select(.disk == $disk).users[]] | '"$filter" --arg disk "$(cat "$disk")" "$@"
}

check() {
	if [ -e waiter.skip ]; then
		skip "whose I/O a disk has" "$(cat waiter.skip)"
		return
	fi
	for kind in calls wall slow; do
		tool=$kind-waiter
		users "what a neighbour reads and writes counts, once, for its process" $tool '
			map(select(.pid == $truth[0].pid)) | must(length == 1 and (.[0] | .comm == "blocks" and .what == "process" and (.traced | not)
				and .reads == 123 and .read_bytes == 123 * 65536 and .writes == 87 and .written_bytes == 87 * 65536
				and .flushes == 15 and .discards == 0))' disk.name --slurpfile truth beside.truth
		evidence $tool.json
		holds "$tool: one on another disk, for which no traced thread waits, does not" $tool.json '
			[$last.disks[] | select(.disk == $other or any(.users[]; .pid == $truth[0].pid))] == []' \
			--slurpfile truth other-disk.truth --arg other "$(cat elsewhere.name)"
		users "... nor one when none waits" $tool 'map(select(.pid == $truth[0].pid)) | must(. == [])' disk.name --slurpfile truth late.truth
		holds "$tool: the waits are those of its threads" $tool.json '
			$last.disks[] | select(.disk == $disk) | .waits >= 1 and .waits <= 3 and .waited <= $truth[0].calls[0].sum
				and .waited >= 0.8 * $truth[0].calls[0].sum' --arg disk "$(cat disk.name)" --slurpfile truth waiter.truth
		if [ -e written.skip ]; then
			skip "$kind-written: what is written back" "$(cat written.skip)"
		else
			users "what is written back is the kernel's" $kind-written '
				map(select(.what == "work queue" and .comm == "writeback"))
				| must(length >= 1 and (map(.written_bytes) | add | . >= 3145728 and . <= 3500000))' elsewhere.name
		fi
	done
	# Field 3 is sectors read, 7 sectors written.
	evidence before after calls-waiter.json
	claim "the kernel's counters of the disk have no less" awk -v bytes="$(jq -s --arg disk "$(cat disk.name)" --slurpfile truth beside.truth '
			.[-1].disks[] | select(.disk == $disk).users[] | select(.pid == $truth[0].pid) | .read_bytes + .written_bytes' calls-waiter.json)" \
		'NR == 1 { from = $3 + $7 } END { exit !(bytes > 0 && ($3 + $7 - from) * 512 >= bytes) }' before after

	disk=$(cat disk.name)
	evidence alone-json.json alone-json.err
	holds "a disk of which nobody else has I/O" alone-json.json '
		$last.disks | length == 1 and (.[0] | .disk == $disk and (.users | length == 1 and .[0].traced and .[0].pid == $truth[0].pid
			and .[0].reads <= 100 and .[0].reads >= 1))' --slurpfile truth alone.truth --arg disk "$disk"
	for tool in alone-text alone-wall alone-slow; do
		like "... of which people are told" "$(tr -s '\n ' ' ' <$tool.json)" \
			"waits for $disk, [0-9.]*[mun]?s in all; I/O of that disk that ended meanwhile: [0-9.]*K [0-9.]*% blocks/[0-9]+ \(traced\): [0-9]+ reads 0 \(no I/O of others\)"
	done
}
