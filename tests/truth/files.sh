# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# file-latency: each operation on a file once, for its thread, as long as the thread's own clock says.

# shellcheck source=lib/file-systems.sh
. "$truth/lib/file-systems.sh"
# shellcheck source=lib/slow-disks.sh
. "$truth/lib/slow-disks.sh"

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

# All workloads make all operations; tools trace.
go_to_done() {
	attached
	for place in $places; do
		open_gate "$place" go
	done
	for place in $places; do
		await 60 is_done "$place"
	done
}

is_done() {
	[ -e "$1.gates/done" ] || is_over "$(cat "$1.pid")"
}

end() {
	open_gate "$1" end
	finish "$1" "$(cat "$1.pid")"
}

everything="pid,fs,mount,tid,comm,op,flags,size,errno,file,cache"

# 32-bit calls.
start_emulated() {
	start emulated ia32 17 0 "$PWD/emulated.file" || :
	if is_over "$pid"; then
		cp emulated.err emulated.skip
	else
		attach emulated -b op,file,fs -p "$pid"
		emulated=$pid
	fi
}

# A workload on the disk, or whatever it is, that the test runs on, and one in memory.
start_here() {
	mkdir here
	case $(mount_of here) in
	*" tmpfs" | *" rootfs" | *" ramfs" | *" overlay") options="uring aio" ;;
	*) options="uring aio cold direct" ;;
	esac
	# shellcheck disable=SC2086 # words
	start_in here "$PWD/here" 3 $options || return
	places=here pids=$pid here=$pid
	if mkdir memory && mount -t tmpfs tmpfs memory 2>/dev/null; then
		start_in memory "$PWD/memory" 2 uring aio
		places="$places memory" pids="$pids,$pid"
		start_layered
	else
		echo "no tmpfs" >memory.skip
	fi
}

# A layered file system: what happens in its upper layer, in memory, is not counted again.
start_layered() {
	mkdir layers memory/lower memory/upper memory/work
	[ ! -e /modules/overlay.ko ] || insmod /modules/overlay.ko 2>/dev/null || :
	if mount -t overlay overlay -o lowerdir=memory/lower,upperdir=memory/upper,workdir=memory/work layers 2>/dev/null; then
		start_in layers "$PWD/layers" 1 uring aio
		places="$places layers" pids="$pids,$pid"
	else
		echo "no overlayfs" >layers.skip
	fi
}

start_xfs() {
	mkdir xfs
	if disk=$(xfs_disk) && mount -t xfs "$disk" xfs 2>/dev/null; then
		start_in xfs "$PWD/xfs" 2 direct uring cold aio
		places="$places xfs" pids="$pids,$pid"
	else
		echo "the machine has no disk with an xfs" >xfs.skip
	fi
}

# What does not depend on the kernel is tested natively.
attach_filtered() {
	attach one-thread -b op,comm -t "$(tid_of "$here" files-1)"
	attach one-name -b op,comm -c files-2
	attach some -b op --op=write,fsync -p "$here"
	attach failed -b op,errno --errors -p "$here"
	attach slow -b op --min=100s -p "$here"
	sleep 1000 &
	started="$started $!"
	attach other -p $!
	program=file-io-breakdown attach parts -b syscall -p "$here"
}

# Requests of io_uring that end without a completion, and others at the same address; and some that a
# thread of the kernel submits.
submit_otherwise() {
	mkdir unseen polled
	places='' pids=''
	for way in "unseen skip" "polled sqpoll"; do
		start_in "${way% *}" "$PWD/${way% *}" 1 uring "${way#* }" || continue
		attach "${way% *}-all" -b "$everything" -p "$pid"
		places="$places ${way% *}"
	done
	go_to_done
	for place in $places; do
		detach "$place-all"
		end "$place"
	done
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

trace_all() {
	start_here || return
	if [ -e /modules/null_blk.ko ]; then
		start_slow
		start_xfs
		# On 7.x the kernel preempts these programs, and skips them.
		case $(uname -r) in
		7.*) ;;
		*) attach calls --mechanism=raw_tracepoint --max-keys=600 -b "$everything" -p "$pids" ;;
		esac
	else
		echo "no null_blk" >slow.skip
		attach_filtered
	fi
	attach all --max-keys=600 -b "$everything" -p "$pids"
	start_emulated
	go_to_done
	if [ ! -e emulated.skip ]; then
		go emulated
		finish emulated "$emulated"
		detach emulated
	fi
	[ -e slow.skip ] || freeze
	detach all
	if [ -e calls.pid ]; then detach calls; fi
	[ -e slow.skip ] || thaw
	if [ -e one-name.pid ]; then detach one-thread one-name some failed slow other parts; fi
	for place in $places; do
		end "$place"
	done
	umount layers 2>/dev/null || :
	umount memory 2>/dev/null || umount -l memory
	[ -e slow.skip ] || no_slow_disks
	[ ! -e xfs.pid ] || umount xfs
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=file-latency quick=--no-calibrate
	trace_all
	[ -e /modules ] || {
		submit_otherwise
		fill
	}
	traced untimed -- sh -c 'fallocate -l 4096 u; truncate -s 8192 u; sync; sync'
}

# rows_of REPORT TRUTH - those of one workload
rows_of() {
	jq -c --slurpfile truth "$2" '.rows |= map(select(.key.pid == $truth[0].pid))' "$1"
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
			| map(select(if $last.mechanism.name == "raw_tracepoint" then .op | startswith("aio:") | not else .errno != "EBADF" end)) | sums) as $wanted
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
		| ($last.rows | group_by(.key | [.tid, .op, .flags, .size, .errno]) | map({key: (.[0].key | [.tid, .op, .flags, .size, .errno]),
			sum: map(.sum) | add, max: map(.max) | max, min: map(.min) | min,
			median: (if length == 1 then .[0].percentiles["50"] else null end)})) as $found
		| all($found[]; . as $r | $wanted[] | select(.key == $r.key)
			| ($r.sum <= .sum and $r.max <= .max and $r.min <= .min
				and (.median == null or $r.median == null or $r.median <= .median * 1.016)) or error("\($r), \(.)"))' \
		--slurpfile truth "$3"
}

# all_of NAME WHERE - what one workload did, as each report has it
all_of() {
	local report
	for report in all calls; do
		[ -e "$report.json" ] || continue
		rows_of "$report.json" "$1.truth" >"$1-$report.json"
		as_truth "on $2, by $report: each operation counts once, for its thread, file system, mount, flags, size, error and file" \
			"$1-$report.json" "$1.truth" "fs,mount,tid,comm,op,flags,size,errno,file"
		within "... and takes" "$1-$report.json" "$1.truth"
	done
	check_cache "$1"
	# Where completions of AIO were not seen, nothing says that a request hangs.
	holds "all have ended, and none is listed as hanging, $1" "$1-all.json" '
		[$last.in_flight[] | select(.op | startswith("aio:"))] == []
		and ($last.aio_not_listed == null or $last.mechanism.name != "raw_tracepoint")
		or error("\($last | [.mechanism.name, .aio_not_listed, .in_flight])")'
}

# check_cache NAME
check_cache() {
	if jq -e '[.calls[] | select(.cache == "miss")] == []' "$1.truth" >/dev/null; then
		skip "what is in the page cache" "this file system has none below it"
		return
	fi
	jq '.calls |= map(select(.cache != ""))' "$1.truth" >"$1-cold.truth"
	jq -c '.rows |= map(select(.key.file | test("/cold-[0-9]$")))' "$1-all.json" >"$1-cold.json"
	as_truth "a read of a page that is not in the cache is a miss, the next one a hit" \
		"$1-cold.json" "$1-cold.truth" file,op,cache "$1.mount"
	evidence "$1-all.json"
	holds "a direct read or write is neither" "$1-all.json" '
		([$last.rows[] | select(.key.cache == "direct") | .count] | add) == ([$truth[0].calls[]
			| select(.flags == "direct" and (.op | startswith("aio:") | not) or $last.mechanism.name != "raw_tracepoint") | select(.flags == "direct")
			| .count] | add)' --slurpfile truth "$1.truth"
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

# The rows of two disks, and the three opens of a frozen file system.
check_slow() {
	local delay report
	for delay in 2000000 10000000; do
		all_of "slow-$delay" "ext4 on a disk of $delay ns"
		for report in all calls; do
			[ -e "$report.json" ] || continue
			holds "... by $report: an fsync, a direct read and a synchronous write take at least that" "slow-$delay-$report.json" '
				[$last.rows[] | select(.key.errno == "0" and ((.key.op | test("fsync$"))
					or ((.key.op | test("read$")) and .key.flags == "direct") or (.key.op == "write" and .key.flags != "-")))]
				| length > 4 and all(.[]; .min >= $delay or error("\(del(.hist))"))' --argjson delay "$delay"
		done
	done
	holds "fsync and direct reads by AIO are among them" slow-2000000-all.json '
		([$last.rows[].key | select(.errno == "0" and (.op == "aio:fsync" or .op == "aio:read" and .flags == "direct"))]
			| length) == 2'
	for report in all calls; do
		[ -e "$report.json" ] || continue
		evidence "$report.json" "$report.err" late.pids
		holds "by $report: what has not ended is listed, with its thread" "$report.json" '
			$last.ledger.in_flight == 3 and ($last.in_flight | length) == 3
			and ([$last.in_flight[].tid] | sort) == ($tids | sort)
			and all($last.in_flight[]; .age_ns > 500000000 and .op == "open")' --slurpfile tids late.pids
		sound "by $report" "$report.json"
	done
}

check_polled() {
	[ ! -e polled.skip ] || { skip "requests that a thread of the kernel submits" "$(cat polled.skip)" && return; }
	as_truth "requests that a thread of the kernel submits count for the process" polled-all.json polled.truth \
		"pid,fs,mount,op,flags,size,errno,file" polled.mount
}

check_emulated() {
	[ ! -e emulated.skip ] || { skip "32-bit calls" "$(cat emulated.skip)" && return; }
	evidence emulated.json emulated.truth
	holds "32-bit calls count once, for their file" emulated.json '
		([$truth[0].calls[] | [.op, .count, .errors, .bytes]] | sort)
			== ([$last.rows[] | select(.key.file | endswith("/emulated.file")) | [.key.op, .count, .errors, .bytes]] | sort)' \
		--slurpfile truth emulated.truth
}

check_unseen() {
	if [ -e unseen.skip ]; then
		skip "requests without completions" "$(cat unseen.skip)"
		return
	fi
	as_truth "a request at the address of one that ended without a completion counts" \
		unseen-all.json unseen.truth "${everything%,cache}" unseen.mount
	within "... and takes" unseen-all.json unseen.truth
	holds "... and those without are counted as lost, or in flight" unseen-all.json '
		($truth[0].calls | map(.skipped) | add) as $n
		| $n > 40 and $last.ledger.exit_lost + $last.ledger.in_flight == $n
		or error("\($n), \($last.ledger)")' --slurpfile truth unseen.truth
}

check_untimed() {
	evidence untimed.json untimed.err parts.json here.truth
	holds "calls that are not timed are counted" untimed.json '
		$last.not_seen == [{kind: "truncate", count: 1}, {kind: "fallocate", count: 1}, {kind: "sync", count: 2}]
		or error("\($last.mechanism.name) \($last.not_seen)")'
	[ -e some.json ] || return
	made='def made(match): {kind: ., count: ($truth[0].calls | map(select(.op | match).count) | add)}; ("io_submit" | made(startswith("aio:"))) as $aio'
	holds "... and io_submit()" some.json "$made | \$last.not_seen == (if \$last.mechanism.name == \"raw_tracepoint\" then [\$aio] else [] end)
		or error(\"\(\$aio) \(\$last.not_seen)\")" --slurpfile truth here.truth
	holds "... by file-io-breakdown, too, and I/O outside of its calls" parts.json "$made"'
		| [$last.not_seen[] | select(.kind != "io_uring")] == [$aio, ("sendfile", "splice", "copy_file_range" | . as $op | made(. == $op))]
		and $last.io_outside >= ([$truth[0].calls[] | select((.op | startswith("aio:")) and .flags == "direct" and .errors == 0).count] | add // 0)
		or error("\($last | [.not_seen, .io_outside])")' --slurpfile truth here.truth
}

check() {
	if [ -e here.skip ]; then
		skip "operations on files" "$(cat here.skip)"
		return
	fi
	check_untimed
	all_of here "here"
	if [ -e memory.skip ]; then
		skip "operations on files in memory" "$(cat memory.skip)"
	else
		all_of memory "tmpfs"
	fi
	if [ -e layers.truth ]; then
		all_of layers "overlayfs"
	else
		skip "a layered file system" "$(cat layers.skip)"
	fi
	check_emulated
	if [ -e xfs.truth ]; then
		all_of xfs "xfs"
	elif [ -e xfs.skip ]; then
		skip "xfs" "$(cat xfs.skip)"
	fi
	if [ -e slow.skip ]; then
		skip "a disk of a known delay" "$(cat slow.skip)"
		sound "all" all.json
	else
		check_slow
	fi
	if [ -e one-thread.json ]; then
		check_filters
		check_unseen
		check_polled
		if [ -e full.skip ]; then
			skip "a full file system" "$(cat full.skip)"
		else
			evidence full.json full.err
			holds "a write that finds no space fails by that error" full.json '
				[$last.rows[] | select(.key.mount == $mount) | [.key.op, .key.errno, .count, .bytes]]
					== [["write", "0", 16, 65536], ["write", "ENOSPC", 1, 0]]' --arg mount "$(cat full.mount)"
		fi
	else
		skip "filters" "they do not depend on the kernel"
	fi
}
