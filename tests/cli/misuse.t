#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Wrong usage is status 2 and one line that names the option and the value.
. "$(dirname "$0")/misuse.sh"

start_idle

bad_ids() {
	local option
	for option in -p -t; do
		for value in abc 0 -1 +1 1.5 99999999999 18446744073709551617 1,,2 ',' '' ' 1' '1 ' 0x10 1x; do
			bad "$option" "$value"
		done
	done
	bad -p "$(seq -s , 1 65)" 64
	bad -c abcdefghijklmnop
	bad -c '*abcdefghijklmnop?'
	bad -c '*abcdefgh,*abcdefgh,*abcdefgh,*abcdefgh,*abcdefgh,*abcdefgh,*abcdefgh,*bcdefgh' '*bcdefgh'
	bad -c abc,
	bad -c ''
	bad -g ''
	bad -g /,,/
}

bad_numbers() {
	local value
	for value in 0 -1 1e5 x '' 1s 0.0000000001 99999999999 18446744073709551616 inf; do
		bad -d "$value"
	done
	for value in 0 101 -1 99.9999999 100.000001 50,,99 x '' 50%; do
		bad -q "$value"
	done
	bad -q "$(seq -s , 1 17)" 16
	for value in -1 x '' 1.5 18446744073709551616; do
		bad -m "$value"
	done
	for value in -1 x '' 1.5; do
		bad -n "$value"
	done
	for value in 0 11 -1 6.5 x ''; do
		bad --precision "$value"
	done
	for value in calls calls.prom.tmp .prom ''; do
		bad --openmetrics "$value"
	done
	# One of two files would not be written.
	bad_together --openmetrics "given twice; it takes one FILE.prom" : --openmetrics=x.prom --openmetrics=y.prom
	bad_together --otlp "given twice; it takes one FILE" : --otlp=x --otlp=y
	for value in '' : 1us 1us:1us 1us,1us 2us,1us x; do
		bad --le "$value" # without --openmetrics, too
	done
	for value in 0 -1 x '' 1e3 99999999999; do
		bad --max-keys "$value"
	done
	for value in -1 101 100.000001 x 1% 0.0000001; do
		bad "--strict=$value"
	done
	bad --strict=
	bad --save=
}

bad_keep() {
	local value keep=10s
	has "$tool" --keep || return
	if [[ $tool == syscall-slower ]]; then
		keep=10
		bad --keep 10s "number of records"
	else
		bad --keep 10
	fi
	for value in 0 1d 10m/ 10m/x /10s 10m/10m1 1s/10s 50ms 10m/1ms '' -1s; do
		bad --keep "$value"
	done
	for value in '' p99 'p99>50x' 'p99 > 50ms' 'lost>2*median' 'nonsense>1' 'count>1ms' 'count<0' 'count<1' 'count<=0.5'; do
		bad_together --trigger : "--keep=$keep" --trigger="$value"
	done
	if [[ $keep == 10s ]]; then
		bad_together --trigger '2*median: it never holds' 'intervals and --keep has 4' : --keep=20s/5s --trigger='count>2*median'
		for value in 20s 30s 11s; do
			bad_together --after lack : --keep=20s/10s --trigger='count>1' --after="$value"
		done
	fi
	bad_together --trigger-key nonsense : "--keep=$keep" --trigger='count>1' --trigger-key=nonsense=1
	bad_together --trigger-key KEY=VALUE : "--keep=$keep" --trigger='count>1' --trigger-key=pid
	bad_together --trigger-key twice : "--keep=$keep" --trigger='count>1' --trigger-key=pid=1 --trigger-key=pid=2
	for value in '' 10 1d -1s; do
		bad_together --after : "--keep=$keep" --trigger='count>1' --after="$value"
		bad_together --cool-down : "--keep=$keep" --trigger='count>1' --cool-down="$value"
	done
	for value in 0 1001 x ''; do
		bad_together --max-dumps : "--keep=$keep" --out="$work/dump" --max-dumps="$value"
	done
	bad_together --out : "--keep=$keep" --out=
	bad_together --out : "--keep=$keep" --out=-
	bad_together --keep INTERVAL : "--keep=$keep" 1
	# Each is of another option.
	bad_together --out --keep : --out="$work/dump"
	bad_together --trigger --keep : --trigger='count>1'
	bad_together --trigger-key --trigger : "--keep=$keep" --trigger-key=pid=1
	bad_together --after --trigger : "--keep=$keep" --after=1s
	bad_together --cool-down --trigger : "--keep=$keep" --cool-down=1s
	bad_together --max-dumps --out : "--keep=$keep" --max-dumps=3
	bad_together --exit-on-dump --keep : --exit-on-dump
	for value in '' now 1 9:05 24:00 +1 +0s /0s 2026-11-25 1970-01-01T00:00:01Z 2026-06-31T00:00:00Z; do
		bad --start-at "$value"
		bad --until "$value"
	done
	bad --until /10s
	bad_together --until --start-at : --start-at=2099-01-01T00:00:00Z --until=2099-01-01T01:00:00+01:00
	bad_together --until --start-at : --start-at=+24h --until="$(date -u -d "1 hour" +%FT%TZ)"
}

bad_names() {
	for value in nonsense PID pid,,comm ''; do
		bad -b "$value"
	done
	bad -b pid,nonsense nonsense
	for value in minutes MS '' 1; do
		bad -u "$value"
	done
	bad --mechanism nonsense
	bad --mechanism ''
	bad --sort nonsense
	bad --sort ''
	for value in nonsense rate,,rate ''; do
		bad --columns "$value"
	done
	bad --columns rate,nonsense nonsense
	bad --columns rate,rate "twice: rate"
	for value in nonsense READ read,,write '' syscall_2147483648 syscall_-0; do
		bad -s "$value"
	done
	bad -s read,nonsense nonsense
	bad -s '!nonsense' nonsense
	for value in '!' '!,read' '!read,' '!!read' '!help' '! read'; do
		bad -s "$value"
	done
	bad -s 'read,!write' "'!' is for all of a list"
	bad_together -s '!read' : -s write -s '!read'
	bad_together -s '!read' : -s '!read' -s write
	bad_argument --syscall 'sendto?' -s sendot
	bad_argument --syscall "no such system call on this architecture: waitpid; did you mean ia32:waitpid of 32-bit programs?" -s waitpid
	has "$tool" -b || return
	# Other ones' classes are powers of two, and hist-merge takes those that it reads.
	if [[ " $("$bin/$tool" -b help) " == *" size "* && $tool != @(block-io-latency|file-latency|hist-merge) ]]; then
		bad -b size:512,size:64K size:64K
		bad -b size,size:64K size:64K
		bad -b size:512,size "width only: size"
	fi
	[[ $("$bin/$tool" -b help) == *arg:* ]] || return
	bad -b arg: "arg:;"
	for value in 'arg:count>>64' 'arg:count>>' 'arg:count>>-1' 'arg:count>>x' 'arg:>>1' 'arg:count>1' 'arg:count>' \
		'arg:NAME|N[>>SHIFT]' "arg:$(printf 'x%.0s' {1..100})"; do
		bad -b "$value"
	done
	bad -b arg:0,arg:1 "arg:0, arg:1"
	[[ $("$bin/$tool" -b help) == *TYPE* ]] || return
	for value in arg:0:x arg:0:s arg:0:s7 arg:0:u128 arg:0: arg::u8 arg:0:s8:s8; do
		bad -b "$value"
	done
	# How many arguments are in registers depends on the file, which --check-arguments does not read.
	local safe=(-d 0.1 -p "$idle")
	bad -b arg:6
}

# What is wrong in a file has status 1.
bad_labels() {
	has "$tool" --labels || return
	printf '%s\n' '# one' '10.0.0.1 a' >"$work/one"
	printf '%s\n' '10.0.0.2 b' '10.0.0.1/32 c' >"$work/two"
	run "$tool" "${safe[@]}" --labels "$work/one" --labels "$work/two"
	refused "$tool: the same addresses in two files of labels" 1 "$tool" "$work/two:2:" "$work/one:2"
}

bad_operands() {
	[[ -n ${operand[$tool]-} ]] || return
	run_bare "$tool" "${safe[@]}"
	refused "$tool without what it is to trace is wrong usage" 2 "$tool" "$tool $(operand_name)"
	[[ ${operand[$tool]} != 1ms ]] || { bad_times; return; }
	run_bare "$tool" "${safe[@]}" 1 5
	refused "$tool 1 5: these are INTERVAL and COUNT, not what to trace" 2 "$tool" "$tool $(operand_name)"
	takes_words "$tool" && [[ -n $(operand_name) ]] || return
	# shellcheck disable=SC2046 # words
	run_bare "$tool" "${safe[@]}" $(printf 'x%d:y ' {1..65})
	refused "$tool of 65 is wrong usage" 2 "$tool" "at most 64"
}

bad_times() {
	local time
	for time in 1 5 x 1m 1msx; do
		run_bare "$tool" "${safe[@]}" "$time"
		refused "$tool $time: a time has a unit" 2 "$tool" "$time"
	done
}

# What --help calls an operand: "FUNC...".
operand_name() {
	"$bin/$tool" --help | sed -nE '1s/.*\] ([A-Z:]+\.\.\.).*/\1/p'
}

bad_filters() {
	for value in x -1 '' 4294967296; do
		bad --fd "$value"
	done
	for value in 5 5m 1.5ns 5MS ms -1ms '' 18446744074s; do
		bad --min "$value"
	done
	for value in x 64k 1KB 1.5K -1 '' 17179869184G; do
		bad --min-size "$value"
		bad --max-size "$value"
	done
	bad_together --min-size --max-size : --min-size 3 --max-size 2
	[[ $tool == block-io-latency ]] || return
	bad_together --slower --by : --slower 1s -b disk
	bad_together --slower --histogram : -H --slower 1s
	bad_together --slower --top : --slower 1s -n 3
	bad_together --slower --sort : --slower 1s --sort max
	bad_together --slower --columns : --slower 1s --columns max
}

bad_events() {
	[[ $tool == event-rate ]] || return
	for value in task-clock:u cpu-clock:k page-faults:x; do
		run "$tool" "${safe[@]}" cs "$value"
		refused "$tool $value is wrong usage" 2 "$tool" "$value" modifiers
	done
}

bad_merges() {
	local value
	[[ $tool == hist-merge ]] || return
	for value in 1 m 0s 1d 25h 1.5m -1m 60000000s ''; do
		bad --every "$value"
	done
	for value in x -1% 5%% 10001% '' 1e3; do
		bad --fail-above "$value"
	done
	bad --tool ''
	bad --hgrm ''
	bad_together "--hgrm: given twice" : --hgrm=z --hgrm=y x
	for value in -T=--every -i=--every -d=--every -P="-b pid" -p="-b pid" -L="-b tid" -x=--sort=errors; do
		run "$tool" "${value%%=*}" x
		refused "$tool ${value%%=*} names what it is called here" 2 "$tool" "${value%%=*}" "${value#*=}"
	done
	for value in "--every=1m" "--hgrm=z" "--diff y"; do
		# shellcheck disable=SC2086 # words
		run "$tool" --openmetrics=x.prom $value x
		refused "$tool --openmetrics=x.prom $value is wrong usage" 2 "$tool" "--openmetrics: not with"
	done
	run "$tool"
	refused "$tool without a file is wrong usage" 2 "$tool" "no FILE"
	run "$tool" -b none,pid x
	refused "$tool -b none,pid is wrong usage" 2 "$tool" --by none
	run "$tool" --fail-above=5% x
	refused "$tool --fail-above without --diff is wrong usage" 2 "$tool" --fail-above --diff
	for value in x "x y z" "x y -H" "x y --every=1m" "x y --ladder" "x y --hgrm=z"; do
		# shellcheck disable=SC2086 # words
		run "$tool" --diff $value
		refused "$tool --diff $value is wrong usage" 2 "$tool" --diff
	done
}

bad_arguments() {
	# What does not begin as a number does is an operand, for tools that take some.
	local no_numbers=(x '')
	! takes_words "$tool" || no_numbers=()
	for value in 0 .0 1e5 99999999999 0.0000000001 1s "${no_numbers[@]}"; do
		bad_argument INTERVAL "$value" "$value"
	done
	for value in 0 1.5 .5 99999999999 18446744073709551617 "${no_numbers[@]}"; do
		bad_argument COUNT "$value" 1 "$value"
	done
	if has "$tool" COUNT; then
		for value in 3 "${no_numbers[@]}"; do
			run "$tool" "${safe[@]}" 1 1 "$value"
			refused "$tool 1 1 $value is wrong usage" 2 "$tool" "unexpected argument: $value"
		done
	fi
	has "$tool" COMMAND || return
	run "$tool" --
	refused "$tool -- without a command is wrong usage" 2 "$tool" --
	for option in -p -t; do
		has "$tool" "$option" || continue
		run "$tool" "$option" 1 -- true
		refused "$tool $option with a command is wrong usage" 2 "$tool" "$option" --
	done
}

# The same without tracing; in the other functions it is what finds wrong usage.
good_arguments() {
	has "$tool" --check-arguments || return
	local outputs=(--audit="$work/none/audit") option
	for option in --flame --timeline --perfetto --heatmap; do
		! has "$tool" "$option" || outputs+=("$option=$work/none/$option")
	done
	[[ $tool != request-latency ]] || outputs+=(--slower=1s) # --perfetto takes it
	run "$tool" -d 1 "${outputs[@]}" --check-arguments -- touch "$work/started"
	is "$tool --check-arguments says nothing of good ones, and opens no output" "$status $(cat "$out" "$err")" "0 "
	((EUID == 0)) || return
	timeout 20 setpriv --bounding-set=-all --inh-caps=-all --reuid=65534 --clear-groups \
		"$bin/$tool" ${operand[$tool]:+"${operand[$tool]}"} ${second[$tool]:+"${second[$tool]}"} --check-arguments >"$out" 2>"$err"
	is "... and takes no capability" "$? $(cat "$out" "$err")" "0 "
}

# What no table of options knows.  getopt's own words are taken, but no more than two lines.
unknown() {
	local name=$1
	shift
	run "$tool" "${safe[@]}" "$@"
	is "$tool $* exits 2" "$status" 2
	is "$tool $* says nothing on stdout" "$(<"$out")" ""
	like "$tool $* names tool and option" "$(head -n 1 "$err")" "^$tool: .*$name"
	claim "$tool $* says so shortly" test "$(wc -l <"$err")" -le 2
	is "$tool $*: it refers to nothing that is not there" "$(grep -o -e --usage "$err")" ""
}

# It could be another option elsewhere.
abbreviated() {
	has "$tool" --duration || return
	for value in --duratio=1 "--duratio 1"; do
		# shellcheck disable=SC2086 # words
		run "$tool" $value
		refused "$tool $value is wrong usage" 2 "$tool" --duratio: --duration
	done
}

# Of other tools, and what they are called here.
habits() {
	local habit by=(-P="-p and -t" -L="-p and -t")
	has "$tool" --strict || return
	! has "$tool" --by || by=(-P="-b pid" -L="-b tid")
	for habit in -T=INTERVAL "${by[@]}" -i=INTERVAL -x=--errors; do
		run "$tool" "${safe[@]}" "${habit%%=*}" 1
		refused "$tool ${habit%%=*} names what it is called here" 2 "$tool" "${habit%%=*}" "${habit#*=}"
	done
}

# A tree has no rows to choose, to sort, or to show otherwise.
bad_for_trees() {
	local option
	has "$tool" --above || return
	for option in -b -m -n -u -H --sort --columns; do
		unknown "${option##*-}" "$option" 1
	done
	bad_together -f -F : -s read -f vfs_read -F 99
	bad_together -f -s : -f vfs_read
}

for tool in "${tools[@]}"; do
	harmless
	bad_for_trees
	bad_labels
	bad_arguments
	good_arguments
	bad_events
	bad_merges
	bad_operands
	[[ " ${kinds[*]} " == *" $tool "* ]] || continue
	bad_ids
	bad_numbers
	bad_keep
	bad_names
	bad_filters
	habits
	unknown nonsense --nonsense
	unknown nonsense --nonsense=3
	run "$tool" "${safe[@]}" --=x
	refused "$tool --=x lacks a name" 2 "$tool" "no name of an option" "--=x"
	unknown Z -Z
	unknown Z -vZv
	unknown version --version=3
	unknown 1 -1
	abbreviated
	has "$tool" --pid && unknown "'?p" -p && unknown --pid --pid
	has "$tool" --pid && has "$tool" --precision && unknown "--p" --p 1
done
run_bare syscall-count -d 0.1 --min=5
refused "syscall-count has no --min" 2 syscall-count --min: --min-count
run_bare syscall-count --strict -vn5 --check-arguments
is "letters together are no abbreviation of what precedes them" "$status" 0
# Targets of another kind.
tool=user-func-latency
while read -r target other; do
	run_bare "$tool" -d 0.1 "$target"
	refused "$tool $target names the tool for it" 2 "$tool" "$target" "$other"
done <<<"usdt:./x:app:begin usdt-latency
k:vfs_read func-latency
t:sched:sched_switch func-count
s:read syscall-latency"
run_bare func-count -d 0.1 ./x:function
refused "func-count names the form of user functions" 2 func-count ./x:function u:FILE:FUNCTION
run_bare func-count -d 0.1 tracepoint:sched:sched_switch
refused "func-count names a tracepoint as it takes it" 1 func-count "a tracepoint is t:sched:sched_switch"
done_trying
