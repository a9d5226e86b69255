# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Files, also on file systems of disks that take a known time; a disk with an xfs.

# xfs_disk - that of the machine (machines/files.sh), with the modules for it
xfs_disk() {
	for module in virtio_blk crc32c_generic libcrc32c xfs; do
		[ ! -e "/modules/$module.ko" ] || insmod "/modules/$module.ko" 2>/dev/null || :
	done
	for disk in /dev/vd?; do
		if [ "$(head -c 4 "$disk" 2>/dev/null)" = XFSB ]; then
			echo "$disk"
			return
		fi
	done
	return 1
}

# make_files DIR [KIND] - for each kind of call one that is large enough
make_files() {
	for kind in cold hot ahead behind sync ${2-}; do
		dd if=/dev/zero of="$1/$kind" bs=65536 count=3 2>/dev/null
	done
	sync
}

# ready_files NAME DIR [KIND] - each kind of call, on its file in DIR
ready_files() {
	for kind in cold hot ahead ${3-}; do
		ready "$1-$kind" "$2/$kind" "$kind" 4096 11 2 0
	done
	for kind in behind sync; do
		ready "$1-$kind" "$2/$kind" "$kind" 4096 11 1 0
	done
}

# null_blk NAME DELAY DEPTH [MIB] - a disk in memory that completes each request DELAY ns later, DEPTH at a time; $disk
null_blk() {
	made=/sys/kernel/config/nullb/$1
	mkdir "$made" || return
	echo 1 >"$made/memory_backed"
	echo "${4:-16}" >"$made/size"
	echo 2 >"$made/queue_mode"
	echo 2 >"$made/irqmode"
	echo 1 >"$made/submit_queues"
	echo "$2" >"$made/completion_nsec"
	echo "$3" >"$made/hw_queue_depth"
	echo 1 >"$made/power" || return
	disk=$1
	[ -e "/sys/block/$disk" ] || disk=nullb$(cat "$made/index")
	echo none >"/sys/block/$disk/queue/scheduler" 2>/dev/null || :
}

# null_blk_slow NAME DELAY - the disk, which keeps its contents, takes so long from now on
null_blk_slow() {
	made=/sys/kernel/config/nullb/$1
	echo 0 >"$made/power"
	echo "$2" >"$made/completion_nsec"
	echo 1 >"$made/power"
}

# slow_files TYPE NAME DIR - mount the disk NAME, make the files of the calls, and slow it down
slow_files() {
	mkdir "$3"
	mount -t "$1" "/dev/$disk" "$3" || return
	make_files "$3"
	umount "$3"
	null_blk_slow "$2" 20000000
}

# Each has a journal.
ext4() {
	null_blk formatted 1000 64 && echo "$disk" >formatted.disk && gzip -d <"$truth/lib/journal.img.gz" >"/dev/$disk" 2>image.err &&
		slow_files ext4 formatted mounted && mount -t ext4 "/dev/$disk" mounted
}

# The same on a disk of the device mapper, on a part of one; the file NAME has its device.
ext4_mapped() {
	null_blk "$1" 1000 64 && gzip -d <"$truth/lib/journal.img.gz" >"/dev/$disk" 2>image.err &&
		slow_files ext4 "$1" "mounted-$1" &&
		mapper "plumb-$1" "0 18432 linear /dev/$disk 0" >"$1-below.device" 2>mapper.err &&
		mapper "plumb-$1-twice" "0 18432 linear $(cat "$1-below.device") 0" >"$1.device" 2>mapper.err &&
		mount -t ext4 "$(cat "$1.device")" "mounted-$1"
}

xfs() {
	xfs=$(xfs_disk) && null_blk formatted-xfs 1000 64 32 && cat "$xfs" >"/dev/$disk" && slow_files xfs formatted-xfs mounted-xfs &&
		mount -t xfs "/dev/$disk" mounted-xfs
}
