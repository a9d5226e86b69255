#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Names of files and of what is in them are others' choice: on a terminal they control nothing.
. "$(dirname "$0")/lib.sh"

tests=${bin%/*}/tests
strange=$work/$'ev\e[31m\nfake' app=$'ap\eplication'
escaped='ev\x1b[31m\x0afake/ap\x1bplication'
mkdir "$strange"
cp "$tests/userfuncs" "$strange/$app"
cp "$(command -v sleep)" "$strange/idle"
objcopy --redefine-sym user_leaf=user$'\e'leaf "$tests/userfuncs" "$work/hostile"
# Of the same length, so that the notes remain as they are.
sed 's/guarded/guar\x1bed/g' "$tests/usdt" >"$work/probes"
chmod +x "$work/probes"

# clean CLAIM WORD - what was printed has WORD, and no byte that controls a terminal
clean() {
	if [[ $(cat "$err" "$out") == *"$2"* ]] && ! tr -d '\n' <"$err" | LC_ALL=C grep -q '[[:cntrl:]]' &&
		! tr -d '\n' <"$out" | LC_ALL=C grep -q '[[:cntrl:]]'; then
		tap_result 0 "$1"
	else
		cat -v "$err" "$out" | tap_result 1 "$1" || :
	fi
}

for tool in func-count user-func-latency; do
	u=u:
	[[ $tool == func-count ]] || u=
	run_bare "$tool" -d 1 "$u$work/hostile:user_leaf"
	clean "$tool: a function that is suggested" 'user\x1bleaf'
	run_bare "$tool" -d 1 "$u$strange/$app:no_such_function"
	clean "$tool: a path in a message" "$escaped"
	is "... which is one line" "$(wc -l <"$err")" 1
done
run_bare usdt-latency -d 1 "$work/probes:app:guarded" "$work/probes:app:end"
clean "usdt-latency: a probe that is suggested" 'guar\x1bed'
run_bare func-count -d 1 "usdt:$work/probes:app:guarded"
clean "func-count: a probe that is suggested" 'guar\x1bed'
run_bare probe-list "u:$work/hostile:user*leaf"
clean "probe-list: functions" 'user\x1bleaf'
run_bare probe-list -a "usdt:$work/probes:app:*"
clean "probe-list: USDT probes" 'app:guar\x1bed'
run_bare probe-check "u:$strange/$app:user_leaf" $'k:\e\377\302\233'
clean "probe-check: paths" "$escaped:user_leaf"
clean "... and bytes that are not characters" 'k:\x1b\xff\xc2\x9b'
run_bare syscall-count -s $'\e]0;read\a'
clean "what is wrong on the command line" '\x1b]0;read\x07'
for option in $'--\e[31m' $'--e\xc2\x9bm=1' $'-\e'; do
	run_bare syscall-count "$option"
	clean "an option that does not exist: $(printf %q "$option")" 'unrecognized option: -'
	is "... which is wrong usage" "$status" 2
done

traces user-func-latency || done_testing
cp "$tests/usdt" "$strange/$app"
run_bare usdt-latency -v -d 0.1 "$strange/$app:app:slow_begin" "$strange/$app:app:slow_end"
clean "a path in the report's last lines" "$escaped:app:slow_begin"
# Names that differ in such bytes only are told apart, in each output.
top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
if [[ $top ]] && mkdir -p "$top/plumb-escapes-$$/"$'e\x01' "$top/plumb-escapes-$$/"$'e\x02' "$top/plumb-escapes-$$/e\\x01"; then
	# shellcheck disable=SC2016 # the inner shell expands it
	run_bare syscall-count -j -s getppid -b cgroup -g "$top/plumb-escapes-$$" --openmetrics="$work/groups.prom" --otlp="$work/groups.otlp" -- \
		sh -c 'for n in 1 2 3; do
			(eval "echo 0 >\"\$$n/cgroup.procs\""; exec "$0" "10$n" getppid >"$0.out" 2>&1)
		done' "$tests/calls" "$top/plumb-escapes-$$/"$'e\x01' "$top/plumb-escapes-$$/"$'e\x02' "$top/plumb-escapes-$$/e\\x01"
	rows=$'e\\x01 101\ne\\x02 102\ne\\\\x01 103'
	is "cgroups whose names differ in a byte that is not printed: a row each in JSON" \
		"$(jq -r '.rows[] | "\(.key.cgroup | sub(".*/"; "")) \(.count)"' "$out" | sort -k 2)" "$rows"
	is "... a series each of metrics" "$(sed -n 's/^plumb_syscall_count_calls_total{.*cgroup=".*\/\(.*\)"} /\1 /p' "$work/groups.prom" | sed 's/\\\\/\\/g' | sort -k 2)" "$rows"
	is "... a point each of OTLP" "$(jq -r '.. | objects | select(.name? == "plumb.syscall_count.calls").sum.dataPoints[]
		| "\(.attributes[0].value.stringValue | sub(".*/"; "")) \(.asInt)"' "$work/groups.otlp" | sort -k 2)" "$rows"
	cp "$out" "$work/groups.json"
	run_bare hist-merge -j "$work/groups.json"
	is "... and merged" "$(jq -r '.rows[] | "\(.key.cgroup | sub(".*/"; "")) \(.count)"' "$out" | sort -k 2)" "$rows"
	# What was printed selects what it was printed of; a name as it is comes first.
	mkdir "$top/plumb-escapes-$$/e,4"
	for name in 'e\x02 102' 'e\\x01 103' 'e\x01 103' 'e\x2c4 104'; do
		# shellcheck disable=SC2016 # the inner shell expands it
		run_bare syscall-count -j -s getppid -g "plumb-escapes-$$/${name% *}" -- sh -c 'for n in 1 2 3 4; do
				(eval "echo 0 >\"\$$n/cgroup.procs\""; exec "$0" "10$n" getppid >"$0.out" 2>&1)
			done' "$tests/calls" "$top/plumb-escapes-$$/"$'e\x01' "$top/plumb-escapes-$$/"$'e\x02' "$top/plumb-escapes-$$/e\\x01" "$top/plumb-escapes-$$/e,4"
		is "-g ${name% *}" "$(jq -r .ledger.recorded "$out")" "${name#* }"
	done
	rmdir "$top/plumb-escapes-$$/e"* "$top/plumb-escapes-$$"
else
	skip "cgroups whose names differ in a byte that is not printed" "no cgroup2 here"
fi
objcopy --redefine-sym be_busy=be$'\x01'busy "$tests/busy" "$work/busy"
run_bare cpu-profile -F 499 --folded -c busy --flame="$work/busy.svg" -- "$work/busy" user 300
clean "a function in a stack" 'be\x01busy'
like "... and in a graph" "$(<"$work/busy.svg")" 'data-name="be\\x01busy"'
nap=$work/$'a\x01\xff\\b'
cp "$(command -v sleep)" "$nap"
"$nap" 300 &
cli_started+=($!)
for ((i = 0; i < 500; i++)); do [[ $(</proc/$!/comm) == a* ]] && break; sleep 0.01; done
run_bare syscall-latency -j -d 0.2 -p $!
is "a thread in flight has the name that rows have" "$(jq -r '.in_flight[].comm' "$out")" 'a\x01\xff\\b'

"$strange/idle" 300 &
cli_started+=($!)
for ((i = 0; i < 500; i++)); do grep -q fake "/proc/$!/maps" && break; sleep 0.01; done
run_bare user-func-latency -d 0.1 -p $! idle:no_such_function
clean "a path of a process" 'ev\x1b[31m\012fake/idle' # as /proc/PID/maps has it
done_testing
