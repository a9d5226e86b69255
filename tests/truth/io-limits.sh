# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# What file-io-breakdown and wall-time say of waits that a limit of I/O of a cgroup (io.max) makes longer.

# shellcheck source=lib/disks.sh
. "$truth/lib/disks.sh"
# shellcheck source=lib/file-systems.sh
. "$truth/lib/file-systems.sh"
# shellcheck source=lib/limits.sh
. "$truth/lib/limits.sh"

# A disk of its own, with a file system: $disk
formatted() {
	mkdir mounted
	load ext4
	if [ -e /modules/null_blk.ko ]; then
		load configfs
		load null_blk nr_devices=0
		mount -t configfs none /sys/kernel/config 2>/dev/null
		null_blk limited 1000 64 || return
		disk=/dev/$disk
		gzip -d -c "$truth/lib/journal.img.gz" | dd of="$disk" bs=65536 2>/dev/null
	else
		dd if=/dev/zero of=file bs=1048576 count=32 2>/dev/null
		disk=$(losetup -f) && losetup "$disk" file || return
		mke2fs -q -F -t ext4 -b 4096 -J size=4 "$disk" || return
	fi
	mount -t ext4 "$disk" mounted
}

# at_1_mb - a cgroup that may read and write so much of the disk in a second
at_1_mb() {
	number=$(cat "/sys/block/${disk#/dev/}/dev")
	limited io io.max="$number rbps=1048576 wbps=1048576" ||
		limited io "blkio.throttle.read_bps_device=$number 1048576" "blkio.throttle.write_bps_device=$number 1048576"
}

# calls NAME FILE KIND SIZE COUNT - under both tools; in the cgroup, unless the name is free-...
calls() {
	start "$1" layers "$2" "$3" "$4" "$5" 1 0
	case $1 in
	free-*) ;;
	*) echo "$pid" >"$limited/cgroup.procs" ;;
	esac
	program=file-io-breakdown
	attach "io-$1" -b tid,syscall,fs,disk -p "$pid"
	launch "say-$1" -p "$pid"
	await 30 is_tracing "say-$1"
	program=wall-time
	attach "wall-$1" -p "$pid"
	launch "tell-$1" -p "$pid"
	await 30 is_tracing "tell-$1"
	attached
	open_gate "$1" go
	await 60 [ -e "$1.gates/done" ]
	detach "io-$1" "say-$1" "wall-$1" "tell-$1"
	end "$1"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	quick=--no-calibrate
	[ -e /sys/block/loop0 ] || load loop
	if ! formatted 2>limits.skip || ! at_1_mb 2>>limits.skip; then
		echo "no disk with a limit here" >>limits.skip
		return
	fi
	rm limits.skip
	echo "${disk#/dev/}" >disk.name
	basename "$limited" >cgroup.name
	for name in limited free; do
		dd if=/dev/zero of=mounted/$name bs=65536 count=22 2>/dev/null
	done
	sync
	calls direct "$disk" direct 65536 11
	calls sync mounted/limited sync 1441792 1
	calls free-direct "$disk" direct 65536 11
	calls free-sync mounted/free sync 1441792 1
	umount mounted
	if [ -e file ]; then
		losetup -d "$disk"
		rm file
	fi
}

# says WHAT TOOL FILTER [ARG...]
says() {
	local what=$1 tool=$2 filter=$3
	shift 3
	evidence "$tool.json" "$tool.err" "${tool#*-}.truth"
	holds "$tool: $what" "$tool.json" '
		def must(good): if good then true else error("\(.)") end;
		def asleep: .device + .queue + .other_device + .other_queue + .limit + .page_cache + .file_system + .unexplained;
		$truth[0].calls[0] as $t
		| [$last.rows[] | select(.key.tid == $t.tid and .key.syscall == $t.syscall)][0] as $row
		| [$last.disks[] | select(.disk == $disk).limits[]] as $limits | '"$filter" \
		--slurpfile truth "${tool#*-}.truth" --arg disk "$(cat disk.name)" --arg cgroup "$(cat cgroup.name)" "$@"
}

# lacks REGEX FILE...
lacks() {
	local regex=$1
	shift
	! grep -q "$regex" "$@"
}

check() {
	if [ -e limits.skip ]; then
		skip "limits of I/O" "$(tail -n 1 limits.skip)"
		return
	fi
	for kind in direct sync; do
		# Version 2 may take the pages for those of the cgroup that made the file.
		if jq -e '[.calls[].sum] | add < 500000000' $kind.truth >/dev/null; then
			skip "$kind: a limit" "this kernel does not hold it back"
			continue
		fi
		# 0.7 or 1.4 MB at 1 MB/s, of which the first may be free. An fsync waits for the journal, too.
		says "calls that a limit holds back are in LIMIT, not in the page cache" io-$kind '
			$row | must(.count == $t.count and (.split | .limit > 300000000 and .limit >= 0.5 * asleep and .page_cache + .unexplained < 0.1 * asleep))'
		says "... for no longer than the thread says" io-$kind '$row | must(.split.limit <= $t.sum)'
		says "the limit is named, with its cgroup" io-$kind '
			$limits | must(length > 0 and all(.[]; .cgroup == "/" + $cgroup and .waits > 0 and (.value | test("1048576"))
				and (.setting | test("^io[.]max$|^blkio[.]throttle[.](read|write)_bps_device$"))))'
		says "the same call without a limit has none" io-free-$kind '
			must($row.count == $t.count and $row.split.limit == 0 and $limits == [])'
		says "where functions cannot be traced, what was held back is counted, in bytes" io-$kind '
			$limits | map(select(.setting == "io.max" or (.setting | test($op)))) | must(all(.[];
				if .seen then .held_back == 0 else .held_back > 0 and .held_back_bytes >= 200000 and .held_back_bytes <= 1600000 end))' \
			--arg op "$([ $kind = direct ] && echo read || echo write)"
		says "the cause is the disk or its limit" wall-$kind '
			[$last.rows[] | select(.cause == "io limit").sum] | add | must(. > 300000000 and . >= 0.5 * $t.sum and . <= 1.1 * $t.sum + 50000000)'
		says "... and not where there is no limit" wall-free-$kind '[$last.rows[] | select(.cause == "io limit")] | must(. == [])'

		said=$(tr -s '\n ' ' ' <say-$kind.json) told=$(tr -s '\n ' ' ' <tell-$kind.json)
		evidence say-$kind.json say-$kind.err
		like "$kind: people are told the limit" "$said" \
			"I/O limit: [a-z_.]* of /$(cat cgroup.name) on $(cat disk.name): ([rw]bps=)?1048576"
		if jq -e '[.disks[].limits[].seen] | all' io-$kind.json >/dev/null; then
			claim "... and that it was seen" lacks 'cannot be seen' say-$kind.json
		else
			like "... and that throttling is not" "$said" 'throttling cannot be seen on this kernel'
		fi
		evidence tell-$kind.json tell-$kind.err
		like "... by wall-time, too, which does not see it" "$told" "waiting for the disk or its I/O limit .*I/O limit: .*this tool does not see throttling"
		claim "... and nothing of it without a limit" lacks 'I/O limit' say-free-$kind.json tell-free-$kind.json
	done
}
