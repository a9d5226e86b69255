# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# The flight recorder: what is in a dump, when it is written, and what happens when it cannot be.

# dumped FILE - as a dump has been written
dumped() {
	[ -e "$1" ]
}

# keep NAME ARG... - launch, with dumps to NAME.dump, and wait until it traces
keep() {
	keep=$1
	shift
	launch "$keep" --out="$keep.dump" "$@"
	await 30 is_tracing "$keep"
}

# let_go WORKLOAD - what was started runs to its end
let_go() {
	open_gate "$1" go
	finish "$1" "$(cat "$1.pid")"
}

# ask NAME - a dump by SIGUSR1, as NAME-NUMBER.json
ask() {
	rm -f "$1.dump"
	kill -USR1 "$(cat "$1.pid")"
	await 20 dumped "$1.dump"
	asked=$((asked + 1))
	cp "$1.dump" "$1-$asked.json"
}

# pids WORKLOAD...
pids() {
	for one; do
		cat "$one.pid"
	done | paste -s -d ,
}

# What was counted between, and while, dumps are written.
asked_for() {
	asked=0
	start first calls 1009 getppid
	start second calls 23 getppid
	start third calls 4001 getppid
	keep asked --keep=60s/500ms -s getppid -p "$(pids first second third)"
	let_go first
	ask asked
	sleep 1.2 # they are in an interval that is kept
	let_go second
	ask asked
	let_go third # the last one that is traced
	finish asked "$tool"
	cp asked.dump asked-end.json

	start target-loop loop udp 3 100
	keep loop --keep=60s/200ms --max-dumps=100 -s sendto -p "$pid"
	open_gate target-loop go
	for _ in 1 2 3 4 5 6 7 8; do
		kill -USR1 "$tool"
		sleep 0.2
	done
	finish target-loop "$(cat target-loop.pid)"
	finish loop "$tool"
	cp loop.dump loop-end.json
	for dump in loop.dump.*; do
		cp "$dump" "loop-${dump##*.}.json"
	done
}

# Two asked at once, and rotation to two files.
twice() {
	keep twice --keep=5s/500ms --max-dumps=2 -s getppid -p "$sleeper"
	kill -USR1 "$tool"
	kill -USR1 "$tool"
	await 20 dumped twice.dump
	kill -USR1 "$tool"
	sleep 0.5
	kill -TERM "$tool"
	finish twice "$tool"
	cp twice.dump twice-end.json
	cp twice.dump.1 twice-1.json
	ls twice.dump* >twice.files
}

# Asked before it traces.
early() {
	launch early --keep=5s/500ms --start-at=+1s -s getppid -p "$sleeper" --out=early.dump
	await 20 grep -q keeps early.err
	kill -USR1 "$tool"
	grep -c 'tracing …' early.err >early.traced
	await 20 dumped early.dump
	cp early.dump early-1.json
	kill -TERM "$tool"
	finish early "$tool"
}

triggered() {
	start fast calls 1009 getppid
	start slow slow 7 101
	start late calls 23 getppid
	workloads=$(pids fast slow late)
	set -- --keep=60s/500ms -b pid,syscall -p "$workloads" --trigger='max>2ms' --trigger-key=syscall=rt_sigtimedwait
	launch exits --out=exits.dump --exit-on-dump "$@"
	launch after --out=after.dump --after=1s "$@"
	await 30 is_tracing exits
	await 30 is_tracing after
	keep once "$@" --trigger='count>1000000'
	let_go fast
	sleep 1
	ls once.dump exits.dump after.dump >triggered.early 2>/dev/null
	let_go slow
	await 20 is_over "$(cat exits.pid)"
	finish exits "$(cat exits.pid)"
	await 20 dumped once.dump
	cp once.dump once-1.json
	await 20 dumped after.dump
	cp after.dump after-1.json
	# It would hold again, but cools down.
	let_go late
	finish once "$(cat once.pid)"
	finish after "$(cat after.pid)"
	cp exits.dump exits-end.json
	cp once.dump once-end.json
}

# A hundred times as many calls as before; not one or two intervals' calls in one.
medians() {
	workloads=
	for i in 1 2 3 4 5 6 7 8; do
		start "few-$i" calls 100 getppid
		workloads="$workloads few-$i"
	done
	start many calls 20000 getppid
	# shellcheck disable=SC2086 # words
	keep median --keep=60s/200ms -s getppid -b comm -p "$sleeper,$(pids $workloads many)" --trigger='count>20*median' \
		--exit-on-dump
	for i in $workloads; do
		let_go "$i"
		sleep 0.3
	done
	kill -0 "$tool" 2>median.early
	let_go many
	finish median "$tool"
	cp median.dump median-end.json
}

rates() {
	start quick calls 1009 getppid
	keep rate --keep=60s/500ms -s getppid -b comm -p "$sleeper,$(pids quick)" --trigger='count>500/s' --exit-on-dump
	let_go quick
	finish rate "$tool"
	cp rate.dump rate-end.json
}

ring() {
	start old calls 1009 getppid
	keep ring --keep=1s/200ms -s getppid -p "$sleeper,$(pids old)"
	let_go old
	sleep 2
	kill -TERM "$tool"
	finish ring "$tool"
	cp ring.dump ring-end.json
}

records() {
	program=syscall-slower
	start slowly slow 11 101
	launch records 1ms --keep=5 -p "$pid"
	await 30 is_tracing records
	go slowly
	finish records "$tool"
	program=syscall-latency
}

# What cannot be written.
disks() {
	keep device --keep=5s/500ms -p "$sleeper" >/dev/null
	kill -TERM "$tool"
	finish device "$tool"
	launch full --keep=5s/500ms -s getppid -p "$sleeper" --out=/dev/full
	await 30 is_tracing full
	kill -USR1 "$tool"
	sleep 0.5
	kill -TERM "$tool"
	finish full "$tool"
	mkdir small
	if ! mount -t tmpfs -o size=64k none small 2>/dev/null; then
		echo "no tmpfs can be mounted" >small.skip
		return
	fi
	launch small --keep=5s/500ms -s getppid -p "$sleeper" --out=small/dump
	await 30 is_tracing small
	dd if=/dev/zero of=small/filler bs=4096 2>/dev/null
	kill -USR1 "$tool"
	await 20 grep -q 'cannot write' small.err
	ls -A small >small.files
	rm small/filler
	kill -USR1 "$tool"
	await 20 dumped small/dump
	kill -TERM "$tool"
	finish small "$tool"
	cp small/dump small-end.json
	umount small
}

readers() {
	mkfifo gone.fifo
	head -c 1 <gone.fifo >/dev/null &
	"$program" --no-calibrate --keep=5s/500ms -s getppid -p "$sleeper" </dev/null >gone.fifo 2>gone.err &
	tool=$! && started="$started $tool"
	echo "$tool" >gone.pid
	await 30 is_tracing gone
	kill -USR1 "$tool"
	await 20 is_over "$tool"
	finish gone "$tool"
	# With --out nothing is written there.
	mkfifo unread.fifo
	: <unread.fifo &
	"$program" --no-calibrate --keep=5s/500ms -s getppid -p "$sleeper" --out=unread.dump </dev/null >unread.fifo 2>unread.err &
	tool=$! && started="$started $tool"
	echo "$tool" >unread.pid
	await 30 is_tracing unread
	asked=0
	ask unread
	kill -TERM "$tool"
	finish unread "$tool"
}

killed() {
	mkdir killed
	launch killed --keep=5s/500ms -s getppid -p "$sleeper" --out=killed/dump
	await 30 is_tracing killed
	kill -USR1 "$tool"
	await 20 dumped killed/dump
	for _ in 1 2 3 4 5; do
		kill -USR1 "$tool"
	done
	kill -9 "$tool"
	finish killed "$tool"
	cp killed/dump killed-end.json
	ls -A killed >killed.files
}

# shellcheck disable=SC2034 # by what starts a tool
run() {
	quick=--no-calibrate
	sleep 1000 &
	sleeper=$!
	started="$started $sleeper"
	asked_for
	twice
	early
	triggered
	medians
	rates
	ring
	records
	disks
	readers
	killed
}

# dump NAME WHY - a dump that nothing is missing from
dump() {
	holds "a dump is made of whole intervals in their order, each where the one before ended: $1" "$1.json" '
		[range(1; $all | length) | $all[.].start == $all[. - 1].end and $all[.].seq == $all[. - 1].seq + 1] | all'
	holds "... of which the last one, and no other, says why and how many there are: $1" "$1.json" '
		$last.dump.why == $why and $last.dump.intervals == ($all | length) - 1 and $last.dump.forgotten == 0
			and ($all[:-1] | all(.dump | not))' --arg why "$2"
}

# sums_to N NAME
sums_to() {
	holds "$1 calls are in the intervals, by count and by buckets: $2" "$2.json" '
		([$all[].rows[].count] | add) == $n and ([$all[].rows[].hist[][2]] | add) == $n
			and $last.ledger.recorded == $n' --argjson n "$1"
}

check_asked() {
	evidence asked.err notes
	is "nothing is on stdout when there is a file" "$(cat asked.json)" ""
	is "a tool that keeps ends as others do" "$(cat asked.status)" 0
	dump asked-1 signal
	sums_to 1009 asked-1
	dump asked-2 signal
	sums_to 1032 asked-2
	dump asked-end end
	sums_to 5033 asked-end
	sound "of what was kept" asked-end.json

	evidence loop.err loop-end.json
	dump loop-end end
	holds "nothing is lost while dumps are written" loop-end.json '
		([$all[].rows[].count] | add) == $truth[0].calls[0].count and ($last.ledger | (.lost // .lost_at_least) == 0)
			and $last.dump.number > 4' --slurpfile truth target-loop.truth
	for file in loop-[0-9]*.json; do
		dump "${file%.json}" signal
		holds "each dump has what the ledger has recorded by then: $file" "$file" \
			'([$all[].rows[].count] | add // 0) == $last.ledger.recorded'
	done
	evidence twice.err twice.files
	holds "signals that come together are not lost" twice-end.json '$last.dump.number >= 3 and $last.dump.why == "end"'
	holds "... and the file before is whole" twice-1.json '$last.dump.why == "signal"'
	is "--max-dumps=2 leaves two files" "$(paste -s -d ' ' twice.files)" "twice.dump twice.dump.1"
}

check_early() {
	evidence early.err early.traced
	is "a signal before the trace begins does not end the tool" "$(cat early.traced early.status | paste -s -d ' ')" "0 0"
	dump early-1 signal
}

check_triggered() {
	evidence triggered.early once.err exits.err after.err
	is "no trigger holds before it holds" "$(cat triggered.early)" ""
	for name in exits-end once-1 after-1; do
		dump "$name" trigger
		holds "the trigger, its row and its value are those of the workload: $name" "$name.json" '
			[$truth[0].calls[] | select(.syscall == "rt_sigtimedwait")] as $slow
			| $last.dump | .trigger == "max>2ms" and .key.syscall == "rt_sigtimedwait"
				and ([$all[] | select(any(.rows[]; .key.syscall == "rt_sigtimedwait" and .max > 2000000)) | .seq] | first) == .seq
				and .value >= 3000000 and .value <= ($slow | map(.outside) | max) * 65 / 64' \
			--slurpfile truth slow.truth
	done
	is "--exit-on-dump ends the tool well" "$(cat exits.status)" 0
	holds "... whose dump is then final" exits-end.json '$last.final'
	holds "without it the trace goes on, and the trigger cools down" once-end.json '
		$last.dump.why == "end" and $last.dump.number == 2 and $last.ledger.recorded > 1032'
	holds "--after waits for intervals that end later" after-1.json '
		def seconds: (.[:19] + "Z" | fromdate) + (.[19:] | rtrimstr("Z") | tonumber);
		first($all[] | select(any(.rows[]; .key.syscall == "rt_sigtimedwait" and .max > 2000000))) as $held
		| ($last.start | seconds) - ($held.end | seconds) | . >= 0.99 and . < 10'
	evidence median.err median.early median-end.json
	is "no multiple of the median holds before it holds" "$(cat median.early)" ""
	holds "a multiple of the median holds when it does" median-end.json '
		$last.dump.why == "trigger" and $last.dump.trigger == "count>20*median" and $last.dump.value > 2000
			and $last.dump.key == {comm: "calls"}'
	evidence rate.err rate-end.json
	holds "the value of a rate is that of its interval" rate-end.json '
		def seconds: (.[:19] + "Z" | fromdate) + (.[19:] | rtrimstr("Z") | tonumber);
		($all[] | select(.seq == $last.dump.seq)) as $held
		| $last.dump.trigger == "count>500/s" and $last.dump.value > 500
			and ($held.rows[0].count / (($held.end | seconds) - ($held.start | seconds)) / $last.dump.value
				| . > 0.98 and . < 1.02)'
}

check_kept() {
	evidence ring.err ring-end.json
	holds "the ring has the last intervals only" ring-end.json '
		($all | length) <= 6 and ($all[0].seq > 3) and ([$all[].rows[].count] | add // 0) == 0
			and $last.ledger.recorded == 1009 and $last.dump.forgotten == 0'
	evidence records.json records.err
	holds "of records the last ones are kept, in their order" records.json '
		[$all[] | .call | select(.) | .arguments[1]] as $kept
		# On a slow machine more of the calls take 1 ms.
		| if $last.ledger.recorded == 22 then $kept == [range(17; 22) | 4096 + .]
			else ($kept | length) == 5 and $kept == ($kept | unique) and $kept[0] >= 4096 + 17 end'
	holds "... and a report follows that counts all" records.json '
		$last.dump == {number: 1, why: "end", records: 5, forgotten: ($last.ledger.recorded - 5)}
			and $last.ledger.recorded >= 22'
}

check_unwritten() {
	evidence full.err
	is "a dump that cannot be written is status 1" "$(cat full.status)" 1
	is "... and each says so" "$(grep -c 'cannot write /dev/full: No space left on device' full.err)" 2
	if [ -e small.skip ]; then
		skip "a full disk leaves no half of a dump" "$(cat small.skip)"
	else
		evidence small.err small.files
		is "a full disk leaves no half of a dump" "$(cat small.files)" filler
		holds "... and the next one is written" small-end.json '$last.dump.why == "end" and $last.dump.number == 3'
		is "... which is status 1 all the same" "$(cat small.status)" 1
	fi
	evidence gone.err
	is "a reader that goes away ends the trace well" "$(cat gone.status)" 0
	is "... and quietly" "$(grep -v -e 'tracing …' -e 'keeps ' gone.err)" ""
	evidence unread.err
	is "nobody has to read stdout when there is a file" "$(cat unread.status)" 0
	dump unread-1 signal
	evidence killed.err killed.files killed-end.json
	is "kill -9 leaves whole dumps only" "$(grep -v -x -E 'dump([.][0-9]+)?' killed.files)" ""
	dump killed-end signal
}

check() {
	check_asked
	check_early
	check_triggered
	check_kept
	check_unwritten
}
