# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# --keep of each tool of intervals, and without memory enough; --start-at and --until, also when the clock is set.

# shellcheck disable=SC2086 # words
clock_times() {
	# Calibrating takes time before it is attached.
	quick=
	traced aligned --start-at=/2s --until=+5s 0.5 -s getppid -- sh -c 'date +%s.%N >aligned.began; exec sleep 10'
	sed -i 's/%N/0/' aligned.began # busybox's has whole seconds
	quick=--no-calibrate
	launch relative -j --start-at=+500ms --until=+1s -s getppid -p "$sleeper"
	finish relative "$tool"
}

# step SECONDS - sets the wall clock
step() {
	date -s "@$(($(date +%s) + $1))" >/dev/null
}

# date_in SECONDS
date_in() {
	date -u -d "@$(($(date +%s) + $1))" +%Y-%m-%dT%H:%M:%SZ
}

# stepped NAME SECONDS ARG... - by which the clock is set while the tool waits, or traces
stepped() {
	name=$1
	by=$2
	shift 2
	launch "$name" -v -j -s getppid -p "$sleeper" "$@"
	await 30 grep -q -e 'waiting for' -e 'tracing …' "$name.err"
	read -r begin _ </proc/uptime
	step "$by"
	await 30 is_over "$tool" || kill -9 "$tool"
	read -r end _ </proc/uptime
	echo $((${end%.*} - ${begin%.*})) >"$name.took"
	step $((-by))
	touch "$name".* # so that nothing is from the future
	finish "$name" "$tool"
}

# The clock of an emulated machine only.
clock_steps() {
	[ "$(cd "$truth" && pwd)" = /truth ] || return 0
	stepped step-multiple -1000 --start-at=/3s --until=+4s
	stepped step-span -1000 --start-at=+2s --until=+4s
	stepped step-date 2000 --start-at="$(date_in 1000)" --until=+4s
	stepped step-end 2000 --until="$(date_in 1000)"
	stepped step-end-of-span 2000 --until=+2s
	step_reports
}

# Between reports the clock is set forth, and back before the start.
step_reports() {
	launch steps -j 0.5 9 -s getppid -p "$sleeper" --openmetrics=steps.prom
	await 30 is_tracing steps
	sleep 1.2
	step 3600
	sleep 1.2
	step -7200
	sleep 1.2
	cp steps.prom steps.metrics
	date +%s >steps.now
	finish steps "$tool"
	step 3600
}

# Some 500 different times in each interval, where the memory is for a hundred or two.
forgets() {
	launch forgets --keep=8s/2s --precision=10 --max-keys=1 -s read,write -- sh -c 'while :; do
			for size in 1k 3k 10k 30k 100k 300k 1000k; do dd if=/dev/zero of=/dev/null bs=$size count=500 2>/dev/null; done
		done'
	await 90 grep -q 'keep: only' forgets.err
	sleep 5
	kill -TERM "$tool"
	finish forgets "$tool"
}

# each TOOL ARG... - in short
each() {
	program=$1
	shift
	launch "each-$program" --keep=10s/400ms -d 1.5 -p "$sleeper,$pid" "$@"
	finish "each-$program" "$tool"
}

all_tools() {
	start each-loop loop udp 300 100
	open_gate each-loop go
	each syscall-count
	each syscall-breakdown -s sendto
	each func-latency null_lseek
	each func-count null_lseek t:sched:sched_switch
	each func-stack t:sched:sched_switch
	each tcp-sendmsg-lat
	each skb-alloc
	each user-func-latency "$(command -v loop):main"
	each runq-latency
	each offcpu-time
	each cpu-profile
	each event-rate cs
	each page-fault-latency
	each slab-latency
	each file-latency
	each file-io-breakdown
	each block-io-latency
	kill -TERM "$pid"
	finish each-loop "$pid"
	program=syscall-latency
}

# shellcheck disable=SC2034 # by what starts a tool
run() {
	quick=--no-calibrate
	sleep 1000 &
	sleeper=$!
	started="$started $sleeper"
	clock_times
	clock_steps
	forgets
	all_tools
}

check_times() {
	evidence aligned.json aligned.err aligned.began
	# In an emulated machine the end of an interval is late, too.
	holds "--start-at aligns the ends of intervals, of which the first is shorter" aligned.json '
		def seconds: .[17:] | rtrimstr("Z") | tonumber;
		def late: (.end | seconds) * 2 | . - floor;
		($all | length) >= 4 and ($all | map(late) | sort | .[length / 2 | floor]) < 0.5 and $last.final
			and ($all[0] | (.end | seconds) - (.start | seconds) | . > 0 and . < 0.75)'
	holds "... and starts a command then" aligned.json '
		$began % 2 < 1.5 and ($all[0].start[17:] | rtrimstr("Z") | tonumber) % 2 < 1.5' --argjson began "$(cat aligned.began)"
	evidence relative.json relative.err
	holds "--until ends a trace by the time at which it was to start" relative.json '
		def seconds: (.[:19] + "Z" | fromdate) + (.[19:] | rtrimstr("Z") | tonumber);
		($all | length) == 1 and (($last.end | seconds) - ($last.start | seconds) | . > 0 and . < 3)'
	is "... well" "$(cat relative.status)" 0
}

check_step_reports() {
	evidence steps.err steps.metrics steps.now steps.json
	holds "the clock is set between reports" steps.json 'any($all[]; .end < .start)'
	holds "... whose lengths are those of the monotonic clock" steps.json '
		[$all[].elapsed_ns] | all(. > 0 and . < 60000000000) and add >= 4400000000 and add < 60000000000'
	claim "... which are merged" "$top/build/bin/hist-merge" -j --every=1s steps.json
	claim "the metrics' start is not in the future" awk 'FNR == NR { now = $1; next }
		/^plumb_start_time_seconds/ { found = $2 <= now && $2 > now - 600 } END { exit !found }' steps.now steps.metrics
}

check_steps() {
	if [ ! -e step-end.took ]; then
		skip "--start-at and --until follow a clock that is set, or do not" "the machine's own clock is not set"
		return
	fi
	for name in step-multiple step-span step-date step-end step-end-of-span; do
		evidence "$name.err" "$name.json" "$name.took"
		is "a trace begins and ends although the clock is set: $name" "$(cat "$name.status")" 0
		claim "... soon" test "$(cat "$name.took")" -lt 20
	done
	for name in step-multiple step-span step-date; do
		holds "... and takes as long as it was to: $name" "$name.json" '
			def seconds: (.[:19] + "Z" | fromdate) + (.[19:] | rtrimstr("Z") | tonumber);
			($last.end | seconds) - ($last.start | seconds) | . > 0.5 and . < 10'
	done
}

check_memory() {
	evidence forgets.err
	is "that memory is used up is said once" "$(grep -c 'only [1-3] of 4 intervals fit' forgets.err)" 1
	holds "... and each interval is counted" forgets.json '
		$last.dump.forgotten > 1 and $last.dump.intervals < 4 and $last.dump.intervals == ($all | length) - 1'
}

check_tools() {
	for file in each-*.err; do
		name=${file%.err}
		[ "$name" != each-loop ] || continue
		evidence "$name.err" "$name.json"
		if [ "$(cat "$name.status")" = 77 ]; then
			skip "${name#each-} keeps intervals" "it cannot trace here"
			continue
		fi
		is "${name#each-} keeps intervals" "$(cat "$name.status")" 0
		holds "... which are in its dump, whole and in their order: ${name#each-}" "$name.json" '
			([range(1; $all | length) | $all[.].start == $all[. - 1].end and $all[.].seq == $all[. - 1].seq + 1] | all)
			and ($all | length) >= 3 and $last.final and $last.dump.why == "end"
			and $last.dump.intervals == ($all | length) - 1 and $last.dump.forgotten == 0'
	done
}

check() {
	check_times
	check_steps
	[ ! -e steps.metrics ] || check_step_reports
	check_memory
	check_tools
}
