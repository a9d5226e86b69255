#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the tools of stacks write: table, folded lines, graph and JSON say the same of one workload,
# and what cannot be written is said.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here top=${here%/*/*}
# shellcheck source=../lib.sh
. "$top/tests/lib.sh"
PATH=$top/build/bin:$top/build/tests:$PATH

((EUID == 0)) || { echo "1..0 # SKIP tracing takes root"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export WORKLOAD_JSON=$work/truth
evidence out err

run() {
	status=0
	timeout -k 5 60 "$@" </dev/null >out 2>err || status=$?
}

# The last line but "tracing …" and the ledger of --folded.
complaint() {
	grep -vE ': tracing …|: [0-9]+ (calls|samples), 0 lost(;|$)' err || :
}

set +e
# By frame pointers, so that its first stacks are like the others.
run offcpu-time --user-stacks=fp --folded -b comm,state -c stays-reader --flame=one.svg -- stays pipe 2 41
is "--folded ends well" "$status" 0
is "... quietly" "$(complaint)" ""
claim "... each line is a key, frames and a weight" awk '!/^[^;]+-[a-z]+(;[^;]+)* [0-9]+$/ { exit 1 }' out
line=$(grep '^stays-reader-sleeping;.*stay_in_pipe.*pipe_read' out)
like "... outermost first, the kernel's with a mark" "$line" \
	'^stays-reader-sleeping;.*read_all;stay_in_pipe;.*_\[k\];.*pipe_read_\[k\];schedule_\[k\];__schedule_\[k\] [0-9]+$'
read -r low high <<<"$(jq -r '.calls[0].sum | "\(.[0]) \(.[1])"' truth)"
claim "... and the weight is the time" test "${line##* }" -ge "$low" -a "${line##* }" -le "$high"
is "... each stack is there once" "$(sed 's/ [0-9]*$//' out | sort | uniq -d)" ""
like "the graph has the same frames" "$(tr '\n' ' ' <one.svg)" \
	'data-name="stay_in_pipe"[^>]*><title>stay_in_pipe \([0-9.]+ms, [0-9]+ times, [0-9.]+ %\)'

# What has not ended is in each output, for as long as it has been in the trace by this clock: a nap that has
# ended, and one that has not. -d lasts from here at the earliest.
cp "$(command -v sleep)" plumb-nap
# shellcheck disable=SC2016 # the inner shell expands it
naps='./plumb-nap 0.2; date +%s%N >began; exec ./plumb-nap 60'
# napping TOOL... - runs it for 4 s, and sets LEAST and MOST, ns of the second nap in the trace
napping() {
	local start

	start=$(date +%s%N)
	run "$@" -c plumb-nap -d 4 -- sh -c "$naps"
	most=$(($(date +%s%N) - $(<began)))
	least=$((start + 4000000000 - $(<began) - 2500000000))
}
napping offcpu-time --folded -b comm,state --flame=nap.svg
is "offcpu-time of what does not end" "$status $(complaint)" "0 "
line=$(grep -F '[in flight]' out)
like "... is a folded line with a mark" "$line" '^plumb-nap-sleeping;.*(do_nanosleep|hrtimer_nanosleep)_\[k\];.*\[in flight\] [0-9]+$'
claim "... its time is that in the trace" test "${line##* }" -le "$most" -a "${line##* }" -ge "$least"
ended=$(awk '/^plumb-nap-sleeping/ && /nanosleep/ && !/in flight/ { sum += $NF } END { print sum }' out)
claim "... beside the one that has ended" test "$ended" -ge 200000000
like "... stderr has the ledger" "$(<err)" 'offcpu-time: [0-9]+ calls, 0 lost; [0-9]+ had not ended, the oldest after [0-9.]+m?s$'
svg=$(tr '\n' ' ' <nap.svg)
like "... the graph has it" "$svg" 'data-name="\[in flight\]"[^>]*><title>\[in flight\] \([0-9.]+s, 1 times, '
like "... and says what it is of: command line" "$svg" '<text id="title"[^>]*>offcpu-time --folded -b comm,state --flame=nap.svg -c plumb-nap -d 4 -- '
like "... host and date" "$svg" "<text id=\"run\"[^>]*>$(uname -n), Linux $(uname -r) $(uname -m), until 20[0-9-]+ [0-9:]+ UTC; "
like "... ledger" "$svg" '<text id="ledger"[^>]*>[0-9]+ calls, 0 lost; [0-9]+ had not ended, the oldest after [0-9.]+m?s<'
like "... and unit" "$svg" '<text id="about"[^>]*>[0-9.]+ s; the width of a frame is its share of the time; \[in flight\]: until the trace ended<'
napping offcpu-time --folded --min=1000s
is "... but not below --min" "$(<out)" ""
napping offcpu-time --folded -b comm 1
is "... of intervals the last one has it, so that lines add up" "$(grep -c 'plumb-nap;.*\[in flight\]' out)" 1
sleep 60 &
run offcpu-time --folded -p $! -d 1
like "a sleep from before the trace has the time of the trace" "$(<out)" '^sleep;.*\[in flight\] 1[0-9]{9}$'
kill $!
napping syscall-slower 10ms -s clock_nanosleep --timeline=nap.svg --perfetto=nap.json
like "a timeline has what has not ended" "$(tr '\n' ' ' <nap.svg)" '<path class="in_flight" d="M[0-9.]+ [0-9.]+h[0-9.]+v.*clock_nanosleep, in flight"\]'
holds "... and a trace for Perfetto" nap.json '[$last.traceEvents[] | select(.ph == "X")] as $calls
	| ($calls | map(.args.in_flight) | sort) == [false, true] and $last.otherData.in_flight == 1
	and ($calls[] | select(.args.in_flight) | .dur * 1000 >= $least and .dur * 1000 <= $most and .name == "clock_nanosleep")' \
	--argjson least "$least" --argjson most "$most"
napping syscall-latency -s clock_nanosleep --heatmap=nap.svg --chart=nap-chart.svg
for picture in nap.svg nap-chart.svg; do
	like "$picture says what has not ended, and that it is longer than all that has" "$(<"$picture")" \
		'<text id="ledger"[^>]*>1 calls, 0 lost; 1 had not ended, the oldest after [0-9.]+s, longer than all that had<'
	like "... and marks it" "$(<"$picture")" 'in flight at the end, time so far: 1<'
done
like "... in the heat map's last column" "$(tr '\n' ' ' <nap.svg)" '<path class="flight" d="M[0-9]+ [0-9]+h[0-9]+v1h-[0-9]+z"/>'
# The plot is 1104 pixels wide; the last column's second number is the end.
length=$(sed -n 's/^<path class="flight" d="M[0-9.]* [0-9.]*h\([0-9.]*\)"\/>$/\1/p' nap-chart.svg)
whole=$(sed -n '/"columns":/,/"ranks":/s/^\[[0-9]*,\([0-9]*\),.*/\1/p' nap-chart.svg | tail -1)
claim "... and in the chart, as long as it is" awk -v dashes="${length:-0}" -v whole="${whole:-0}" -v least="$least" -v most="$most" \
	'BEGIN { ns = dashes / 1104 * whole; exit !(ns >= least - 4e6 && ns <= most + 4e6) }'

# Files that are not what --folded prints: each is an error that names the line, before the trace.
while IFS='|' read -r text why; do
	printf '%b' "$text" >bad
	run offcpu-time --flame=bad.svg --diff=bad -d 1
	is "--diff fails: $why" "$status" 1
	is "... and says so" "$(<err)" "offcpu-time: --diff: $why"
done <<'END'
a;b 1\na;b\n|bad, line 2: not frames, a space and a weight
 1\n|bad, line 1: not frames, a space and a weight
a;b -1\n|bad, line 1: the weight is not a number
a;b 1x|bad, line 1: the weight is not a number
a 9223372036854775807\nb 1\n|bad, line 2: the sum of weights is too large
a\0b 1\n|bad, line 1: it has a NUL
|bad: no stacks, as --folded prints them
a 0\n|bad: no stacks, as --folded prints them
END
run offcpu-time --diff=bad -d 1
is "--diff alone is wrong usage" "$status" 2

run offcpu-time --user-stacks=fp -j -b comm -c stays-reader --flame=two.svg -- stays pipe 2 41
is "-j with --flame ends well" "$status" 0
claim "... and writes both" test -s two.svg
holds "... the JSON is as ever" out '$last.rows | any(.[]; .count == 41 and .min <= .max and .sum >= 41 * .min
	and any(.stack[]; .frame == "stay_in_pipe" and (.kernel | not)))'
holds "... no two rows say the same" out '$last.rows | map([.key, .stack]) | length == (unique | length)'

run offcpu-time --user-stacks=fp -v -b comm -c stays-reader -n 1 -- stays pipe 2 41
like "the table begins with the heaviest stack" "$(head -n 1 out)" \
	'^ *[0-9.]+m?s +[0-9.]+% +41 x, [0-9.]+[mu]?s to [0-9.]+m?s: stays-reader$'
is "... kernel and user apart" "$(grep -c '^    --$' out)" 1
like "... names what it costs" "$(tr -s '\n ' ' ' <out)" \
	'cost: ((at most )?[0-9]+ (to [0-9]+ )?ns added to a traced switch, (at most )?[0-9]+ (to [0-9]+ )?ns to a rejected one \(calibrated[^)]*|not measured \(disturbed)\)'
claim "... within 80 columns, but for names" awk '!/^    / && length > 80 { exit 1 }' out

run offcpu-time --folded -b comm -c stays 0.2 -- stays sleep 1 11 300 3
claim "reports of intervals follow one another" test "$(grep -c stay_asleep out)" -ge 2
run offcpu-time --all-waits -b comm -c stays 0.2 -- stays sleep 1 11 300 3
like "... whose shortest and longest are not known, and not shown" "$(grep -h ' x' out)" ' x: stays'
is "... in none" "$(grep -c ' x, ' out)" 0
run offcpu-time -j -b comm -c stays 0.2 -- stays sleep 1 11 300 3
holds "... nor in JSON" out '($all | length > 1) and all($all[].rows[]; .sum > 0 and has("min", "max") == false)'
run cpu-profile -j -F 499 -b comm -c busy 0.1 -- busy user 500
holds "... and samples besides are the interval's" out '([$all[] | .idle + .others, .rows[].count] | add) as $sum
	| ($all | length) as $n | $n > 2 and $sum <= 499 * 0.1 * $cpus * $n * 1.3 + 20 and $sum > 50' --argjson cpus "$(nproc)"

# What lives for milliseconds is looked at while it lives, and not when the first of many reports is made:
# then none would have names. On a busy host some have ended before the tool runs.
# named CLAIM ROWS - twenty of these sleep, and half of them in a function that has a name
named() {
	holds "$1" out '['"$2"' | select(any(.stack[]; .kernel and (.frame | test("nanosleep"))))
		| [.stack[] | select(.kernel | not).frame][0]] | length >= 20 and (map(select(test("nanosleep"))) | length >= 10)'
}
# shellcheck disable=SC2016 # the inner shell expands it
naps='for i in $(seq 20); do sleep 0.01; done'
run offcpu-time -j -b pid,comm 0.03 -- sh -c "$naps"
named "processes that soon end have names" '$all[].rows[]'
run syscall-slower --stacks -j -s clock_nanosleep 5ms -- sh -c "$naps"
named "... also in syscall-slower" '$all[].call.longest // empty'

run cpu-profile --no-calibrate -j 0.00001 -- sleep 0.05
is "reports that take longer than their interval: the end of the command ends them" "$status" 0

run offcpu-time --max-stacks=1 --max-keys=64 --strict --folded -b comm -c stays,stays-reader -- stays pipe 2 41
claim "a stack that is lost is said" grep -q '\[stack lost\]' out
claim "... the kernel's with its mark" grep -q ';\[stack lost\]_\[k\][; ]' out
is "... which is no call that is lost: --strict is kept" "$status $(complaint)" "0 "
run offcpu-time --max-stacks=1 -b comm,state -- stays pipe 2 41
like "... the footer tells what helps" "$(tr '\n' ' ' <out)" \
	'[0-9]+ stacks not stored, the table is full: raise --max-stacks   [0-9]+ pooled under \[other\]: raise --max-stacks '
run offcpu-time --max-stacks=1 --max-keys=2 -b comm,state -- stays pipe 2 41
like "... also where the rows have an option of their own" "$(tr '\n' ' ' <out)" \
	'[0-9]+ stacks not stored, the table is full: raise --max-stacks   [0-9]+ pooled under \[other\]: raise --max-keys '
run syscall-breakdown -s clock_nanosleep --max-keys=1 -- stays sleep 1 41 2 3
like "... and syscall-breakdown has the time of a stack without room in its tree" "$(<out)" '[0-9.]+m?s +[0-9.-]+[mun]?s? +\[stack lost\]'

# refused CLAIM STATUS COMPLAINT FILE - at once, before anything is traced
refused() {
	run offcpu-time --flame="$4" -- touch was-run
	is "--flame: $1: status $2, one line, and no trace" \
		"$status $(<err) $([[ -s out || -e was-run ]] && echo traced)" "$2 offcpu-time: --flame: $3 "
	rm -f was-run
}
refused "a directory that is missing" 1 "cannot write /nonexistent/x.svg: No such file or directory" \
	/nonexistent/x.svg
refused "a directory" 1 "cannot write $work: Is a directory" "$work"
ln -s round round
refused "links in a circle" 1 "cannot write round: its symbolic links form a loop" round
refused "not a file" 2 "not a file: '-'" -
long=$(printf '%0256d' 0)
refused "a name that is too long" 1 "cannot write $long: File name too long" "$long"
refused "where no files can be" 1 "cannot write /proc/x.svg: No such file or directory" /proc/x.svg
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
refused "a socket" 1 "cannot write socket: it has no reader" socket
: >immutable
if chattr +i immutable 2>/dev/null; then
	refused "a file that is not to be replaced" 1 "cannot write immutable: Operation not permitted" immutable
	chattr -i immutable
else
	skip "--flame: a file that is not to be replaced" "no chattr here"
fi
mkfifo pipe.svg
run cpu-profile -F 499 --flame=pipe.svg -j -b comm -- busy user 100
is "--flame to a pipe that nobody reads: status 1" "$status" 1
is "... one line" "$(complaint)" "cpu-profile: --flame: cannot write pipe.svg: it has no reader"
holds "... and the report all the same" out '$last.rows | length > 0'
cat pipe.svg >piped.svg &
run cpu-profile -F 499 --flame=pipe.svg -b comm -- busy user 100
wait "$!"
is "--flame to a pipe with a reader: he has it whole" "$status $(tail -n 1 piped.svg)" "0 </svg>"
ln -s linked.svg link.svg
: >linked.svg
run offcpu-time -b comm --flame=link.svg -- stays pipe 1 3
claim "--flame through a link: what it leads to is replaced" test -L link.svg -a -s linked.svg
run cpu-profile -F 499 --flame=/dev/full -j -b comm -- busy user 200
is "--flame on a full disk: status 1" "$status" 1
is "... one line" "$(complaint)" "cpu-profile: --flame: cannot write /dev/full: No space left on device"
holds "... and the report all the same" out '$last.rows | length > 0'
claim "... /dev/full is what it was" test -c /dev/full

# Names as templates have them, which differ only at their ends.
name=$(printf 'n%0800d' 0)
"${CC:-cc}" -x c -o long-names - <<-END
	#define SPIN(name) void name(void) { for (volatile long i = 0; i < 30000000; i++) ; }
	SPIN(${name}_first) SPIN(${name}_second)
	int main(void) { ${name}_first(); ${name}_second(); }
END
run cpu-profile -F 997 --folded -b comm -c long-names -- ./long-names
is "functions whose long names differ at the end are two" \
	"$(grep -oE 'n0{800}_[a-z]+' out | sort -u | sed 's/n0*//' | paste -s -d ' ')" "_first _second"

run func-stack -v t:task:task_rename u:libc:malloc -- ls
like "of several kinds of targets the weakest is told, and what was measured" "$(tr -s '\n ' ' ' <out)" \
	'\(stable; user functions as stable as the program\) .*cost: (not measured \((disturbed|fewer than 100 runs[^)]*)\)|(at most )?[0-9]+ (to [0-9]+ )?ns added to a tracepoint.s fire \(not measured: user functions\),)'
claim "... within 80 columns" awk '/^mechanism: / { footer = 1 } footer && length > 80 { exit 1 }' out
run syscall-slower -v 10s -- sleep 0.1
like "syscall-slower tells what it costs" "$(tr -s '\n ' ' ' <out)" \
	'cost: (not measured \(disturbed\)|(at most )?[0-9]+ (to [0-9]+ )?ns added to a call of less than MIN, (at most )?[0-9]+ (to [0-9]+ )?ns to a rejected one \(calibrated[^)]*\))'
claim "... within 80 columns" awk 'length > 80 { exit 1 }' out
run setpriv --bounding-set -syslog cpu-profile -v -c no-such-name -d 0.1
claim "... also where the kernel's addresses are hidden" awk 'length > 80 { exit 1 }' out
run func-stack -v t:task:task_rename -- ls
like "... and of one kind it alone" "$(<out)" '\(stable\)'

status=0
cpu-profile -F 499 --flame=three.svg 0.1 -b comm -c busy 2>err | head -c 1 >out || status=$?
is "a reader that goes away is a good end" "$status $(complaint)" "0 "
claim "... and the graph is written" test -s three.svg
run offcpu-time --folded -j
is "--folded and --json are wrong usage together" "$status" 2
run offcpu-time --min 2ms --max 1ms
is "--min above --max is wrong usage" "$status" 2
# Two pictures in one file: the second would replace the first.
for options in "syscall-slower 10s --timeline=both.svg --perfetto=$work/both.svg" \
	"syscall-latency --heatmap=both.svg --chart=./both.svg"; do
	rm -f was-run
	# shellcheck disable=SC2086 # it is words
	run $options -- touch was-run
	like "one file for two pictures is refused" "$status $(complaint)" '^1 [a-z-]+: --[a-z]+: .*both.svg is the file of --[a-z]+ as well$'
	claim "... before the command runs" test ! -e was-run -a ! -e both.svg
done

# Threads that sleep, of a process whose main thread makes no such call; more of them than have a lane.
cat >threads.py <<'END'
import sys, threading, time
all = [threading.Thread(target=time.sleep, args=(0.05,)) for i in range(int(sys.argv[1]))]
for t in all:
	t.start()
for t in all:
	t.join()
END
run syscall-slower 20ms -s clock_nanosleep --timeline=many.svg --perfetto=many.json -- /usr/bin/python3 threads.py 230
is "a timeline says how many threads it omits" "$(grep -o '[^>]*</text>' <<<"$(grep 'id="omitted"' many.svg)")" \
	"the 200 threads with the most time in calls; not shown: 30 calls of 30 threads</text>"
is "a process has a name in a trace, also without calls of its main thread" \
	"$(jq -c '[.traceEvents[] | select(.name == "process_name").pid] == ([.traceEvents[] | select(.ph == "X").pid] | unique)' many.json)" true
run syscall-slower 1s -c no-such-name --timeline=none.svg -d 0.1
claim "a timeline without calls says so" grep -q '>nothing recorded<' none.svg

for tool in func-stack offcpu-time cpu-profile; do
	run "$tool" --help
	is "$tool --help: options of stacks are below their heading" \
		"$(awk '/^ [A-Z].*:$/ { heading = $0 } /^ +--(folded|flame|diff|inlines|max-stacks)[= ]/ { print heading }' out | sort -u)" " Stacks:"
done
done_testing
