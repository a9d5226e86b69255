# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# func-stack: two call paths to a function, told apart and counted, on every mechanism; after their process has ended.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=func-stack quick=--no-calibrate
	uname -r >kernel
	callpaths=$(command -v callpaths)
	reach=u:$callpaths:reach

	# One after the other: past another tool's probe of the same function not every unwinder finds.
	functions='fentry.multi fentry kprobe.multi kprobe'
	everything || functions=fentry
	for mech in ${mechanism:-$functions}; do
		traced "function-$mech" "--mechanism=$mech" -b pid write_null -- callpaths 23 1009
		traced "several-$mech" "--mechanism=$mech" -b pid write_null 'vfs_writ?' -- callpaths 23 1009
	done
	start each callpaths 23 1009
	mechanisms=${mechanism:-raw_tracepoint tracepoint}
	attach_each tracepoint -b pid -p "$pid" t:task:task_rename
	mechanisms=${mechanism:-uprobe.multi uprobe}
	attach_each user -b pid -p "$pid" "$reach"
	go each
	detach_each user
	# shellcheck disable=SC2034 # by attach_each
	mechanisms=${mechanism:-raw_tracepoint tracepoint}
	detach_each tracepoint

	# A leaf without a frame, called 1009 times; processes of a moment, each with as many calls.
	userfuncs=$(command -v userfuncs) user32=${callpaths%/*}/user32
	traced leaf -b comm "u:$userfuncs:user_leaf" -- userfuncs 1
	if "$user32" 2>/dev/null; then
		traced brief -b comm "u:$user32:user_32" -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do "$0"; done' "$user32"
	fi

	start target callpaths 23 1009
	attach other -c no-such-name "$reach"
	attach mixed -b pid -p "$pid" "$reach" t:task:task_rename t:syscalls:sys_enter_write
	attach by-tid -b tid -p "$pid" "$reach"
	attach lost -b pid -p "$pid" --max-stacks=1 --max-keys=64 "$reach" t:task:task_rename
	launch folded -b pid -p "$pid" --folded --flame flame.svg "$reach"
	launch table -b pid -p "$pid" --top=1 "$reach"
	attaching="$attaching folded table"
	go target
	detach other mixed by-tid lost folded table

	for frames in 20 300; do
		traced "deep-$frames" -b comm -c deep t:task:task_rename -- deep "$frames" 23
		traced "inlined-$frames" --inlines -b comm -c deep t:task:task_rename -- deep "$frames" 23
	done

	# A setting of the whole machine, which is ours if it is emulated.
	case $(uname -r) in
	*cloud*)
		await 10 sh -c 'echo 32 2>/dev/null >/proc/sys/kernel/perf_event_max_stack'
		traced shallow -b comm -c deep t:task:task_rename -- deep 300 23
		echo 127 >/proc/sys/kernel/perf_event_max_stack
		;;
	esac

	# An emulated machine would take long, and has no memory for them.
	case $(uname -r) in
	*cloud*) ;;
	*)
		! everything || measured many -j --max-stacks=262144 -b comm -c deep t:task:task_rename -- deep many 200000
		measured each-one --folded --max-stacks=32768 -b comm -c deep t:task:task_rename -- deep many 20000
		;;
	esac

	# More threads than CPUs, in the midst of a uprobe's program. Kernels have died of it.
	calls=5003
	everything || calls=1009
	echo "$calls" >crowd.calls
	start threads calls -t 8 "$calls" write lseek
	# shellcheck disable=SC2034 # by attach_each
	mechanisms=${mechanism:-uprobe.multi uprobe}
	attach_each crowd -b pid -p "$pid" "u:$(command -v calls):make_call"
	go threads
	detach_each crowd

	# One that takes stacks is what another sees, and itself. Programs of a tracepoint's event are
	# behind a guard that keeps those of kprobes out, so it is to have a raw one, also where that is
	# not what it would choose.
	start inner callpaths 23 1009
	attach taker --mechanism=raw_tracepoint --user-stacks=fp -p "$pid" t:task:task_rename
	attach inside --user-stacks=fp -b pid -p "$pid" get_perf_callchain
	go inner
	detach taker inside
}

# measured NAME ARG... - the tool; in NAME.usage its exit status, how much memory was resident, and its CPU time
measured() {
	measured=$1
	shift
	python3 -c 'import json, resource, subprocess, sys
with open(sys.argv[1] + ".text", "w") as out, open(sys.argv[1] + ".err", "w") as err:
    status = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=out, stderr=err).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"status": status, "kB": used.ru_maxrss,
                  "cpu": used.ru_utime + used.ru_stime}))' "$measured" "$program" "$quick" "$@" >"$measured.usage"
}

# paths_are CLAIM REPORT INNERMOST - each path as often as it was taken, with all that are on it
# By tables a stack can have more frames at its end than before these were read.
paths_are() {
	evidence "$2.json" "$2.err" each.truth notes
	holds "$1" "$2.json" 'def names: map(.frame);
		$last.rows | map(select(.key.func // $first | endswith($first)))
		| (map([.count, (.stack | names | map(select(endswith("_path")))[])]) | group_by(.[1])
			| map([(map(.[0]) | add), .[0][1]])) == [[23, "left_path"], [1009, "right_path"]]
		and all(.[]; (.stack[0].frame | endswith($first | split(":")[-1])) and (.stack | map(select(.kernel | not).frame)
			| .[:index("main") // index("go_right")] as $path | $path == ["reach", "pass", $path[-1]]))' --arg first "$3"
}

# through CLAIM REPORT FRAME... - the kernel's frames begin with these
through() {
	what=$1 report=$2
	shift 2
	holds "$what" "$report.json" '($frames | split(" ")) as $frames | $last.rows | length > 0
		and all(.[]; [.stack[] | select(.kernel).frame][:($frames | length)] == $frames)' --arg frames "$*"
}

check_each() {
	for name in fentry.multi fentry kprobe.multi kprobe; do
		forced "function-$name" "$name" || continue
		paths_are "$name: the stacks of a function are counted exactly" "function-$name" write_null
		case $name,$(cat kernel) in
		kprobe*,*arm64*) callers=ksys_write ;; # no frame yet, as of a user function
		*) callers="vfs_write ksys_write" ;;
		esac
		through "$name: from the function itself on" "function-$name" write_null "$callers"
		sound "of function-$name" "function-$name.json"
		forced "several-$name" "$name" || continue
		paths_are "$name: those of one among several" "several-$name" write_null
		paths_are "$name: and those of the other" "several-$name" vfs_write
		sound "of several-$name" "several-$name.json"
	done
	for name in raw_tracepoint tracepoint; do
		forced "tracepoint-$name" "$name" || continue
		paths_are "$name: the stacks of a tracepoint are counted exactly" "tracepoint-$name" __set_task_comm
		through "$name: from the function that has it on" "tracepoint-$name" __set_task_comm
		holds "$name: once" "tracepoint-$name.json" 'all($last.rows[]; .stack[1].frame != "__set_task_comm")'
		sound "of tracepoint-$name" "tracepoint-$name.json"
	done
	holds "the caller of a function without a frame is there" leaf.json \
		'([$last.rows[] | select((.stack | map(.frame))[:2] == ["user_leaf", "make_leaves"]).count] | add) == 1009
			and ([$last.rows[].count] | add) == 1009'
	if [[ -e brief.json ]]; then
		holds "the function itself has its name in processes that were gone at once, too" brief.json \
			'([$last.rows[].count] | add) == 12 * 1009 and all($last.rows[]; .stack[0].frame == "user_32")'
	fi
	for name in uprobe.multi uprobe; do
		forced "user-$name" "$name" || continue
		paths_are "$name: the stacks of a user function are counted exactly" "user-$name" reach
		holds "$name: without the kernel's" "user-$name.json" '[$last.rows[].stack[].kernel] | any | not'
		sound "of user-$name" "user-$name.json"
		forced "crowd-$name" "$name" || continue
		holds "$name: threads that compete for a CPU are all counted" "crowd-$name.json" \
			'([$last.rows[].count] | add) == 16 * $calls' --argjson calls "$(cat crowd.calls)"
		holds "$name: and each of their stacks is right" "crowd-$name.json" \
			'([$last.rows[] | select(.stack[0].frame == "make_call").count] | add) == 16 * $calls' --argjson calls "$(cat crowd.calls)"
	done
}

check_output() {
	evidence mixed.json mixed.err
	holds "several targets are told apart" mixed.json '[$last.rows | group_by(.key.func)[] | [(.[0].key.func | split(":")[-1]), (map(.count) | add)]]
		| sort == [["reach", 1032], ["sys_enter_write", 1032], ["task_rename", 1032]]'
	evidence other.json other.err
	holds "-c of another name counts nothing" other.json '$last.rows == [] and $last.final'
	like "and is said" "$(cat other.err)" 'u:callpaths:reach: 0 calls in '
	evidence by-tid.json by-tid.err
	holds "threads are told apart" by-tid.json '[$last.rows[] | .key.tid] | length == 2 and .[0] != .[1]'
	evidence lost.json lost.err
	holds "with --max-stacks=1 all are counted" lost.json '([$last.rows[].count] | add) == 2064'
	holds "and stacks are lost, which is counted" lost.json '$last.ledger.stacks_lost > 0'
	holds "... be it the kernel's or the user's" lost.json '[$last.rows[].stack[] | select(.frame == "[stack lost]").kernel]
		| unique == [false, true]'
	evidence folded.json folded.err
	is "folded lines have the paths and their counts" \
		"$(sed -nE 's/^.*;([a-z]+_path);.* ([0-9]+)$/\1 \2/p' folded.json | sort | paste -s -d ' ')" \
		'left_path 23 right_path 1009'
	like "the flame graph has them, too" "$(cat flame.svg)" 'right_path'
	evidence table.json table.err
	like "the table has the most frequent first, and tells of the rest" "$(tr -s '\n ' ' ' <table.json)" \
		'^ 1009 97\.8%: [0-9]+ reach (pass )?right_path .* 2\.2% in 1 more stacks: --top=0 shows all '
}

# descends CLAIM REPORT FRAME... - the user's frames are these; "descend*N" is N of that
descends() {
	what=$1 report=$2
	shift 2
	evidence "$report.json" "$report.err"
	holds "$what" "$report.json" '[$last.rows[] | select(.count == 23)] | length == 1 and (.[0].stack | map(select(.kernel | not).frame)
		| [foreach .[] as $f ({n: 0}; {f: $f, n: (if .f == $f then .n + 1 else 1 end)}; .)] as $all
		| [range(0; $all | length) | select($all[. + 1].f != $all[.].f) | $all[.] | if .n > 1 then "\(.f)*\(.n)" else .f end]
		| .[:($frames | split(" ") | length)] == ($frames | split(" ")))' --arg frames "$*"
}

check_deep() {
	descends "a stack has all its frames" deep-20 'descend*20' main
	descends "one that is too deep says that it is not all there" deep-300 'descend*127' '[truncated]'
	holds "... and nothing behind" deep-300.json '[$last.rows[] | select(.count == 23)][0].stack[-1].frame == "[truncated]"'
	holds "... no other does" deep-20.json '[$last.rows[].stack[].frame] | index("[truncated]") | not'
	if [ -e shallow.json ]; then
		descends "... nor is it where the kernel is told to take fewer" shallow 'descend*32' '[truncated]'
	fi
	descends "--inlines shows what was inlined" inlined-20 at_bottom 'descend*20' main
	descends "... also in a stack that is too deep" inlined-300 at_bottom 'descend*127' '[truncated]'
}

# Of the 200,000 one run's peak is asked for: a report that grows with the stacks as objects needs gigabytes.
check_many() {
	[ -e each-one.usage ] || return
	evidence each-one.usage each-one.err
	is "of 20,000 different stacks each is a line, once" \
		"$(awk '/;stray_left;stray_/ { n++; all += $NF } END { print n, all }' each-one.text)" "20000 20000"
	[ -e many.usage ] || return
	evidence many.usage many.err
	holds "200,000 different stacks are reported within 120 MB" many.usage '$last.status == 0 and $last.kB < 120000'
	holds "... in some seconds of CPU time, of which a busy machine needs more" many.usage '$last.cpu < 30'
	is "... all of them" "$(grep -o '"frame":"main"' many.text | wc -l)" 200000
}

# The function that takes stacks, where another program has them taken.
check_inside() {
	unable inside fentry kprobe.multi kprobe && return
	evidence inside.json inside.err taker.json taker.err
	holds "who takes stacks does it in a raw tracepoint's program" taker.json '$last.mechanism.name == "raw_tracepoint"'
	holds "who takes a stack in a program is seen through it" inside.json '$last.final and ($last.rows | length > 0
		and all(.[]; [.stack[].frame] | .[0] == "get_perf_callchain" and (index("__set_task_comm") // 0) > 1))'
	holds "what it does itself there is missed, and told where the kernel tells" inside.json '$last.ledger
		| .recorded == 2064 and (.missed | . == null or . == 4128)'
	holds "and that it is traced changes no count" taker.json '([$last.rows[].count] | add) == 1032 and $last.ledger.stacks_lost == 0'
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	# shellcheck disable=SC2034 # by forced
	case $(cat kernel) in
	5.10.* | 6.1.*) must=' raw_tracepoint tracepoint uprobe' ;;
	6.12.*) must=' raw_tracepoint tracepoint uprobe uprobe.multi' ;;
	7.*arm64*) must=' raw_tracepoint tracepoint uprobe uprobe.multi' ;; # fentry.multi is of x86_64 only
	7.*) must=' fentry.multi raw_tracepoint tracepoint uprobe uprobe.multi' ;;
	esac
	check_each
	check_output
	check_deep
	check_many
	check_inside
}
