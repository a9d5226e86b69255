# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# file-io-breakdown: the time of each call, by the layer in which it was spent.

# breaks_down NAME FILE KIND SIZE COUNT THREADS HOGS - the workload, and the tool with each single call
breaks_down() {
	broken=$1
	start "$broken" layers "$2" "$3" "$4" "$5" "$6" "$7"
	attach "$broken-tool" --slower=1ns -b tid,syscall,fs,disk -p "$pid"
	attached
	open_gate "$broken" go
	await 120 [ -e "$broken.gates/done" ]
	detach "$broken-tool"
	open_gate "$broken" end
	finish "$broken" "$(cat "$broken.pid")"
}

# Each kind of call on a file, for which there are 4 MB.
on_file() {
	dd if=/dev/zero of="$2" bs=65536 count=64 2>/dev/null
	sync "$2" 2>/dev/null || sync
	for kind in direct cold hot ahead behind sync; do
		case $kind in
		behind | sync) breaks_down "$1-$kind" "$2" "$kind" 4096 "$3" 1 0 ;;
		*) breaks_down "$1-$kind" "$2" "$kind" 4096 "$3" 2 0 ;;
		esac
	done
}

# A disk in memory that completes each request DELAY ns later, DEPTH at a time; $disk is its name
null_blk() {
	[ -e /sys/kernel/config/nullb ] || mount -t configfs none /sys/kernel/config 2>/dev/null || return
	for made in /sys/kernel/config/nullb/delayed; do
		[ ! -d "$made" ] || { echo 0 >"$made/power" && rmdir "$made"; }
		mkdir "$made" || return
		echo 1 >"$made/memory_backed"
		echo 64 >"$made/size"
		echo 2 >"$made/queue_mode"
		echo 2 >"$made/irqmode"
		echo "$1" >"$made/completion_nsec"
		echo "$2" >"$made/hw_queue_depth"
		echo 1 >"$made/power" || return
		disk=nullb$(cat "$made/index")
		[ -e "/sys/block/$disk" ] || disk=delayed
		echo none >"/sys/block/$disk/queue/scheduler" 2>/dev/null
	done
	[ -e "/sys/block/$disk" ]
}

of_null_blk() {
	insmod /modules/configfs.ko 2>/dev/null
	insmod /modules/null_blk.ko nr_devices=0 2>/dev/null
	null_blk 20000000 64 || {
		echo "no null_blk with memory" >null.skip
		return
	}
	breaks_down null-direct "/dev/$disk" direct 4096 11 2 0
	# More than a request holds.
	echo 128 >"/sys/block/$disk/queue/max_sectors_kb"
	breaks_down null-split "/dev/$disk" direct 1048576 3 1 0
	mkdir mounted
	if mke2fs -q "/dev/$disk" 2>/dev/null >&2 && mount -t ext4 "/dev/$disk" mounted; then
		on_file null-ext4 mounted/file 11
		umount mounted
	else
		echo "no ext4" >ext4.skip
	fi
	null_blk 2000000 64 && breaks_down null-hogs "/dev/$disk" direct 4096 43 1 2
	null_blk 20000000 1 && breaks_down null-narrow "/dev/$disk" direct 4096 7 4 0
}

# Nobody takes the records.
stopped() {
	start full layers - pipe 1 1 1 0
	attach stopped --slower=1ns -b tid,syscall,fs -c calls
	attached
	kill -STOP "$tool"
	calls 20011 read >/dev/null 2>&1
	kill -CONT "$tool"
	detach stopped
	open_gate full go
	open_gate full end
	finish full "$(cat full.pid)"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=file-io-breakdown quick=--no-calibrate
	uname -r >kernel
	breaks_down pipe - pipe 1 23 2 0
	if [ -e /modules/null_blk.ko ]; then
		of_null_blk
		return
	fi
	echo "no null_blk" >null.skip
	case $(stat -f -c %T .) in
	tmpfs | ramfs | rootfs) echo "no disk" >file.skip ;;
	*) on_file file "$PWD/file" 23 && rm file ;;
	esac
}

# Of each thread of the workload: $t what it measured, $r its row, $p the parts of that.
each='def threads: $truth[0].calls[] | . as $t
	| [$last.rows[] | select(.key.tid == $t.tid and .key.syscall == $t.syscall and .key.fs != "proc")] | .[0] as $r
	| {t: $t, r: $r, p: $r.split};
	def io: .device + .queue + .other_device + .other_queue + .page_cache + .file_system + .unexplained;
	def say($what): if . then . else error($what) end; '

# adds_up NAME - each call once, no longer than its thread says; its parts are its time
adds_up() {
	evidence "$1-tool.json" "$1-tool.err" "$1.truth"
	holds "$1: each call counts once, and takes no longer than its thread says" "$1-tool.json" "$each"'
		all(threads; .r.count == .t.count and .t.errors == 0 and .r.errors == 0 and .r.sum <= .t.sum and .r.max <= .t.max
			and .r.min <= .t.min | say("\(.)"))' --slurpfile truth "$1.truth"
	holds "... the parts of each single call add up to its time" "$1-tool.json" '
		def parts: .on_cpu + .preempted + .runq + .device + .queue + .other_device + .other_queue + .page_cache
			+ .file_system + .unexplained;
		[$all[] | .call // empty] as $calls
		| ($calls | length) > 0 and all($calls[]; parts == .ns and ([.[] | numbers] | all(. >= -4095)))
		and all($last.rows[]; .split | parts == .sum and all(.bands[]; parts == .sum))
		and ($calls | map(.ns) | add) == ([$last.rows[].sum] | add)
		and ($calls | map(.device) | add) == ([$last.rows[].split.device] | add)'
	holds "... it is on the CPU no longer than schedstat says" "$1-tool.json" "$each"'
		all(threads; .p.on_cpu <= .t.ran + 100000)' --slurpfile truth "$1.truth"
	jq -c 'select(.schema)' "$1-tool.json" >"$1-report.json"
	evidence "$1-report.json"
	sound "$1" "$1-report.json"
}

# in_device NAME DELAY - each call was in the device for DELAY ns, in no other layer for long
in_device() {
	adds_up "$1"
	holds "... and is in the device for at least $2 ns, elsewhere for less" "$1-tool.json" "$each"'
		all(threads; .p.device >= .t.count * $delay and (.p | io - .device) < .t.count * 2000000 | say("\(.p)"))' \
		--slurpfile truth "$1.truth" --argjson delay "$2"
}

# by_another NAME DELAY COMM - the calls waited for the I/O of COMM
by_another() {
	adds_up "$1"
	holds "... waits for I/O of another thread in the device, and that one is named" "$1-tool.json" "$each"'
		all(threads; .p.other_device >= .t.sum * 0.6 - .p.runq - .p.on_cpu - .p.preempted and .p.device <= .t.sum * 0.1 | say("\(.p)"))
		and ([$all[] | .call // empty | select(.other_device > .ns / 2).io_of.comm] | length > 0 and all(startswith($comm)) | say("\(.)"))' \
		--slurpfile truth "$1.truth" --arg comm "$3"
}

check_null() {
	in_device null-direct 20000000
	in_device null-split 20000000
	adds_up null-hogs
	holds "... waits for its CPU as long as schedstat says, then for the device" null-hogs-tool.json "$each"'
		all(threads; .p.device >= .t.count * 2000000 and .p.runq + .p.preempted <= .t.waited + .t.count * 200000
			and .p.runq + .p.preempted >= .t.waited * 0.5 and .t.waited > 0 | say("\(.)"))' --slurpfile truth null-hogs.truth
	adds_up null-narrow
	holds "... of four that share a device which takes one at a time, each waits in the queue" null-narrow-tool.json "$each"'
		([threads.p.device] | add) as $device | ([threads.p.queue] | add) as $queue
		| $device >= 28 * 20000000 and $device < 28 * 30000000 and $queue > $device * 1.5 | say("\($device) \($queue)")' \
		--slurpfile truth null-narrow.truth
}

check_ext4() {
	in_device null-ext4-direct 20000000
	in_device null-ext4-cold 20000000
	in_device null-ext4-sync 20000000
	adds_up null-ext4-hot
	holds "... a page that is cached takes CPU only" null-ext4-hot-tool.json "$each"'
		all(threads; .p | io <= .sum * 0.05)' --slurpfile truth null-ext4-hot.truth
	by_another null-ext4-ahead 20000000 helper-
	by_another null-ext4-behind 20000000 helper-
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	adds_up pipe
	holds "... a sleep in a pipe is not explained" pipe-tool.json "$each"'
		all(threads; .r.key.fs == "pipefs" and .r.key.disk == "-" and .p.unexplained >= .t.sum * 0.5
			and (.p | io == .unexplained) | say("\(.)"))' --slurpfile truth pipe.truth
	if [ -e null.skip ]; then
		skip "delayed disks" "$(cat null.skip)"
	else
		check_null
		if [ -e ext4.skip ]; then skip "ext4 on a delayed disk" "$(cat ext4.skip)"; else check_ext4; fi
	fi
}
