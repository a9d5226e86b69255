# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# file-io-breakdown: the time of each call, by the layer in which it was spent.

# shellcheck source=lib/disks.sh
. "$truth/lib/disks.sh"
# shellcheck source=lib/file-systems.sh
. "$truth/lib/file-systems.sh"
# shellcheck source=lib/layers.sh
. "$truth/lib/layers.sh"

ready_disks() {
	insmod /modules/configfs.ko 2>/dev/null
	insmod /modules/null_blk.ko nr_devices=0 2>/dev/null
	mount -t configfs none /sys/kernel/config 2>/dev/null
	if ! null_blk late 20000000 64; then
		echo "no null_blk" >null.skip
		return
	fi
	# More than a request holds.
	echo 128 >"/sys/block/$disk/queue/max_sectors_kb"
	ready disk-direct "/dev/$disk" direct 4096 11 2 0
	ready disk-split "/dev/$disk" direct 1048576 3 1 0
	null_blk narrow 20000000 1 && ready disk-narrow "/dev/$disk" direct 4096 7 4 0
	null_blk quick 2000000 64 && ready disk-hogs "/dev/$disk" direct 4096 43 1 2
	null_blk slowed 1000 64 && throttled "$disk"
	null_blk below 20000000 64 && stacked "$disk"
	case $(uname -r) in 6.12.*) arrays ;; esac
	# Otherwise making the files would take as long as all calls.
	if ext4; then ready_files null mounted && overlaid mounted; else echo "no ext4" >ext4.skip; fi
	case $(uname -r) in
	5.10.*) echo "its device mapper hides whose a request is" >twice.skip ;;
	*) if ext4_mapped twice; then ready_files twice mounted-twice; else mv mapper.err twice.skip; fi ;;
	esac
	case $(uname -r) in 6.12.*) if xfs; then ready_files xfs mounted-xfs; else echo "no xfs" >xfs.skip; fi ;; esac
}

# The same file system, as the layer of another one.
overlaid() {
	mkdir "$1/upper" "$1/work" "$1/lower" over || return
	insmod /modules/overlay.ko 2>/dev/null
	if mount -t overlay overlay -o "lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work" over 2>overlay.err; then
		dd if=/dev/zero of=over/sync bs=65536 count=3 2>/dev/null
		sync
		ready over-sync over/sync sync 4096 11 1 0
	else
		mv overlay.err overlay.skip
	fi
}

# Disks of RAID and dm-crypt. The second disk of the stripes and of the mirror takes twice as long. On one kernel.
arrays() {
	for module in md-mod raid0 raid1 dm-mod dm-crypt; do
		insmod "/modules/$module.ko" 2>/dev/null
	done
	for name in stripe-0 stripe-1 mirror-0 mirror-1 plain; do
		case $name in *-1) delay=40000000 ;; *) delay=20000000 ;; esac
		null_blk "$name" "$delay" 64 || return
		echo "$disk" >"$name.disk"
	done
	# Reads of one chunk of each disk.
	array md_stripes raid0 "$(cat stripe-0.disk)" "$(cat stripe-1.disk)" &&
		ready disk-raid0 "/dev/$(cat md_stripes.disk)" direct 16384 5 1 0
	# What it writes goes to both.
	array md_mirror raid1 "$(cat mirror-0.disk)" "$(cat mirror-1.disk)" &&
		ready disk-raid1 "/dev/$(cat md_mirror.disk)" sync 4096 5 1 0
	mapper plumb-crypt "0 8192 crypt aes-cbc-plain64 $(printf '%064d' 7) 0 /dev/$(cat plain.disk) 0" >crypt.disk 2>crypt.err &&
		ready disk-crypt "$(cat crypt.disk)" direct 4096 5 1 0
}

# Reads of DISK at 1 MB/s, 704 kB.
throttled() {
	top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	echo +io >"$top/cgroup.subtree_control" || return
	cgroups="$top/plumb-layers-$$"
	mkdir "$cgroups" || return
	ready disk-throttled "/dev/$1" direct 65536 11 1 0
	echo "$pid" >"$cgroups/cgroup.procs"
	echo "$(cat "/sys/block/$1/dev") rbps=1048576" >"$cgroups/io.max"
}

# A disk that passes bios on to DISK 50 ms later.
stacked() {
	for module in dm-mod dm-bufio dm-delay; do
		insmod "/modules/$module.ko" 2>/dev/null
	done
	if mapper plumb-layers "0 32768 delay /dev/$1 0 50" >mapper.out 2>mapper.err; then
		ready disk-stacked "$(cat mapper.out)" direct 4096 5 1 0
		hung "$1"
	else
		mv mapper.err stacked.skip
	fi
}

# A disk whose driver keeps bios, and one whose driver keeps requests: nobody waits for their calls.
hung() {
	insmod /modules/loop.ko 2>/dev/null
	hung=$(losetup -f) # another group may have left some
	echo "${hung#/dev/}" >hung.loop
	mapper plumb-hung "0 32768 delay /dev/$1 0 600000" >hung.disk 2>hung.err && losetup "$hung" "$(cat hung.disk)" 2>>hung.err || return
	start hung-queue layers "$(cat hung.disk)" direct 4096 1 1 0
	pids=$pids,$pid
	start hung-device layers "$hung" direct 4096 1 1 0
	pids=$pids,$pid
}

hang() {
	for workload in hung-queue hung-device; do
		open_gate $workload go
		await 10 grep -q '^State:.D' "/proc/$(cat $workload.pid)/task/$(tid_of "$(cat $workload.pid)" layers-0)/status"
	done
}

# Nobody takes the records.
stopped() {
	attach stopped --slower=1ns -b syscall,fs -c calls
	attached
	kill -STOP "$tool"
	calls 30011 read >/dev/null 2>&1
	kill -CONT "$tool"
	detach stopped
}

# As text.
lines() {
	"$program" "$quick" --slower=1ns -c dd -- dd if=files/hot of=/dev/null bs=65536 count=3 >lines.out 2>lines.err </dev/null
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=file-io-breakdown quick=--no-calibrate workloads='' pids=''
	uname -r >kernel
	ready pipe - pipe 1 23 2 0
	if [ -e /modules/null_blk.ko ]; then
		ready_disks
	else
		echo "no null_blk" >null.skip
		case $(stat -f -c %T .) in
		tmpfs | ramfs | rootfs) echo "no disk" >file.skip ;;
		*) mkdir files && make_files files direct && ready_files file files direct ;;
		esac
	fi
	# A call has its line before it waits on its way out.
	attach all --no-return --slower=1ns --precision=3 --max-keys=128 -b tid,syscall,fs,disk -p "$pids"
	attached
	for workload in $workloads; do
		open_gate "$workload" go
		await 60 [ -e "$workload.gates/done" ]
	done
	[ ! -e hung-device.pid ] || hang
	detach all
	for workload in $workloads; do
		open_gate "$workload" end
		finish "$workload" "$(cat "$workload.pid")"
	done
	start stays stays pipe 3 23
	attach stacks --slower=1ms --stacks -p "$pid"
	go stays
	detach stacks
	[ -e /modules/null_blk.ko ] || { stopped && lines; } # the same on all kernels
	rm -rf files
}

# in_device NAME DELAY [PARTS] - each call was in the device for DELAY ns, but for what its thread still ran, and in no
# other layer but PARTS
in_device() {
	counts_once "$1"
	each_thread "... is in the device for $2 ns, asleep elsewhere for less" "$1" '
		.p.device >= .t.count * $delay * 0.8
		and (.p | .device + .on_cpu + ready) >= .t.count * $delay
		and (.p | asleep - .device - '"${3-0}"') < .t.count * 2000000' --argjson delay "$2"
}

# by_helper NAME - the calls waited for I/O that another thread had submitted: its helper, for most of
# them. The journal commits by itself now and then, and an fsync waits for that.
by_helper() {
	each_thread "... waits for I/O of another in the device" "$1" '.p.other_device >= (.p | asleep) * 0.7 and .p.other_device > 0'
	holds "$1: ... which is named" all.json "$each"'
		calls | map(select(.other_device > .ns / 2).io_of.comm) | must(all(.[]; test("^(helper-|jbd2/)"))
			and (map(select(startswith("helper-"))) | length) > length / 2)' \
		--slurpfile truth "$1.truth"
}

check_hung() {
	evidence all.err hung.err
	holds "calls that hang: in the queue if the driver keeps a bio, in the device if it keeps a request" all.json '
		def parts: .on_cpu + .irq + .preempted + .runq + .wake + .device + .queue + .other_device + .other_queue + .limit + .page_cache
			+ .file_system + .unexplained + .return;
		[$last.in_flight[] | select(.comm | startswith("layers-"))]
		| (map({(.so_far.in): .}) | add) as {queue: $q, device: $d} | length == 2 and $last.ledger.in_flight == 2
		and $q.so_far.disk == $mapped and $d.so_far.disk == $loop
		and all(.syscall == "pread64" and .so_far.fs == "devtmpfs" and .so_far.io_of == null
			and (.so_far | parts == .ns) and .so_far.ns == .age_ns)
		and ($q.so_far | .queue > 0 and .queue + .on_cpu + .irq + .preempted + .runq + .wake == .ns)
		and ($d.so_far | .device > .queue and .device + .queue + .on_cpu + .irq + .preempted + .runq + .wake == .ns)' \
		--arg mapped "$(basename "$(cat hung.disk)")" --arg loop "$(cat hung.loop)"
}

check_stopped() {
	evidence stopped.err
	jq -c 'select(.call | not)' stopped.json >stopped-report.json
	holds "calls that find no room are counted: printed and dropped are all" stopped.json '
		[$all[] | .call // empty] | length as $printed | $printed > 0 and $last.records_dropped > 0
		and $printed + $last.records_dropped == $last.ledger.recorded and $last.ledger.recorded >= 30011'
}

# A process of a short name and of a number of at most 5 digits.
check_lines() {
	[ -e file.skip ] && return
	evidence lines.out lines.err
	claim "calls as text: thread, call, parts of 1 per cent or more, in at most 80 columns" awk '
		/^$/ { exit }
		NR > 1 && length($0) > 80 && $3 ~ "/[0-9]?[0-9]?[0-9]?[0-9]?[0-9]$" && !/; I\/O of/ { wide++ }
		$1 ~ /^[0-9:]+[.][0-9]+$/ && $3 ~ "^dd/" && /read on [^ ]+, [^ ]+ = 65536;( [A-Z]+ [1-9][0-9]*%)+/ {
			n++
			total = 0
			for (i = 4; i <= NF; i++)
				if ($i ~ /^[0-9]+%$/) total += $i
			if (total < 90 || total > 105) bad++
		}
		END { exit n != 3 || wide || bad }' lines.out
}

check_disks() {
	in_device disk-direct 20000000
	in_device disk-split 20000000
	counts_once disk-hogs
	each_thread "... waits for its CPU as long as schedstat says, and for the device" disk-hogs '
		.p.device >= .t.count * 1000000 and (.p | ready) <= .t.waited * 1.2 + .t.count * 500000
		and (.p | ready) >= .t.waited * 0.5 and .t.waited > 0'
	each_thread "... which is not idle" disk-hogs '.p.wake != null and .p.wake <= (.p | ready) * 0.1'
	# Natively others can have all CPUs.
	holds "some calls are woken while their CPU is idle" all.json '[$last.rows[].split.wake] | add > 0'
	counts_once disk-narrow
	holds "disk-narrow: of four that share a device which takes one at a time, each waits in the queue" all.json "$each"'
		{device: [threads.p.device] | add, queue: [threads.p.queue] | add}
		| must(.device >= 28 * 16000000 and .queue > .device * 0.3)' --slurpfile truth disk-narrow.truth
	if [ -e disk-throttled.truth ]; then
		counts_once disk-throttled
		each_thread "... is held back by the limit where io.max throttles" disk-throttled '
			.p.limit > 300000000 and .p.limit > (.p | asleep) * 0.8 and .p.other_device < .p.limit * 0.1'
	else
		skip "throttled calls" "there is no io controller"
	fi
	case $(cat kernel) in 6.12.*) check_arrays ;; esac
	if [ -e stacked.skip ]; then
		skip "a stacked disk" "$(cat stacked.skip)"
	else
		check_hung
		counts_once disk-stacked
		case $(cat kernel) in
		5.10.*) each_thread "... waits 50 ms and the device below in the block layer, which hides it" disk-stacked \
			'.p.queue >= .t.count * 65000000 and .p.device == 0' ;;
		*) each_thread "... waits 50 ms in the block layer, then in the device below" disk-stacked '
			.p.queue >= .t.count * 45000000 and .p.device >= .t.count * 16000000 and .p.device < .t.count * 40000000' ;;
		esac
	fi
}

# in_lower_device NAME DELAY - its path through the slowest disk below takes DELAY ns, and counts once
in_lower_device() {
	if [ ! -e "$1.truth" ]; then
		skip "$1" "$(cat "${1#disk-}.err" 2>/dev/null || echo "there is no such disk")"
		return
	fi
	counts_once "$1"
	each_thread "... is in the slowest device below for $2 ns, and queued for the rest" "$1" '
		.p.device >= .t.count * $delay * 0.8
		and (.p | .device + .on_cpu + ready) >= .t.count * $delay
		and .p.queue < .t.count * 5000000 and (.p | asleep - .device - .queue) < .t.count * 2000000' --argjson delay "$2"
}

check_arrays() {
	in_lower_device disk-raid0 40000000
	in_lower_device disk-raid1 40000000
	in_lower_device disk-crypt 20000000
}

# fsync writes the page by itself, and waits for what the journal's thread writes, and for that thread.
by_journal() {
	counts_once "$1"
	each_thread "... is in the device with its page, then waits for I/O of the journal" "$1" '
		(.p | .device + .on_cpu + ready) >= .t.count * 20000000 and .p.device >= .t.count * 10000000
		and .p.other_device >= .t.count * 20000000'
	holds "$1: ... which is named" all.json "$each"'
		calls | map(select(.syscall == "fsync").io_of.comm) | must(length > 0 and all(startswith("jbd2/")))' \
		--slurpfile truth "$1.truth"
}

check_overlaid() {
	if [ ! -e over-sync.truth ]; then
		skip "a file system that is a layer of another" "$(cat overlay.skip)"
		return
	fi
	by_journal over-sync
	each_thread "... whose disk is that of the layer" over-sync '.r.key.fs == "overlay" and .r.key.disk == $disk' \
		--arg disk "$(cat formatted.disk)"
}

check_files() {
	local threads=0
	# Its threads in the kernel complete I/O and write the log, and have to get a CPU for it.
	[ "$1" != xfs ] || threads='(.page_cache + .file_system)'
	in_device "$1-cold" "$2" "$threads"
	case $1 in
	null)
		by_journal null-sync
		each_thread "... and for hardly anything else" null-sync '.p.queue + .p.unexplained < .t.count * 1000000'
		check_overlaid
		;;
	twice)
		by_journal twice-sync
		for kind in cold ahead sync; do
			each_thread "... on the disk of the device mapper" "twice-$kind" '.r.key.disk == $disk' --arg disk "$(basename "$(cat twice.device)")"
		done
		;;
	xfs) in_device xfs-sync "$(($2 * 2))" "$threads" ;; # it writes the page, then the log
	*) in_device "$1-sync" "$2" ;;
	esac
	counts_once "$1-hot"
	each_thread "... a page that is cached takes CPU only" "$1-hot" '(.p | asleep) <= .p.sum * 0.05'
	counts_once "$1-ahead"
	by_helper "$1-ahead"
	counts_once "$1-behind"
	# Otherwise it has ended before the fsync.
	[ "$2" -lt 20000000 ] || by_helper "$1-behind"
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	jq -c 'select(.schema)' all.json >all-report.json
	evidence all-report.json all.err
	sound "all" all-report.json
	holds "the parts of each call, row and band add up to its time" all.json '
		def parts: .on_cpu + .irq + .preempted + .runq + .wake + .device + .queue + .other_device + .other_queue + .limit + .page_cache
			+ .file_system + .unexplained + .return;
		[$all[] | .call // empty] as $calls
		| all($calls[]; parts == .ns and all(to_entries[]; .key == "ret" or (.value | type) != "number" or .value >= 0))
		and all($last.rows[]; (.split | parts == .sum and .count == ([.mostly[]] | add) and all(.bands[]; parts == .sum)) and .sum == .split.sum)'
	holds "the rows are the sums of the calls" all.json '
		[$all[] | .call // empty] as $calls | ($calls | length) == $last.ledger.recorded
		and all("ns", "on_cpu", "device", "queue", "other_device", "runq"; . as $part
			| ($calls | map(.[$part]) | add) == ([$last.rows[].split[if $part == "ns" then "sum" else $part end]] | add))'
	holds "... in the order in which they ended" all.json '[$all[] | .call // empty | .end] | . == sort'
	holds "no I/O is lost, and none lacks its begin or end" all.json '
		($last.io_unseen == 0 or ($last.io_unseen == null and ($last.kernel | startswith("5.10.")))) and $last.io_lost == 0
		and $last.io_replaced == 0 and $last.records_dropped == 0'
	counts_once pipe
	each_thread "... a sleep in a pipe is not explained" pipe '
		.r.key.fs == "pipefs" and .r.key.disk == "-" and .p.unexplained >= .t.sum * 0.5 and (.p | asleep == .unexplained)'
	evidence stacks.json stacks.err stays.truth
	holds "--stacks: each slow call has the function of the program that made it" stacks.json '
		[$all[].call | select(. and .syscall == "read" and .fs == "pipefs")] | length >= $truth[0].calls[0].count
		and all(.[]; (.stack | map(.frame) | index("stay_in_pipe")) and (.stack[-1].frame | test("clone")) and all(.stack[]; .kernel | not))' \
		--slurpfile truth stays.truth
	if [ ! -e null.skip ]; then
		check_disks
		if [ -e ext4.skip ]; then skip "ext4 on a delayed disk" "$(cat ext4.skip)"; else check_files null 20000000; fi
		if [ -e twice.skip ]; then skip "ext4 on disks of the device mapper" "$(cat twice.skip)"; else check_files twice 20000000; fi
		if [ -e xfs.skip ]; then skip "xfs on a delayed disk" "$(cat xfs.skip)"; elif [ -e xfs-hot.truth ]; then check_files xfs 20000000; fi
		return
	fi
	check_stopped
	check_lines
	if [ -e file.skip ]; then
		skip "files" "$(cat file.skip)"
	else
		in_device file-direct 1
		check_files file 1
	fi
}
