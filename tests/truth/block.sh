# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# block-io-latency: each request once, of the thread that made it, as long as its own clock says.

load_modules() {
	for module in configfs loop null_blk; do
		[ ! -e "/modules/$module.ko" ] || insmod "/modules/$module.ko" "$@" 2>/dev/null || :
	done
}

# start_on DEVICE NAME ARG... - blocks on it, which is ready; $pid
start_on() {
	device=$1
	workload=$2
	shift 2
	start "$workload" blocks "/dev/$device" "$@"
	echo "$device" >"$workload.disk"
}

# start_loop NAME FILE SCHEDULER ARG... - the same on a loop device that goes when the workload has ended
start_loop() {
	loop=$(losetup -f) && losetup "$loop" "$2" || {
		echo "no loop device" >"$1.skip"
		return 1
	}
	looped=$1
	if ! echo "$3" >"/sys/block/${loop#/dev/}/queue/scheduler" 2>/dev/null; then
		losetup -d "$loop"
		echo "no scheduler $3" >"$1.skip"
		return 1
	fi
	shift 3
	start_on "${loop#/dev/}" "$looped" "$@"
	losetup -d "$loop"
}

# go_to_done NAME - all its I/O, with the kernel's counters before and after
go_to_done() {
	attached
	cat "/sys/block/$(cat "$1.disk")/stat" >"$1.before"
	open_gate "$1" go
	await 120 [ -e "$1.gates/done" ]
	cat "/sys/block/$(cat "$1.disk")/stat" >"$1.after"
}

end() {
	open_gate "$1" end
	finish "$1" "$(cat "$1.pid")"
}

count_requests() {
	start_loop counted file none 8192 5 37 23 7 || return
	attach by-thread -b disk,op,tid,comm,size -p "$pid"
	attach stages -b op,stage,tid -p "$pid"
	attach one-thread -b op,comm -t "$(tid_of "$pid" blocks-3)"
	attach one-name -b op,pid -c blocks-2
	attach by-flags -b op,flags,part,errno -p "$pid"
	attach machine -b disk,pid,op
	sleep 1000 &
	started="$started $!"
	attach other -p $!
	go_to_done counted
	detach by-thread stages one-thread one-name by-flags machine other
	end counted
}

# One by one, also without room for them and without a reader.
one_by_one() {
	start_loop single file none 8192 3 17 11 5 || return
	attach lines-json --slower=0ns -p "$pid"
	attach none --slower=1000s -p "$pid"
	attach full --slower=0ns --buffer=4K -p "$pid"
	launch lines --slower=0ns -p "$pid"
	await 30 is_tracing lines
	mkfifo one-line.fifo
	head -n 1 <one-line.fifo >one-line.out &
	"$program" --no-calibrate --slower=0ns -p "$pid" </dev/null >one-line.fifo 2>one-line.err &
	reader=$! started="$started $!"
	await 30 grep -q 'tracing …' one-line.err
	attached
	kill -STOP "$(cat full.pid)"
	go_to_done single
	kill -CONT "$(cat full.pid)"
	await 20 is_over "$reader" || kill -9 "$reader"
	finish one-line "$reader"
	detach lines-json none full lines
	end single
}

scheduled() {
	start_loop scheduled file mq-deadline 4096 16 31 13 0 || return
	attach scheduled -b tid,op -p "$pid"
	go_to_done scheduled
	detach scheduled
	end scheduled
}

# The file system behind the device is full.
failing() {
	mkdir small
	mount -t tmpfs -o size=128k tmpfs small || {
		echo "no tmpfs" >failing.skip
		return
	}
	truncate -s 32M small/file 2>/dev/null || dd if=/dev/null of=small/file bs=1M seek=32 2>/dev/null
	if start_loop failing small/file none 65536 1 5 11 0; then
		attach failed -b op,errno -p "$pid"
		go_to_done failing
		detach failed
		end failing
	fi
	umount small 2>/dev/null || umount -l small
}

by_uring() {
	start_loop ring file none 4096 3 41 17 0 uring || return
	if is_over "$pid"; then
		mv ring.err ring.skip
		return
	fi
	attach uring -b op,pid -p "$pid"
	go_to_done ring
	detach uring
	end ring
}

read_ahead() {
	loop=$(losetup -f) && losetup "$loop" file || return
	traced ahead -b op,flags,comm -- dd if="$loop" of=/dev/null bs=65536 count=32
	losetup -d "$loop"
}

# A file of its own on the disk, if it is on one.
on_disk() {
	case $(stat -f -c %T file) in
	tmpfs | ramfs | rootfs) echo "no disk" >plain.skip && return ;;
	esac
	start plain blocks file 16384 2 29 19 0
	if is_over "$pid"; then
		echo "no direct I/O here" >plain.skip
		return
	fi
	attach plain-tool -b disk,op,tid -p "$pid"
	attached
	open_gate plain go
	await 60 [ -e plain.gates/done ]
	detach plain-tool
	end plain
}

# null_blk DELAY DEPTH SCHEDULER - a disk that completes each request DELAY ns later
null_blk() {
	rmmod null_blk 2>/dev/null || :
	load_modules nr_devices=1 queue_mode=2 irqmode=2 "completion_nsec=$1" "hw_queue_depth=$2" submit_queues=1 gb=1
	[ -e /sys/block/nullb0 ] || return
	echo "$3" >/sys/block/nullb0/queue/scheduler 2>/dev/null || :
}

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
	null_blk 3000000000 64 none || return
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

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=block-io-latency quick=--no-calibrate
	[ -e /sys/block/loop0 ] || load_modules
	dd if=/dev/zero of=file bs=1048576 count=16 2>/dev/null
	sync file 2>/dev/null || sync
	count_requests
	one_by_one
	scheduled
	failing
	by_uring
	read_ahead
	on_disk
	rm file
	[ -e /modules/null_blk.ko ] || {
		echo "no null_blk" >null.skip
		return
	}
	delayed
	one_at_a_time
	at_the_ends
	writeback
}

# as_truth WHAT REPORT TRUTH KEYS - rows of REPORT, which are by KEYS of the workload's rows, count what it did
as_truth() {
	evidence "$2" "${2%.json}.err" "$3"
	holds "$1" "$2" '
		def sums: group_by([.[$keys | split(",") | .[]]]) | map({key: [.[0][$keys | split(",") | .[]]],
			count: map(.count) | add, errors: map(.errors) | add, bytes: map(.bytes) | add});
		($truth[0].calls | map(. + {pid: $truth[0].pid, disk: $disk}) | sums) as $wanted
		| ($last.rows | map(. + .key) | sums) as $found
		| $found == $wanted or error("found \($found), wanted \($wanted)")' \
		--slurpfile truth "$3" --arg keys "$4" --arg disk "$(cat "${3%.truth}.disk" 2>/dev/null)"
}

# A request is a part of its call.
within() {
	evidence "$2" "$3"
	holds "$1: no longer than the threads' own clocks say" "$2" '
		all($last.rows[]; . as $r | $truth[0].calls[] | select(.op == $r.key.op and .tid == $r.key.tid)
			| $r.sum <= .sum and $r.max <= .max and $r.min <= .min
			and $r.percentiles["50"] <= .percentiles["50"] * 1.016)' --slurpfile truth "$3"
}

# add_up REPORT TRUTH KEY - the stages of requests that are grouped by KEY
add_up() {
	evidence "$1" "${1%.json}.err" "$2"
	holds "the stages of requests, each counted once in each, add up to their whole time, ${1%.json}" "$1" '
		($last.rows | group_by([.key.op, .key[$key]]) | map(map({(.key.stage): .}) | add)) as $all
		| ($last.ledger.recorded == ($truth[0].calls | map(.count) | add))
		and all($all[]; .before.sum + .queued.sum + .device.sum == .whole.sum
			and .before.count == .whole.count and .queued.count == .whole.count and .device.count == .whole.count)' \
		--slurpfile truth "$2" --arg key "$3"
}

check_counts() {
	if [ -e counted.skip ]; then
		skip "requests of a loop device" "$(cat counted.skip)"
		return
	fi
	as_truth "each request counts once, for its thread, disk and operation" by-thread.json counted.truth tid,comm,op,disk
	holds "... in the class of its size" by-thread.json \
		'all($last.rows[]; .key.size == if .key.op == "flush" then 0 else 8192 end)'
	within "... and takes" by-thread.json counted.truth
	sound "by thread" by-thread.json
	jq '.calls |= map(select(.comm == "blocks-3"))' counted.truth >thread.truth
	as_truth "-t captures one thread" one-thread.json thread.truth op,comm
	jq '.calls |= map(select(.comm == "blocks-2"))' counted.truth >name.truth
	as_truth "-c captures one name" one-name.json name.truth op,pid
	evidence machine.json machine.err
	holds "without a filter the disk's requests are those of the process" machine.json '
		[$last.rows[] | select(.key.disk == $disk and .key.pid == $truth[0].pid) | .count] | add == 5 * (37 + 23 + 7)' \
		--slurpfile truth counted.truth --arg disk "$(cat counted.disk)"
	holds "... and what the disk below does for it is another's" machine.json '
		[$last.rows[] | select(.key.disk != $disk and .key.pid == $truth[0].pid)] == []' \
		--slurpfile truth counted.truth --arg disk "$(cat counted.disk)"
	evidence by-flags.json by-flags.err
	holds "direct writes are synchronous, of no partition, and succeed" by-flags.json '
		all($last.rows[]; (.key.op == "read" or (.key.flags | test("sync"))) and .key.part == $disk and .key.errno == "0")' \
		--arg disk "$(cat counted.disk)"
	evidence other.json other.err
	holds "-p of a process that sleeps captures nothing" other.json '$last.rows == [] and $last.ledger.unmatched == 0'
	add_up stages.json counted.truth tid
	holds "a flush was in the device, too" stages.json \
		'$last.rows | map(select(.key.op == "flush" and .key.stage == "device")) | (map(.count) | add) == 35 and all(.[]; .min > 0)'
	evidence by-thread.json counted.before counted.after
	# Some kernels count a flush as a write.
	# reads merged sectors ms writes merged sectors ms now ms ms discards merged sectors ms flushes ms
	claim "the kernel's own counters of the disk say the same" awk -v reads="$(rows read)" -v writes="$(rows write)" \
		'NR == 1 { r = $1; s = $3; w = $5; t = $7; next }
		{ exit !($1 - r == reads && $3 - s == reads * 16 && $7 - t == writes * 16 && ($5 - w == writes || $5 - w == writes + 35)) }' \
		counted.before counted.after
}

check_lines() {
	if [ -e single.skip ]; then
		skip "single requests" "$(cat single.skip)"
		return
	fi
	evidence lines-json.json lines-json.err single.truth
	holds "--slower prints each request of the workload once: thread, operation, place, size" lines-json.json '
		[$all[] | .request // empty] as $lines
		| ($lines | map([.tid, .op, .bytes, .sector])) as $found
		| ($truth[0].calls | map(.count) | add) as $n
		| ($found | length) == $n and $last.ledger.recorded == $n and $last.ledger.lost == 0
		and ([$truth[0].calls[] | .tid as $tid | (.comm | ltrimstr("blocks-") | tonumber) as $thread | .op as $op
				| {"read": 0, "write": 17, "flush": 0}[$op] as $first | range(.count)
				| [$tid, $op] + (if $op == "flush" then [0, 0] else [8192, ($thread * 28 + . + $first) * 32] end)] | sort)
			== ($found | sort)
		and all($lines[]; .pid == $truth[0].pid and .disk == $disk and .errno == "0" and (.comm | test("^blocks-[0-2]$")))' \
		--slurpfile truth single.truth --arg disk "$(cat single.disk)"
	holds "... in the order of their ends, each with stages that add up" lines-json.json '
		[$all[] | .request // empty] | (map(.end) == (map(.end) | sort)) and all(.[]; .before + .queued + .device == .whole and .device > 0)'
	holds "... and as long as the rows say" lines-json.json '
		([$all[] | .request // empty | .whole] | [add, max]) == [([$last.rows[].sum] | add), ([$last.rows[].max] | max)]'
	evidence lines single.truth
	claim "... as text, too" awk '$1 ~ /^[0-9:.]+$/ && $6 ~ /^loop/ && $7 ~ /^(read|write|flush)$/ && $10 ~ /^blocks-[0-2]\// { n++ }
		END { exit n != 3 * 33 }' lines.json
	evidence none.json none.err
	holds "shorter requests are counted, not printed" none.json \
		'([$all[] | .request // empty] | length) == 0 and $last.ledger.filtered_at_exit == 99 and $last.ledger.recorded == 0'
	evidence full.json full.err
	holds "without room they are dropped: the ledger has them" full.json '
		([$all[] | .request // empty] | length) as $n | $n > 0 and $last.ledger.recorded == $n
		and $last.ledger.dropped == 99 - $n and $last.ledger.dropped > 0 and $last.ledger.lost == $last.ledger.dropped'
	evidence one-line.out one-line.err
	claim "a reader that goes away ends it quietly" sh -c '[ "$(wc -l <one-line.out)" = 1 ] && [ "$(wc -l <one-line.err)" = 1 ]'
}

# The requests of an operation, in by-thread.json.
rows() {
	jq -s --arg op "$1" '[.[-1].rows[] | select(.key.op == $op) | .count] | add' by-thread.json
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

check() {
	check_counts
	check_lines
	if [ -e scheduled.skip ]; then
		skip "a scheduler queues requests" "$(cat scheduled.skip)"
	else
		as_truth "with a scheduler each request counts once" scheduled.json scheduled.truth tid,op
		# 5.10 issues reads directly.
		holds "... and was queued by it" scheduled.json \
			'$last.bypassed == 0 or (($last.kernel | test("^5[.]10")) and $last.bypassed == 16 * 31)'
		within "... and takes" scheduled.json scheduled.truth
		sound "with a scheduler" scheduled.json
	fi
	if [ -e failing.skip ]; then
		skip "requests that fail" "$(cat failing.skip)"
	else
		as_truth "requests that fail are counted as such" failed.json failing.truth op
		holds "... by the error that the call returned" failed.json '
			[$last.rows[] | select(.errors > 0) | .key.errno] == [$truth[0].calls[] | select(.errors > 0)
				| {"5": "EIO", "28": "ENOSPC"}[.errno | tostring]]' --slurpfile truth failing.truth
	fi
	if [ -e ring.skip ]; then
		skip "io_uring" "$(cat ring.skip)"
	else
		as_truth "io_uring: each request counts once, for its process" uring.json ring.truth op,pid
	fi
	evidence ahead.json ahead.err
	holds "what is read ahead says so" ahead.json \
		'[$last.rows[] | select(.key.op == "read" and (.key.flags | test("readahead")) and .key.comm == "dd")] | length > 0'
	if [ -e plain.skip ]; then
		skip "a file on a disk" "$(cat plain.skip)"
	else
		as_truth "a file's direct I/O counts once, for its thread" plain-tool.json plain.truth op,tid
		within "... and takes" plain-tool.json plain.truth
		sound "of a file" plain-tool.json
	fi
	if [ -e null.skip ]; then
		skip "a disk of a known delay" "$(cat null.skip)"
	else
		check_null
	fi
}
