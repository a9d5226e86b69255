# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# file-latency: each operation on a file once, for its thread, as long as the thread's own clock says.

# mount_of DIR - where the file system of DIR is mounted, and its type
mount_of() {
	awk -v path="$(cd "$1" && pwd -P)/" '{
		point = $5 == "/" ? "/" : $5 "/"
		for (i = 7; $i != "-"; i++)
			;
		if (index(path, point) == 1 && length($5) >= length(best)) { best = $5; type = $(i + 1) }
	} END { print best, type }' /proc/self/mountinfo
}

# start_in NAME DIR ARG... - the workload there, ready
start_in() {
	mount_of "$2" >"$1.mount"
	started_in=$1
	shift
	start "$started_in" files "$@"
	[ ! -s "$started_in.err" ] || {
		cp "$started_in.err" "$started_in.skip"
		return 1
	}
}

# Makes all operations; tools trace.
go_to_done() {
	attached
	open_gate "$1" go
	await 60 is_done "$1"
}

is_done() {
	[ -e "$1.gates/done" ] || is_over "$(cat "$1.pid")"
}

end() {
	open_gate "$1" end
	finish "$1" "$(cat "$1.pid")"
}

everything="fs,mount,tid,comm,op,flags,size,errno"

# count_in NAME DIR ARG... - all operations, by all keys
count_in() {
	counted_in=$1
	start_in "$@" || return
	attach "$1-all" -b "$everything" -p "$pid"
	attach "$1-cache" -b file,cache,op -p "$pid"
	go_to_done "$1"
	detach "$1-all" "$1-cache"
	end "$counted_in"
}

# On the disk, or whatever it is, that the test runs on.
count_here() {
	mkdir here
	options="uring cold"
	case $(mount_of here) in
	*" tmpfs" | *" rootfs" | *" ramfs" | *" overlay") options=uring ;;
	*) options="uring cold direct" ;;
	esac
	# shellcheck disable=SC2086 # words
	start_in here "$PWD/here" 3 $options || return
	attach here-all -b "$everything" -p "$pid"
	attach here-file -b file,op -p "$pid"
	attach here-cache -b file,cache,op -p "$pid"
	# What does not depend on the kernel is tested natively.
	[ -e /modules ] || attach_filtered
	attach here-calls --mechanism=raw_tracepoint -b "$everything" -p "$pid"
	go_to_done here
	detach here-all here-file here-cache here-calls
	[ -e /modules ] || detach one-thread one-name some failed slow other
	end here
}

attach_filtered() {
	attach one-thread -b op,comm -t "$(tid_of "$pid" files-1)"
	attach one-name -b op,comm -c files-2
	attach some -b op --op=write,fsync -p "$pid"
	attach failed -b op,errno --errors -p "$pid"
	attach slow -b op --min=100s -p "$pid"
	sleep 1000 &
	started="$started $!"
	attach other -p $!
}

# A file system that gets full.
fill() {
	mkdir small
	mount -t tmpfs -o size=64k tmpfs small || {
		echo "no tmpfs" >full.skip
		return
	}
	echo "$PWD/small" >full.mount
	traced full -b op,errno,mount --op=write -- dd if=/dev/zero of=small/file bs=4096 count=64
	umount small 2>/dev/null || umount -l small
}

# null_blk DELAY - a disk in memory that completes each request DELAY ns later
null_blk() {
	rmmod null_blk 2>/dev/null || :
	[ -e /modules/configfs.ko ] && insmod /modules/configfs.ko 2>/dev/null || :
	insmod /modules/null_blk.ko nr_devices=0 2>/dev/null || return
	mount -t configfs none /sys/kernel/config 2>/dev/null || :
	# Newer kernels name the disk after the folder, others nullb0.
	disk=/sys/kernel/config/nullb/nullb0
	rmdir "$disk" 2>/dev/null || :
	mkdir "$disk" || return
	echo 64 >"$disk/size"
	echo 1 >"$disk/memory_backed"
	echo "$1" >"$disk/completion_nsec"
	echo 2 >"$disk/irqmode"
	echo 1 >"$disk/power" || return
	disk=/dev/nullb0
	[ -b "$disk" ]
}

no_null_blk() {
	umount slow 2>/dev/null
	echo 0 >/sys/kernel/config/nullb/nullb0/power
	rmdir /sys/kernel/config/nullb/nullb0
}

on_slow_disk() {
	mkdir slow
	for delay in 2000000 20000000; do
		null_blk "$delay" || {
			echo "no null_blk" >slow.skip
			return
		}
		mke2fs -q "$disk" >/dev/null 2>&1 || mke2fs "$disk" >/dev/null 2>&1
		mount -t ext4 "$disk" slow 2>mount.err || {
			cp mount.err slow.skip
			return
		}
		case $delay in
		2000000) count_in "slow-$delay" "$PWD/slow" 1 direct uring cold ;;
		*) count_in "slow-$delay" "$PWD/slow" 1 direct ;;
		esac
		no_null_blk
	done
}

at_the_ends() {
	null_blk 8000000000 || return
	echo "$disk" >late.disk
	start late blocks "$disk" 4096 3 1 0 0
	attach open -p "$pid" -b op,file
	attached
	open_gate late go
	sleep 1
	detach open
	await 30 [ -e late.gates/done ]
	open_gate late end
	finish late "$(cat late.pid)"
	no_null_blk
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=file-latency quick=--no-calibrate
	count_here
	if mkdir memory && mount -t tmpfs tmpfs memory 2>/dev/null; then
		count_in memory "$PWD/memory" 2 uring
		umount memory 2>/dev/null || umount -l memory
	else
		echo "no tmpfs" >memory.skip
	fi
	fill
	[ -e /modules/null_blk.ko ] || {
		echo "no null_blk" >slow.skip
		return
	}
	on_slow_disk
	[ -e slow.skip ] || at_the_ends
}

# as_truth WHAT REPORT TRUTH KEYS - rows of REPORT, which are by KEYS of the workload's rows, count what it did
as_truth() {
	evidence "$2" "${2%.json}.err" "$3"
	# Functions of the VFS are called only if the descriptor is good.
	holds "$1" "$2" '
		def sums: group_by([.[$keys | split(",") | .[]]]) | map({key: [.[0][$keys | split(",") | .[]]],
			count: map(.count) | add, errors: map(.errors) | add, bytes: map(.bytes) | add});
		($mount | split(" ")) as $where
		| ($truth[0].calls | map(. + {pid: $truth[0].pid, mount: $where[0], fs: $where[1]}
				| if .errno == "ENOENT" or .errno == "EBADF" then .mount = "-" | .fs = "-" else . end)
			| map(select(.errno != "EBADF" or $last.mechanism.name == "raw_tracepoint")) | sums) as $wanted
		| ($last.rows | map(. + .key) | sums) as $found
		| $found == $wanted or error("found but not wanted \($found - $wanted), wanted but not found \($wanted - $found)")' \
		--slurpfile truth "$3" --arg keys "$4" --arg mount "$(cat "${5:-${3%.truth}.mount}")"
}

# A system call takes at least as long as its function.
within() {
	evidence "$2" "$3"
	holds "$1: no longer than the threads' own clocks say" "$2" '
		($truth[0].calls | group_by([.tid, .op, .flags, .size, .errno]) | map({
			key: (.[0] | [.tid, .op, .flags, .size, .errno]), sum: map(.sum) | add, max: map(.max) | max,
			min: map(.min) | min, median: (if length == 1 then .[0].percentiles["50"] else null end)})) as $wanted
		| all($last.rows[]; . as $r | $wanted[] | select(.key == ($r.key | [.tid, .op, .flags, .size, .errno]))
			| ($r.sum <= .sum and $r.max <= .max and $r.min <= .min
				and (.median == null or $r.percentiles["50"] <= .median * 1.016)) or error("\($r | del(.hist)), \(.)"))' \
		--slurpfile truth "$3"
}

# all_of NAME WHERE - what count_in traced
all_of() {
	as_truth "$2 each operation counts once, for its thread, file system, mount, flags, size and error" \
		"$1-all.json" "$1.truth" "$everything"
	within "$2 ... and takes" "$1-all.json" "$1.truth"
	sound "$2" "$1-all.json"
}

check_here() {
	all_of here "here"
	as_truth "... also by system calls" here-calls.json here.truth "$everything"
	as_truth "... and for its file, by a name that is escaped" here-file.json here.truth file,op
	check_cache here
	if [ -e one-thread.json ]; then
		check_filters
	else
		skip "filters" "they do not depend on the kernel"
	fi
}

# check_cache NAME
check_cache() {
	if jq -e '[.calls[] | select(.cache == "miss")] == []' "$1.truth" >/dev/null; then
		skip "what is in the page cache" "this file system has none below it"
		return
	fi
	jq '.calls |= map(select(.cache != ""))' "$1.truth" >"$1-cold.truth"
	jq -c '.rows |= map(select(.key.file | test("/cold-[0-9]$")))' "$1-cache.json" >"$1-cold.json"
	as_truth "a read of a page that is not in the cache is a miss, the next one a hit" \
		"$1-cold.json" "$1-cold.truth" file,op,cache "$1.mount"
	evidence "$1-cache.json"
	holds "a direct read or write is neither" "$1-cache.json" '
		([$last.rows[] | select(.key.cache == "direct") | .count] | add)
			== ([$truth[0].calls[] | select(.flags == "direct") | .count] | add)' --slurpfile truth "$1.truth"
}

check_filters() {
	jq '.calls |= map(select(.comm == "files-1"))' here.truth >thread.truth
	as_truth "-t captures one thread" one-thread.json thread.truth op,comm here.mount
	jq '.calls |= map(select(.comm == "files-2"))' here.truth >name.truth
	as_truth "-c captures one name" one-name.json name.truth op,comm here.mount
	jq '.calls |= map(select(.op == "write" or .op == "fsync" or .op == "io_uring:write" or .op == "io_uring:fsync"))' \
		here.truth >some.truth
	as_truth "--op captures some operations" some.json some.truth op here.mount
	jq '.calls |= map(select(.errors > 0))' here.truth >failed.truth
	as_truth "--errors captures those that failed, by their error" failed.json failed.truth op,errno here.mount
	evidence slow.json slow.err other.json other.err
	holds "--min of more than any took captures nothing, and says so" slow.json \
		'$last.rows == [] and $last.ledger.filtered_at_exit > 500 and $last.ledger.in_flight == 0'
	holds "-p of a process that sleeps captures nothing" other.json '$last.rows == [] and $last.ledger.unmatched == 0'
}

check_slow() {
	local delay
	for delay in 2000000 20000000; do
		all_of "slow-$delay" "on ext4 on a disk of $delay ns"
		holds "... an fsync, a direct read and a synchronous write take at least that" "slow-$delay-all.json" '
			[$last.rows[] | select(.key.errno == "0" and (.key.op == "fsync" or .key.op == "io_uring:fsync"
				or (.key.op == "read" and .key.flags == "direct") or (.key.op == "write" and .key.flags != "-")))]
			| length > 4 and all(.[]; .min >= $delay or error("\(del(.hist))"))' --argjson delay "$delay"
	done
	check_cache slow-2000000
	evidence open.json open.err late.truth
	holds "what has not ended is listed, with its thread" open.json '
		$last.ledger.in_flight == 3 and $last.rows == [] and ($last.in_flight | length) == 3
		and ([$last.in_flight[].tid] | sort) == ([$truth[0].calls[].tid] | unique)
		and all($last.in_flight[]; .age_ns > 500000000 and .op == "read")' --slurpfile truth late.truth
}

check() {
	if [ -e here.skip ]; then
		skip "operations on files" "$(cat here.skip)"
	else
		check_here
	fi
	if [ -e memory.skip ]; then
		skip "operations on files in memory" "$(cat memory.skip)"
	else
		all_of memory "on tmpfs"
	fi
	if [ -e full.skip ]; then
		skip "a full file system" "$(cat full.skip)"
	else
		evidence full.json full.err
		holds "a write that finds no space fails by that error" full.json '
			[$last.rows[] | select(.key.mount == $mount) | [.key.op, .key.errno, .count, .bytes]]
				== [["write", "0", 16, 65536], ["write", "ENOSPC", 1, 0]]' --arg mount "$(cat full.mount)"
	fi
	if [ -e slow.skip ]; then
		skip "a disk of a known delay" "$(cat slow.skip)"
	else
		check_slow
	fi
}
