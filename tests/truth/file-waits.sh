# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# file-io-breakdown: waits that I/O of others on the same disk does not end, of a frozen file system and of
# one that a process serves; file systems that are layers of another.  On the machine itself.

# shellcheck source=lib/layers.sh
. "$truth/lib/layers.sh"

# on_loop TYPE MIB - a file system of TYPE on a loop device, mounted on TYPE; TYPE.disk
on_loop() {
	mkdir "$1"
	truncate -s "$2M" "$1.img" || return
	case $1 in
	ext4) mke2fs -q -t ext4 ext4.img ;;
	*) "mkfs.$1" -q "$1.img" ;;
	esac >"$1.made" 2>&1 || return
	loop=$(losetup -f --show "$1.img") || return
	echo "${loop#/dev/}" >"$1.disk"
	mount -t "$1" "$loop" "$1" && dd if=/dev/zero of="$1/file" bs=65536 count=3 2>/dev/null && sync "$1/file"
}

off_loop() {
	[ ! -e "$1.disk" ] || {
		umount "$1"
		losetup -d "/dev/$(cat "$1.disk")"
	}
	rm -f "$1.img"
}

# prepare - file systems, and a workload on each
prepare() {
	mkdir served over
	start server fuse "$PWD/served" 5
	if is_over "$pid"; then
		mv server.err fuse.skip
	else
		ready served-read "$PWD/served/file" hot 4096 11 1 0
		ready served-sync "$PWD/served/file" sync 4096 7 1 0
	fi
	for type in ext4 xfs; do
		if on_loop $type 320; then ready frozen-$type "$PWD/$type/file" write 4096 1 1 0; else echo "no $type" >$type.skip; fi
	done
	if on_loop btrfs 320; then
		ready btrfs-sync "$PWD/btrfs/file" sync 4096 11 1 0
		ready btrfs-direct "$PWD/btrfs/file" direct 4096 11 1 0
	else
		cat btrfs.made >btrfs.skip
	fi
	[ ! -e ext4.skip ] || return
	ready plain-sync "$PWD/ext4/file" sync 4096 20 1 0
	mkdir ext4/lower ext4/upper ext4/work
	dd if=/dev/zero of=ext4/lower/below bs=4096 count=11 2>/dev/null
	sync ext4/lower/below
	if mount -t overlay overlay -o lowerdir=ext4/lower,upperdir=ext4/upper,workdir=ext4/work over 2>overlay.err; then
		dd if=/dev/zero of=over/file bs=65536 count=3 2>/dev/null
		sync over/file
		ready over-sync "$PWD/over/file" sync 4096 20 1 0
	else
		mv overlay.err overlay.skip
	fi
}

go_to_done() {
	open_gate "$1" go
	await 60 [ -e "$1.gates/done" ]
}

is_asleep() {
	grep -q '^State:.D' "/proc/$(cat "$1.pid")/task/$(tid_of "$(cat "$1.pid")" layers-0)/status"
}

# frozen TYPE - its file system, for a second, while others read the same disk
frozen() {
	disk=$(cat "$1.disk")
	sh -c 'while [ ! -e "$0.over" ]; do dd if="/dev/$1" of=/dev/null bs=65536 count=64 iflag=direct 2>/dev/null; done' "$1" "$disk" &
	reader=$!
	started="$started $reader"
	fsfreeze --freeze "$1" || return
	open_gate "frozen-$1" go
	await 20 is_asleep "frozen-$1"
	cat "/sys/block/$disk/stat" >"$1.before"
	cat "/proc/$(cat "frozen-$1.pid")/task/$(tid_of "$(cat "frozen-$1.pid")" layers-0)/stack" >"$1.stack" 2>/dev/null
	sleep 1
	cat "/sys/block/$disk/stat" >"$1.after"
	fsfreeze --unfreeze "$1"
	: >"$1.over"
	await 60 [ -e "frozen-$1.gates/done" ]
	wait "$reader"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=file-io-breakdown quick=--no-calibrate workloads='' pids=''
	if [ -e /modules/null_blk.ko ]; then
		echo "it is tested on the machine itself" >all.skip
		return
	fi
	prepare
	attach all --slower=1ns --precision=3 -b tid,syscall,fs,disk -p "$pids"
	[ -e fuse.skip ] || program=file-latency attach served -b fs,op,cache -p "$(cat served-read.pid),$(cat served-sync.pid)"
	[ -e overlay.skip ] || traced lower -b syscall,fs,disk -c dd -- dd if=over/below of=/dev/null bs=4096 iflag=direct
	attached
	for workload in $workloads; do
		case $workload in
		frozen-*) frozen "${workload#frozen-}" ;;
		*) go_to_done "$workload" ;;
		esac
	done
	[ -e fuse.skip ] || detach served
	detach all
	for workload in $workloads server; do
		open_gate "$workload" end
		finish "$workload" "$(cat "$workload.pid")"
	done
	[ ! -e lower.json ] || umount over
	off_loop ext4
	off_loop xfs
	off_loop btrfs
	hidden
}

# A kernel that hides its addresses, and a run that looks at no way out.
hidden() {
	cat >blind <<-END
		#!/bin/sh
		exec unshare -m sh -c 'mount --bind /dev/null /proc/kallsyms && exec file-io-breakdown "\$@"' sh "\$@"
	END
	chmod +x blind
	program=$PWD/blind traced hidden -b syscall -c dd -- dd if=/dev/zero of=/dev/null count=7
	traced off --no-return -b syscall -c dd -- dd if=/dev/zero of=/dev/null count=7
}

check_served() {
	if [ -e fuse.skip ]; then
		skip "a file system that a process serves" "$(cat fuse.skip)"
		return
	fi
	for workload in served-read served-sync; do
		counts_once $workload
		each_thread "... waits for the server in the file system, in no other layer" $workload '
			.r.key.fs == "fuse" and .r.key.disk == "-" and (.p | .file_system + .on_cpu + ready) >= .t.count * 5000000
			and .p.file_system > 0 and (.p | asleep == .file_system)'
	done
	evidence served.json served.err
	holds "... which says for no read or write that the page cache had the data" served.json '
		[$last.rows[] | select(.key.fs == "fuse") | [.key.op, .key.cache, .count]] | sort == [["fsync", "-", 7], ["read", "-", 11], ["write", "-", 7]]'
}

check_frozen() {
	if [ -e "$1.skip" ]; then
		skip "a frozen $1" "$(cat "$1.skip")"
		return
	fi
	counts_once "frozen-$1"
	evidence "$1.stack"
	claim "... others read its disk meanwhile" awk 'NR == FNR { n = $1; next } { exit !($1 > n) }' "$1.before" "$1.after"
	each_thread "... and the write waits in the file system, for no I/O" "frozen-$1" '
		.r.key.disk == $disk and .p.file_system >= 900000000 and (.p | asleep == .file_system)' --arg disk "$(cat "$1.disk")"
	holds "... so says its line" all.json "$each"'
		calls | map(select(.syscall == "pwrite64")) | must(length == 1
			and all(.[]; .other_device + .other_queue == 0 and .io_of == null and .file_system >= 900000000))' \
		--slurpfile truth "frozen-$1.truth"
}

# Its fsync waits for a flush, which it asks for itself.
check_btrfs() {
	if [ -e btrfs.skip ]; then
		skip "btrfs" "$(cat btrfs.skip)"
		return
	fi
	for workload in btrfs-sync btrfs-direct; do
		counts_once $workload
		each_thread "... and its waits are explained" $workload '
			.r.key.fs == "btrfs" and .r.key.disk == "-" and .p.device > 0 and .p.unexplained <= (.p | asleep) * 0.1'
	done
	each_thread "... the flush is in the device, not in the queue" btrfs-sync '.p.device > .p.queue'
}

check_overlay() {
	if [ -e overlay.skip ]; then
		skip "an overlay" "$(cat overlay.skip)"
		return
	fi
	for workload in plain over; do
		counts_once "$workload-sync"
		each_thread "... on a named disk, and waits for what the journal does there" "$workload-sync" '
			.r.key.fs == $fs and .r.key.disk == $disk and .p.device > 0 and .p.other_device > 0' \
			--arg disk "$(cat ext4.disk)" --arg fs "$([ $workload = plain ] && echo ext4 || echo overlay)"
		holds "$workload-sync: ... which is named" all.json "$each"'
			calls | map(select(.syscall == "fsync").io_of.comm) | must(any(.[]; . != null and startswith("jbd2/")))' \
			--slurpfile truth "$workload-sync.truth"
	done
	evidence lower.json lower.err
	holds "a file of the lower layer: its reads are in the layer's device" lower.json '
		[$last.rows[] | select(.key.fs == "overlay" and .key.syscall == "read")] | length == 1
		and .[0].key.disk == $disk and .[0].count == 12 and .[0].split.device > 0' --arg disk "$(cat ext4.disk)"
}

# What nobody looks for is null, not 0.
check_hidden() {
	evidence hidden.json hidden.err off.json off.err
	holds "where addresses are hidden, no part is the page cache, which is null" hidden.json '
		[$last.rows[].split | .page_cache, .mostly.page_cache, .bands[].page_cache] | unique == [null]'
	holds "... and the others are numbers" hidden.json '
		[$last.rows[].split | del(.page_cache, .mostly, .bands)[] | type] | unique == ["number"]'
	holds "where nobody looks at the way out, its part is null" off.json '
		[$last.rows[].split | .return, .mostly.return, .bands[].return] | unique == [null]'
	holds "... and the page cache is a number" off.json '[$last.rows[].split.page_cache | type] | unique == ["number"]'
}

check() {
	if [ -e all.skip ]; then
		skip "waits of file systems" "$(cat all.skip)"
		return
	fi
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	jq -c 'select(.schema)' all.json >all-report.json
	evidence all-report.json all.err
	sound "all" all-report.json
	check_served
	check_frozen ext4
	check_frozen xfs
	check_overlay
	check_btrfs
	check_hidden
}
