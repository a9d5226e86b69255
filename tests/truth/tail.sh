# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# --tail: each slow call is found, one by one, between the least and the most that it took.

# calls NAME MICROSECONDS TIMES - the workload under the tools
calls() {
	start "$1" tails "$2" "$3"
	time=$(($2))us
	program=syscall-slower
	attach "slower-$1" "--tail=$time" -p "$pid"
	program=syscall-latency
	attach "latency-$1" "--tail=$time" -p "$pid" -b tid,syscall --split --max-keys=64 --precision=8
	attached
	open_gate "$1" go
	await 100 [ -e "$1.gates/done" ]
	open_gate "$1" end
	finish "$1" "$pid"
	detach "slower-$1" "latency-$1"
	echo "$2 $3" >"$1.size"
}

# shellcheck disable=SC2034 # by what starts a tool
run() {
	program=syscall-slower quick=--no-calibrate
	uname -r >kernel
	traced probe --tail=10ms -- true
	[ "$(cat probe.status)" != 77 ] || return 0

	case $(uname -r) in
	*cloud* | *arm64* | *-rt*) calls alone 20000 11 ;;
	*) if everything; then calls alone 1000 800; else calls alone 1000 211; fi ;;
	esac
	# As many threads as want all CPUs four times.
	hogs=
	for hog in 1 2 3 4 5 6 7 8; do
		sh -c 'while :; do :; done' "hog$hog" &
		hogs="$hogs $!"
		started="$started $!"
	done
	calls crowded 20000 11
	# shellcheck disable=SC2086 # words
	kill $hogs

	program=syscall-slower
	start selected tails 20000 5
	attach reads --tail=20ms -s read -p "$pid"
	attach named --tail=20ms -c spinner
	attach nobody --tail=20ms -c nobody
	launch text --tail=20ms -c sleeper
	await 30 is_tracing text
	attached
	open_gate selected go
	await 60 [ -e selected.gates/done ]
	open_gate selected end
	finish selected "$pid"
	detach reads named nobody text

	# Killed in their calls.
	start doomed tails 1000000 3
	attach killed --tail=10ms -p "$pid"
	attached
	open_gate doomed go
	sleep 1
	kill -9 "$pid"
	finish doomed "$pid"
	finish killed "$(cat killed.pid)"
	traced flight --tail=100ms -d 0.6 -- sleep 2
}

# --- claims ---

# judge NAME - figures of what was made and found: NAME.figures, "key=value" lines
judge() {
	jq -r 'select(.call) | .call | [.tid, .syscall, (.end[0:19] + "Z" | fromdateiso8601), .end[20:29], .ns, .at_most] | @tsv' "slower-$1.json" >"$1.found"
	jq -r '.base as $base | .calls[] | .tid as $t | .syscall as $s | .times[] | [$t, $s, $base, .[]] | @tsv' "$1.truth" >"$1.made"
	awk -v shortest="$(cut -d ' ' -f 1 "$1.size")000" '
		NR == FNR {
			key = $1 " " $2; base = $3; i = ++n[key]
			begin[key, i] = $4; end[key, i] = $5; least[key, i] = $6
			next
		}
		{
			key = $1 " " $2
			if (!(key in n)) {
				quick += $2 == "getppid" # it has made none that was slow
				next
			}
			# Whose time has the middle of this one.
			at = ($3 - base) * 1e9 + $4 - $5 / 2
			low = 1; high = n[key]
			while (low < high) {
				i = int((low + high) / 2)
				if (end[key, i] < at) low = i + 1
				else high = i
			}
			if (begin[key, low] > at) { stray++; next }
			twice += seen[key, low]++ > 0
			took = end[key, low] - begin[key, low]
			found++
			too_high += $5 > took
			too_low += $6 < took
			impossible += $6 < least[key, low]
			if ($6 - $5 <= shortest) narrow++
		}
		END {
			for (key in n)
				for (i = 1; i <= n[key]; i++)
					# A fast call is not slow if its thread lost its CPU beside it.
					if (key !~ /getppid/ && end[key, i] - begin[key, i] >= 2 * shortest) {
						slow++
						missing += !seen[key, i]
					}
			print "slow=" slow + 0, "missing=" missing + 0, "found=" found + 0, "twice=" twice + 0, "stray=" stray + 0, \
				"quick=" quick + 0, "too_high=" too_high + 0, "too_low=" too_low + 0, \
				"impossible=" impossible + 0, "narrow=" narrow + 0
		}' "$1.made" "$1.found" >"$1.figures"
}

# figure NAME KEY
figure() {
	tr ' ' '\n' <"$1.figures" | sed -n "s/^$2=//p"
}

check_calls() {
	local slow found times
	evidence "slower-$1.json" "slower-$1.err" "$1.figures" "$1.err"
	judge "$1"
	times=$(cut -d ' ' -f 2 "$1.size")
	slow=$(figure "$1" slow) found=$(figure "$1" found)
	claim "$1: the workload made slow calls" test "$slow" -ge $((times * 10))
	is "$1: each call of twice the time is found" "$(figure "$1" missing)" 0
	is "$1: no two are found in one" "$(figure "$1" twice)" 0
	is "$1: none is found between calls" "$(figure "$1" stray)" 0
	is "$1: none took less than at least" "$(figure "$1" too_high)" 0
	is "$1: none that slept took more than at most" "$(figure "$1" impossible)" 0
	# A program's clock also has what interrupts took between it and the call.
	claim "$1: of 200 calls one at most took more, by its program's clock" \
		test $((200 * $(figure "$1" too_low))) -le $((found + 400))
	is "$1: fast calls are in none, but those that took long after all" "$(figure "$1" quick)" 0
	[[ $1 != alone ]] ||
		claim "$1: of ten calls nine are known to within the shortest time" test $((10 * $(figure "$1" narrow))) -ge $((9 * found))
	holds "$1: the parts of each call add up to what it took at least" "slower-$1.json" '[$all[] | .call // empty]
		| length > 0 and all(.on_cpu + .preempted + .blocked + .runq == .ns and .at_most >= .ns and .ret == null and .irq == null
			and ([.on_cpu, .preempted, .blocked, .runq] | all(. >= 0)))'
	holds "$1: of sleeps most is sleep, of getrandom none is" "slower-$1.json" '[$all[] | .call // empty]
		| (map(select(.comm == "sleeper")) | map(.blocked) | add) as $slept | (map(select(.comm == "sleeper")) | map(.blocked + .on_cpu) | add) as $all
		| $slept > 0.9 * $all and (map(select(.syscall == "getrandom").blocked) | add // 0) == 0'
	holds "$1: arguments are those of the call" "slower-$1.json" '[$all[] | .call // empty] | map(select(.syscall == "recvfrom"))
		| length > 0 and all(.arguments[2] == 5 and .arguments[3] == 256)'
	holds "$1: seen are as many as were reported and were not" "slower-$1.json" '$last | .ledger.filtered_at_exit >= .tail.undecided
		and .ledger.recorded == ([$all[] | .call // empty] | length)'
	jq -c 'select(.schema)' "slower-$1.json" >"slower-$1.report.json"
	sound "of slow calls, $1" "slower-$1.report.json"
	sound "of their latency, $1" "latency-$1.json"
	holds "$1: percentiles are between those of the calls at least and at most" "latency-$1.json" '
		def rank($p): sort | .[([(length * $p / 100 | ceil), 1] | max) - 1];
		($shortest | tonumber * 1000) as $shortest
		| [$last.rows[] | select(.key.tid as $tid | any($truth[0].calls[]; .tid == $tid and .syscall != "getppid"))] as $rows
		| [$rows[] | . as $row | $truth[0].calls[] | select(.tid == $row.key.tid and .syscall == $row.key.syscall)
			| [.times[] | .[1] - .[0]] as $took | ($took | map(select(. >= 2 * $shortest))) as $slow | ($took | map(select(. >= $shortest))) as $all
			| $row.count >= ($slow | length) and $row.count <= ($all | length)
				and $row.sum <= ($all | add) and $row.at_most.sum >= 0.99 * ($slow | add)
				and $row.percentiles["50"] <= 1.01 * ($slow | rank(50)) + 1000
				and 1.01 * $row.at_most.percentiles["50"] + 50000 >= ($all | rank(50))]
		| length >= 14 and all' --slurpfile truth "$1.truth" --arg shortest "$(cut -d ' ' -f 1 "$1.size")"
	holds "$1: the split of a row adds up" "latency-$1.json" '$last.rows | length > 0 and all(.split as $s
		| $s.irq == null and $s.on_cpu + $s.preempted + $s.blocked + $s.runq == .sum and $s.count == .count)'
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	evidence probe.err probe.json
	if [[ $(cat probe.status) == 77 ]]; then
		like "where returns to user mode are not seen it says so" "$(cat probe.err)" "randomize_kstack_offset=on"
		like "that is an old kernel" "$(cat kernel)" "^5[.]|arm64"
		return
	fi
	check_calls alone
	check_calls crowded
	evidence reads.json named.json nobody.json
	holds "-s: only those calls" reads.json '[$all[] | .call // empty] | length >= 12 and all(.syscall == "read")'
	holds "-c: only those threads" named.json '[$all[] | .call // empty] | length >= 4 and all(.comm == "spinner")'
	holds "no such thread: none" nobody.json '$last.ledger.recorded == 0 and $last.ledger.filtered_at_exit == 0'
	evidence text.json text.err
	like "the text has a heading" "$(head -n 1 text.json)" "^ENDED +ATLEAST +ATMOST +CPU +IRQ +PREE +BLOCK +RUNQ +RET COMM/TID +CALL$"
	claim "... and a line a call" grep -qE '^[0-9:.]{12} +[0-9.]+ms +[0-9.]+ms( +([0-9]+|-)){6} sleeper/[0-9]+ +nanosleep[(].*[)] = [?]' text.json
	like "the footer says what is reported" "$(tr -s '\n ' ' ' <text.json)" "tail: calls that took at least 20.0ms"
	evidence killed.json killed.err
	holds "threads that are killed in calls end none" killed.json '[$all[] | .call // empty]
		| all(.syscall != "nanosleep" and .syscall != "recvfrom" and .syscall != "read")
			and $last.ledger.abandoned >= 11 and $last.ledger.lost == 0'
	evidence flight.json
	holds "a call that has not ended is in flight, for what is known of it" flight.json '$last.in_flight
		| length == 1 and (.[0].syscall | test("nanosleep")) and .[0].age_ns >= 400000000 and .[0].age_ns < 1000000000'
}
