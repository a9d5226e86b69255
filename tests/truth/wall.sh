# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# wall-time: twelve causes for which threads wait or compute, each planted; parts that add up to the time of all threads.

# shellcheck source=lib/limits.sh
. "$truth/lib/limits.sh"
# shellcheck source=lib/file-systems.sh
. "$truth/lib/file-systems.sh"
# shellcheck source=lib/steered.sh
. "$truth/lib/steered.sh"

# stolen - ns that the hypervisor has taken: the kernel's clocks of a thread's CPU time may be without
stolen() {
	awk '$1 == "cpu" { printf "%d\n", $9 * 1e7 }' /proc/stat
}

# between NAME TOOL... - what they trace
between() {
	planted=$1
	shift
	stolen >"$planted.stolen"
	attached
	open_gate "$planted" go
	await 60 [ -e "$planted.gates/done" ]
	stolen >>"$planted.stolen"
	detach "$@"
	open_gate "$planted" end
	finish "$planted" "$(cat "$planted.pid")"
}

# planted CAUSE [ARG...] - under the tool, of-CAUSE
planted() {
	cause=$1
	shift
	start "$cause" causes "$cause" 2000
	attach "of-$cause" -p "$pid" "$@"
	between "$cause" "of-$cause"
}

# told CAUSE [ARG...] - the same, and what the tool says to people, in say-CAUSE.json
told() {
	cause=$1
	shift
	start "$cause" causes "$cause" 2000
	attach "of-$cause" -p "$pid" "$@"
	launch "say-$cause" -p "$pid" "$@"
	await 30 is_tracing "say-$cause"
	between "$cause" "of-$cause" "say-$cause"
}

# In cgroups.
limits() {
	if limited quota cpu.max='20000 100000' || limited quota cpu.cfs_quota_us=20000; then
		start quota causes quota 2000
		echo "$pid" >"$limited/cgroup.procs"
		attach of-quota -p "$pid"
		between quota of-quota
		cat "$limited/cpu.stat" >cpu.stat
		start napping causes napping 2000
		echo "$pid" >"$limited/cgroup.procs"
		attach of-napping -p "$pid"
		between napping of-napping
	else
		echo "no cgroup has a CPU quota here" | tee quota.skip >napping.skip
	fi
	everything || return 0
	if limited memory memory.high=16777216; then
		start memory causes memory 3000
		echo "$pid" >"$limited/cgroup.procs"
		attach of-memory -p "$pid"
		between memory of-memory
	else
		echo "no cgroup has memory.high here" >memory.skip
	fi
}

# disk_of DIR - the name of its disk
disk_of() {
	device=$(stat -c %d "$1")
	basename "$(readlink "/sys/dev/block/$((device / 256)):$((device % 256))")"
}

# On a slow disk where one can be made, else on the one that is here.
disks() {
	dir=.
	if [ -e /modules/null_blk.ko ]; then
		insmod /modules/configfs.ko 2>/dev/null
		insmod /modules/null_blk.ko nr_devices=0 2>/dev/null
		mount -t configfs none /sys/kernel/config 2>/dev/null
		ext4 && dir=mounted
	fi
	disk_of $dir >disk.name 2>disk.err
	kinds='fsync read'
	everything || kinds=fsync
	for kind in $kinds; do
		if [ ! -s disk.name ]; then
			echo "no disk" >$kind.skip
			continue
		fi
		start $kind sh -c 'cd "$0" && exec causes "$@"' "$dir" $kind 2000
		attach of-$kind -p "$pid"
		between $kind of-$kind
	done
	[ $dir = . ] || umount mounted
}

flood() {
	steered told softirq -F 997 || echo "packets cannot be steered here" >softirq.skip
}

# seconds - since the machine started, in hundredths
uptime_now() {
	sed 's/\.\([0-9]*\) .*/\1/' /proc/uptime
}

stops() {
	for name in stopped asleep; do
		sleep 100 &
		started="$started $!"
		echo $! >$name.process
	done
	stopped=$(cat stopped.process)
	attach of-stopped -p "$stopped"
	attach of-asleep -p "$(cat asleep.process)"
	attached
	sleep 0.5
	begun=$(uptime_now)
	kill -STOP "$stopped"
	from=$(uptime_now)
	sleep 1
	to=$(uptime_now)
	kill -CONT "$stopped"
	echo "[$(((to - from) * 10000000)), $((($(uptime_now) - begun) * 10000000))]" >stopped.bounds
	sleep 0.5
	detach of-stopped of-asleep
	kill -STOP "$stopped"
	attach of-still -p "$stopped"
	attached
	sleep 0.5
	detach of-still
	kill -KILL "$stopped" "$(cat asleep.process)"
}

# It runs when the trace begins, and when that ends.
spins() {
	start spin causes spin 2000
	attach of-spin -p "$pid" -d 1
	attached
	await 30 is_over "$(cat of-spin.pid)"
	finish of-spin "$(cat of-spin.pid)"
	open_gate spin go
	open_gate spin end
	finish spin "$pid"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=wall-time quick=--no-calibrate

	told hog
	limits
	told mutex
	! everything || planted inode
	disks
	! everything || planted faults -F 997
	start peer causes peer 2000
	attach of-peer -p "$pid"
	attach of-server -c c-server
	between peer of-peer of-server
	planted poll
	planted user -F 997
	! everything || flood
	planted born

	start sleep causes sleep 2000
	attach of-sleep -p "$pid"
	attach all-waits -p "$pid" --all-waits
	launch say-sleep -p "$pid"
	await 30 is_tracing say-sleep
	between sleep of-sleep all-waits say-sleep

	start parts causes mutex 2000
	attach of-parts -p "$pid" 0.3
	between parts of-parts

	# Those that wake one another, or have their CPUs, would be 2000 rows.
	start crowd causes crowd 1000
	attach of-crowd -p "$pid" --max-keys=2000
	between crowd of-crowd

	start renamed causes renamed 1000
	attach of-renamed -p "$pid" -c c-victim
	attach of-later -p "$pid" -c c-later
	between renamed of-renamed of-later

	start renaming causes renaming 1000
	attach of-here -p "$pid" -c c-here
	attach of-woken -p "$pid" -c c-woken
	attach of-nobody -p "$pid" -c c-nobody
	between renaming of-here of-woken of-nobody

	! everything || spins
	stops
}

# What a report says, and the workload of its threads of one name.
# shellcheck disable=SC2034 # by groups
wall='def must(good): if good then . else error("\(.)") end;
	def total: add // 0;
	def rows: [$all[].rows[] | select(.key.comm == $comm)];
	def of($name): [$truth[0].calls[] | select(.comm == $comm)[$name]] | total;
	def told: {sum: ([rows[] | select(.cause == $cause and (.idle == $idle or $idle == null)).sum] | total),
		rows: ([rows[].sum] | total), wall: of("wall"), cpu: of("cpu"), delay: of("delay"), life: of("delay_of_life"),
		low: ([$truth[0].calls[] | select(.comm == $comm).cause | min] | total),
		high: ([$truth[0].calls[] | select(.comm == $comm).cause | max] | total),
		causes: ([$all[].rows[] | select(.idle == $idle or $idle == null)] | group_by(.cause)
			| map({cause: .[0].cause, sum: (map(.sum) | add)}) | sort_by(-.sum)),
		waking: ([rows[] | select(.cause == "idle cpu").sum] | total),
		interrupts: ([rows[] | select(.cause == "interrupts").sum] | total),
		outside: (([$all[].elapsed_ns] | total) - ([$truth[0].calls[] | select(.comm == $comm).wall] | max))};
	# To who waits, the time in which an idle CPU wakes up is a part of the wait.
	def about(low; high): .sum + .waking >= low - 0.03 * .wall and .sum <= high + 0.03 * .wall + $stolen; '

# judge TOOL WORKLOAD CAUSE FILTER CLAIM [ARG...] - FILTER of what both say of threads named $comm
judge() {
	local tool=$1 workload=$2 cause=$3 filter=$4 name=$5
	shift 5
	evidence "$tool.json" "$tool.err" "$workload.truth" "$workload.err"
	holds "$workload: $name" "$tool.json" "$wall told | $filter" --slurpfile truth "$workload.truth" --arg cause "$cause" \
		--arg comm "${comm:-c-victim}" --argjson idle "${idle:-false}" --argjson stolen "$(cat "$workload.stolen" 2>/dev/null |
			awk 'NR == 1 { first = $1 } END { print $1 - first }')" "$@"
}

# adds_up TOOL THREADS - the parts are all the time of its threads, to 0.1 %
adds_up() {
	evidence "$1.json" "$1.err"
	holds "$1: the parts add up to the time of all $2 threads" "$1.json" '
		def must(good): if good then . else error("\(.)") end;
		{threads: $all[].threads, wall: ([$all[].wall_ns] | add), rows: ([$all[].rows[].sum] | add),
			idle: ([$all[].rows[] | select(.idle).sum] | add // 0), told: ([$all[].idle_ns] | add),
			elapsed: ([$all[].elapsed_ns] | add)}
		| must(.threads == $threads and .rows == .wall and .idle == .told
			and (.wall - .threads * .elapsed | fabs) <= 0.001 * .wall)' --argjson threads "$2"
}

# known WORKLOAD CAUSE THREADS [LOW [HIGH]] - the cause is named, and has the time that the threads say
known() {
	local workload=$1 cause=$2 threads=$3
	everything || [ -e "$workload.skip" ] || [ -e "$workload.pid" ] || return 1
	if [ -e "$workload.skip" ]; then
		skip "$workload: its time is in the cause \"$cause\"" "$(cat "$workload.skip")"
		return 1
	fi
	evidence "$workload.err" "$workload.truth"
	if [ "$(cat "$workload.status")" = 77 ]; then
		skip "$workload: its time is in the cause \"$cause\"" "$(cat "$workload.err")"
		return 1
	fi
	is "$workload: the workload ended well" "$(cat "$workload.status")" 0
	judge "of-$workload" "$workload" "$cause" "must(about(${4:-.low}; ${5:-.high}))" "its time is in the cause \"$cause\", to 3 %"
	judge "of-$workload" "$workload" "$cause" 'must(([.causes[:3][].cause] | index($cause)) or .low < .causes[2].sum)' \
		"... which the sentence names, if it is one of the largest"
	# On a busy machine, what the threads lacked may be a CPU. Between two waits some of them sleep for half of the time.
	judge "of-$workload" "$workload" "$cause" '.cause = $cause | must([.causes[].cause | select(. != "timer" or $cause == "timer")][0] == $cause
		or .low <= ([.delay, .cpu] | max) + 0.03 * .wall)' "... first, if it had most of the time"
	adds_up "of-$workload" "$threads"
}

# by WORKLOAD CAUSE FILTER CLAIM - nearly all rows of the cause are such
by() {
	judge "of-$1" "$1" "$2" "[rows[] | select(.cause == \$cause)] | ([.[] | select($3).sum] | total) as \$such
		| must(\$such >= 0.95 * (map(.sum) | total) and \$such > 0)" "$4"
}

# sentence CLAIM WORKLOAD REGEX - the first lines are such
sentence() {
	evidence "say-$2.json" "say-$2.err"
	like "$1" "$(sed '/^$/,$d' "say-$2.json" | tr -s '\n ' ' ')" "$3"
}

# shellcheck disable=SC2016 # jq's
check() {
	if known hog runnable 2 .low '.high + .life - .delay'; then
		judge of-hog hog runnable '$truth[0].calls[0].by as $by | .sum = ([rows[]
			| select(.cause == $cause and .by.pid == $by.pid and .by.comm == "c-hog" and .by.nice == 5 and .by.n_cpus == 1 and "\(.by.cpu)" == .waiter.cpus).sum] | total)
			| (([rows[] | select(.cause == $cause).sum] | total) - .sum) as $others # of a wait it has who had the CPU longest
			| must(about($by.cpu - $others; $by.cpu + $others))' "the hog had the CPU as long as its own clock says, at nice 5, pinned to that of the victim"
		# On a busy machine others may have had it for longer.
		if jq -e '[.rows[] | select(.cause == "runnable")] | ([.[] | select(.by.comm == "c-hog").sum] | add) > (map(.sum) | add) / 2' \
			of-hog.json >/dev/null; then
			sentence "... and is named in the sentence" hog 'runnable without a CPU \(by c-hog/[0-9]+ \(nice 5 on CPU [0-9]+ only\)\)'
		else
			skip "... and is named in the sentence" "the machine is too busy"
		fi
	fi
	# The kernel's account is of the cgroup, on all CPUs; its own one of a thread may have other waits for a CPU.
	known quota quota 2 "[.low, $(awk '$1 == "throttled_time" { print $2 } $1 == "throttled_usec" { print $2 * 1000 }' cpu.stat 2>/dev/null)] | min"
	if known napping quota 3 0 .high; then
		judge of-napping napping quota '.taken = ([rows[] | select(.cause == "runnable" and .by.comm != "c-burner").sum] | total)
			| must(.sum >= 0.5 * .low and .sum + .taken + .waking >= .low - 0.03 * .wall)' "... also from its wakeups on"
		by napping quota '.quota.cgroup | test("/plumb-quota-[0-9]+$")' "... and the cgroup is named"
	fi
	known memory memory.high 2
	if known mutex thread 7; then
		by mutex thread '.held_by.comm == "c-holder" and .syscall == "futex"' "the thread that held the mutex is named"
		judge of-mutex mutex thread 'must([rows[] | select(.cause == $cause).key.start] + [$all[].rows[] | select(.by.comm == "c-holder").by.start] | length > 0 and all(.[]; . == "run"))' \
			"... and the function with which they were started"
		sentence "... in the sentence, too" mutex 'waiting for another of its threads \(futex \(lock\); c-holder/[0-9]+ \(run\) held it'
	fi
	if known inode thread 6; then
		by inode thread '.held_by.comm == "c-holder" and .syscall == "write"' "the thread that was inside the file is named"
	fi
	for kind in fsync read; do
		known $kind disk 2 && by $kind disk ".disk == \"$(cat disk.name)\"" "the disk is named"
	done
	# What interrupts them is in the time of their clocks.
	known faults "page faults" 2 '.low - .interrupts'
	if known peer peer 2; then
		by peer peer '.peer == $truth[0].calls[0].peer and .peer_process.comm == "c-server"' "the address is that of the peer, which is named"
		judge of-server peer timer '.sum = ([$last.rows[] | select(.cause == "timer" and (.idle | not)).sum] | total)
			| must(.sum <= .high and .sum >= 0.9 * .low)' "what the server sleeps before it answers is no idle time of it"
		judge of-server peer peer 'must([$last.rows[] | select(.peer // "" | startswith("clients of port "))]
			| length > 0 and all(.[]; .idle))' "... its waits for the client are"
	fi
	if known poll peer 2; then
		by poll peer '.syscall == "poll" and .peer == $truth[0].calls[0].peer and .peer_process.comm == "c-server"' \
			"the address that is polled is that of the peer, which is named"
	fi
	known user user 2 '.low - .interrupts' && by user user '.function == "compute_known"' "the function is named"
	if known softirq interrupts 2; then
		like "... to people, too" "$(cat say-softirq.json)" 'on the CPU, but interrupted'
	fi

	idle=true
	known sleep timer 2 .low '.high + .outside'
	sentence "... and idle" sleep '[0-9] % of it idle|all of it idle, asleep until a time in clock_nanosleep'
	idle=false
	judge all-waits sleep timer 'must(about(.low; .high + .outside) and $last.idle_ns == 0)' "--all-waits: nothing is idle"
	adds_up all-waits 2

	# What a thread does before its first instruction and after its last is its time, too.
	idle=null comm=c-born
	# Their mother has the same name.
	judge of-born born timer 'must(.rows >= .wall * 0.97 + 0.999 * $last.elapsed_ns and about(.low; .high + .outside))' \
		"threads that are born and die have their time"
	judge of-born born timer '.on = ([$last.rows[] | select(.cause | IN("user", "system call", "page faults", "interrupts",
		"kernel", "cpu")).sum] | total) | $truth[0].calls[0].process as $process
		| must(.on >= $process[0] - 0.03 * .wall and .on <= $process[1] + 0.03 * .wall + $stolen)' \
		"... on the CPU, as long as their process says"
	# Each computes for 3 ms: they have few samples each, and enough between them.
	judge of-born born user '[rows[] | select(.cause | IN("user", "system call", "kernel"))] as $on
		| must(all($on[]; .key.tid == null or .key.tid == $truth[0].calls[0].tid or .sum <= 0.01 * 1e9) and .sum >= 0.7 * 3e6 * ($truth[0].calls | map(.count) | total))' \
		"... where their samples are, and none more than it lived"
	judge of-born born timer 'must($truth[0].calls[0].count as $n | ($last.threads == $n + 2)
		and ([$last.rows[].sum] | total) == $last.wall_ns)' "... and all of them are counted"
	idle=false comm=c-victim

	judge of-parts parts thread 'must(about(.low; .high) and ($all | length > 3))' "intervals have the time of the whole"
	adds_up of-parts 7
	judge of-crowd crowd thread 'must(about(.low; .high) and ([$last.rows[] | select(.cause == "thread" and (.by.tid | not)).sum] | total) > .sum / 2)' \
		"few rows: wakers are not told from one another, and the time is told"
	judge of-crowd crowd runnable 'must(.sum + .waking >= .delay - 0.03 * .wall)' \
		"who is woken before it is asleep waits for a CPU"
	judge of-renamed renamed timer 'must(all($last.rows[]; .key.comm == "c-victim") and $last.wall_ns >= .low - 0.03 * .wall
		and $last.wall_ns <= .high + .outside + 0.03 * .wall)' "who is not of that name any more has no more time"
	judge of-later renamed timer 'must(all($last.rows[]; .key.comm == "c-later") and $last.wall_ns >= .wall - .high - 0.03 * .wall
		and $last.wall_ns <= .wall - .low + .outside + 0.03 * .wall)' "... and who is from then on has none from before"
	comm=c-here
	judge of-here renaming user 'must($last.threads == 1 and $last.wall_ns >= .low - 0.03 * .wall
		and $last.wall_ns <= .high + .outside + 0.03 * .wall)' "who has a name again and again has the time of that"
	comm=c-asleep idle=true
	judge of-woken renaming timer '.sum = $last.idle_ns
		| must($last.threads == 1 and about(.low; .high + .outside))' "who is renamed while it is asleep is asleep"
	comm=c-victim idle=false
	holds "who never had the name has no time" of-nobody.json '$last.rows == [] and $last.threads == 0'

	if everything; then
		evidence of-spin.json of-spin.err spin.truth
		holds "spin: who never sleeps is on the CPU, or without one" of-spin.json '[$last.rows[] | select(.key.comm == "c-victim")]
			| (all(.[]; .cause | IN("user", "interrupts", "cpu", "runnable", "idle cpu", "system call", "kernel"))
				and (map(.sum) | add) as $sum | ($sum - $last.elapsed_ns | fabs) <= 0.001 * $sum)'
		adds_up of-spin 2
	fi

	evidence of-asleep.json of-asleep.err
	holds "who sleeps all the time is idle" of-asleep.json '[$last.rows[] | {cause, idle}] == [{cause: "timer", idle: true}]'
	evidence of-stopped.json of-stopped.err stopped.bounds
	holds "who is stopped is, as long as that is so" of-stopped.json '([$last.rows[] | select(.cause == "stopped").sum] | add) as $sum
		| $sum >= $bounds[0][0] - 0.03 * $last.wall_ns and $sum <= $bounds[0][1] + 0.03 * $last.wall_ns' --slurpfile bounds stopped.bounds
	evidence of-still.json of-still.err
	holds "... and if it was before" of-still.json '[$last.rows[].cause] == ["stopped"]'
	for name in asleep stopped still; do
		adds_up "of-$name" 1
	done
}
