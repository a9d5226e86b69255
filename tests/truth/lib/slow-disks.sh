# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# For the group files: disks that take a known time, and opens of a file on a frozen file system.

# slow_disk N DELAY - a file system in slow-DELAY, on a disk that completes each request DELAY ns later
slow_disk() {
	disk=/sys/kernel/config/nullb/nullb$1
	rmdir "$disk" 2>/dev/null || :
	mkdir "$disk" || return
	echo 64 >"$disk/size"
	echo 1 >"$disk/memory_backed"
	echo 1 >"$disk/power" || return
	# Newer kernels name the disk after the folder, others by its number.
	mke2fs -q "/dev/nullb$1" >/dev/null 2>&1 || mke2fs "/dev/nullb$1" >/dev/null 2>&1
	# What was written stays when the disk is off.
	echo 0 >"$disk/power"
	echo "$2" >"$disk/completion_nsec"
	echo 2 >"$disk/irqmode"
	echo 1 >"$disk/power" || return
	mkdir "slow-$2"
	mount -t ext4 "/dev/nullb$1" "slow-$2" 2>mount.err
}

slow_disks() {
	rmmod null_blk 2>/dev/null || :
	[ -e /modules/configfs.ko ] && insmod /modules/configfs.ko 2>/dev/null || :
	insmod /modules/null_blk.ko nr_devices=0 2>/dev/null || return
	mount -t configfs none /sys/kernel/config 2>/dev/null || :
	slow_disk 0 2000000 && slow_disk 1 10000000
}

no_slow_disks() {
	for n in 0 1; do
		umount "/dev/nullb$n"
		echo 0 >"/sys/kernel/config/nullb/nullb$n/power"
		rmdir "/sys/kernel/config/nullb/nullb$n"
	done
}

start_slow() {
	slow_disks || {
		cp mount.err slow.skip 2>/dev/null || echo "no null_blk" >slow.skip
		return
	}
	start_in slow-2000000 "$PWD/slow-2000000" 1 direct uring cold aio
	pids="$pids,$pid"
	start_in slow-10000000 "$PWD/slow-10000000" 1 direct aio
	pids="$pids,$pid" places="$places slow-2000000 slow-10000000"
	# These open a file when the file system is frozen.
	for i in 1 2 3; do
		mkfifo "late.$i"
		sh -c "read -r _ <>late.$i; exec dd of=slow-2000000/late" </dev/null 2>/dev/null &
		started="$started $!" pids="$pids,$!"
		echo $! >>late.pids
	done
}

is_late() {
	for i in $(cat late.pids); do
		grep -q '^State:.D' "/proc/$i/status" || return
	done
}

freeze() {
	: >slow-2000000/late
	fsfreeze --freeze slow-2000000
	for i in 1 2 3; do
		echo >"late.$i"
	done
	await 20 is_late
	sleep 1
}

thaw() {
	fsfreeze --unfreeze slow-2000000
	for i in $(cat late.pids); do
		wait "$i"
	done
}
