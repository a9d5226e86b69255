# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# block-io-latency: each request once, of the thread that made it, as long as its own clock says: on
# loop devices, whose requests are also printed one by one, and in a file.

# shellcheck source=lib/disks.sh
. "$truth/lib/disks.sh"

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

count_requests() {
	start_loop counted file none 8192 5 37 23 7 || return
	attach by-thread -b disk,op,tid,comm,size -p "$pid"
	attach stages -b op,stage,tid -p "$pid"
	attach one-thread --verify -b op,comm -t "$(tid_of "$pid" blocks-3)"
	attach one-name -b op,pid -c blocks-2
	attach by-flags -b op,flags,part,errno -p "$pid"
	attach machine --verify -b disk,pid,op
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
	attach kept --slower=0ns --keep=5 --out=kept.dump -p "$pid"
	attach none --slower=1000s -p "$pid"
	attach full --slower=0ns --buffer=4K -p "$pid"
	launch lines --slower=0 -p "$pid"
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
	detach lines-json kept none full lines
	end single
}

scheduled() {
	start_loop scheduled file mq-deadline 4096 16 31 13 0 || return
	attach scheduled -b tid,op -p "$pid"
	attach uncounted --verify --strict
	attached
	echo 0 >"/sys/block/$(cat scheduled.disk)/queue/iostats"
	go_to_done scheduled
	echo 1 >"/sys/block/$(cat scheduled.disk)/queue/iostats"
	detach scheduled uncounted
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

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=block-io-latency quick=--no-calibrate
	[ -e /sys/block/loop0 ] || load loop
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
	holds "--verify: the statistics of the disks count as many" machine.json '
		$last.witness | .missed == 0 and .more == 0 and .least >= 335 and .seen >= 335 and (.seen - .least | fabs) < 20'
	holds "... and those of threads not" one-thread.json '$last.witness.none | test("by thread")'
	# Of 335 one thread has 67. Where programs can be preempted, a completion may not be seen.
	evidence one-thread.json machine.json
	holds "-t: the requests of the same disk by others are counted" one-thread.json '$last.others >= 200'
	holds "... without a filter there are none" machine.json '$last.others == null'
	evidence by-flags.json by-flags.err
	holds "direct writes are synchronous, of no partition, and succeed" by-flags.json '
		all($last.rows[]; (.key.op == "read" or (.key.flags | test("sync"))) and .key.part == $disk and .key.errno == "0")' \
		--arg disk "$(cat counted.disk)"
	evidence other.json other.err
	holds "-p of a process that sleeps captures nothing" other.json '$last.rows == [] and $last.ledger.unmatched == 0 and $last.others == 0'
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
		| ($found | length) == $n and $last.ledger.recorded == $n and ($last.ledger | (.lost // .lost_at_least) == 0)
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
	claim "... as text, too, in at most 80 columns" awk 'length($0) > 80 && $9 ~ "/[0-9]?[0-9]?[0-9]?[0-9]?[0-9]$" { wide++ }
		$1 ~ /^[0-9:.]+$/ && $6 ~ /^loop/ && $7 ~ /^(read|write|flush)$/ && $9 ~ /^blocks-[0-2]\// { n++ }
		END { exit n != 3 * 33 || wide }' lines.json
	evidence kept.dump kept.err kept.out lines-json.json
	holds "--keep=5 has the last five when it ends" kept.dump '
		[$all[] | .request // empty | [.tid, .op, .bytes, .sector]] as $kept
		| ($lines | map(.request // empty | [.tid, .op, .bytes, .sector]) | .[-5:]) == $kept and ($kept | length) == 5
		and $last.dump.records == 5 and $last.dump.forgotten == 94 and $last.ledger.recorded == 99' \
		--slurpfile lines lines-json.json
	evidence none.json none.err
	holds "shorter requests are counted, not printed" none.json \
		'([$all[] | .request // empty] | length) == 0 and $last.ledger.filtered_at_exit == 99 and $last.ledger.recorded == 0'
	evidence full.json full.err
	holds "without room they are dropped: the ledger has them" full.json '
		([$all[] | .request // empty] | length) as $n | $n > 0 and $last.ledger.recorded == $n
		and $last.ledger.dropped == 99 - $n and $last.ledger.dropped > 0 and ($last.ledger | (.lost // .lost_at_least) == .dropped)'
	evidence one-line.out one-line.err
	claim "a reader that goes away ends it quietly" sh -c '[ "$(wc -l <one-line.out)" = 1 ] && [ "$(wc -l <one-line.err)" = 1 ]'
}

# The requests of an operation, in by-thread.json.
rows() {
	jq -s --arg op "$1" '[.[-1].rows[] | select(.key.op == $op) | .count] | add' by-thread.json
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
		evidence uncounted.json uncounted.err
		holds "--verify: requests that a disk does not count are told" uncounted.json \
			'$last.witness | .missed == 0 and .more > 600 and .more <= 16 * (31 + 13)'
		is "... --strict: an error" "$(cat uncounted.status)" 3
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
}
