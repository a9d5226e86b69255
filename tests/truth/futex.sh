# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# futex-latency: waits for locks as often and as long as the threads' own clocks say, by word, and who ended them.

# one WHAT THREADS TIMES MS - under a tool by word, and one by thread and waker
one() {
	start "$1" futexes "$@"
	[ -e "$1.gates/ready" ] || {
		finish "$1" "$pid"
		return
	}
	attach "word-$1" -p "$pid"
	attach "thread-$1" -p "$pid" -b tid,kind,result,waker
	[ "$1" != held ] || attach stack-held -p "$pid" -b stack,waker-stack
	[ "$1" != held ] || attach named-held -c locker -b word,kind
	attached
	open_gate "$1" go
	await 60 [ -e "$1.gates/done" ]
	detach "word-$1" "thread-$1"
	[ "$1" != held ] || detach stack-held named-held
	open_gate "$1" end
	finish "$1" "$pid"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=futex-latency quick=--no-calibrate

	one word 8 211 2
	one mutex 4 23 3
	one heap 3 11 3
	one pi 3 11 3
	one writer 3 11 3
	one held 1 101 3
	one condition 2 23 3
	one timeout 2 7 20
	one signal 2 7 20
	one several 2 3 20

	# More words, one after the other, than the tool has room for.
	start many futexes many 4 5000 1
	attach each-many -p "$pid" -b tid,kind
	attach word-many -p "$pid" --precision=2
	attached
	open_gate many go
	await 120 [ -e many.gates/done ]
	detach each-many word-many
	open_gate many end
	finish many "$pid"

	# A thread that another one wakes which had waited, too, for the same holder.
	start convoy futexes held 3 41 5
	attach word-convoy -p "$pid"
	attached
	open_gate convoy go
	await 60 [ -e convoy.gates/done ]
	detach word-convoy
	open_gate convoy end
	finish convoy "$pid"

	# One that is woken for the lock, and has no CPU before it takes it.
	start starved starved 7 5
	attach waker-starved -p "$pid" -b kind,waker
	go starved
	detach waker-starved

	# Threads that wait since before the trace, those whose wait has not ended, and those that are killed.
	start stuck futexes timeout 3 40 2000
	open_gate stuck go
	sleep 0.4
	attach before -p "$pid"
	attached
	sleep 0.2
	detach before
	attach after -p "$pid"
	attached
	sleep 1.95
	detach after
	kill -9 "$pid"
	finish stuck "$pid" 2>/dev/null

	start doomed futexes timeout 2 1 10000
	attach killed -p "$pid"
	attached
	open_gate doomed go
	sleep 0.3
	kill -9 "$pid"
	finish doomed "$pid" 2>/dev/null
	finish killed "$(cat killed.pid)"

	start nobody futexes timeout 1 1 50
	attach nobody-named -p "$pid" -c nobody
	attach command-other -p $$
	attached
	open_gate nobody go
	await 20 [ -e nobody.gates/done ]
	detach nobody-named command-other
	open_gate nobody end
	finish nobody "$pid"

	traced command -b word,kind,pid -- futexes mutex 3 11 2
	traced words -b word,kind -- sh -c 'for i in 1 2 3 4 5; do futexes mutex 3 11 2 >/dev/null & done; wait'
	# Its symbols are in a debug file.
	if command -v objcopy >objcopy; then
		objcopy --only-keep-debug "$(command -v futexes)" bare.debug
		objcopy --strip-all --add-gnu-debuglink=bare.debug "$(command -v futexes)" bare
		traced stripped -b word,kind,pid -- ./bare mutex 3 11 2
	fi
	everything || return 0
	quick=
	launch cost -j -d 1 -p $$
	finish cost "$tool"
}

# --- claims ---

# Rows of a word; what the threads know of their waits together.
figures='def rows($re): [$last.rows[] | select(.key.word // "" | test($re))];
	def truth: [$truth[0].calls[] | select(.comm == "locker")];
	def sum_of(f): truth | map(f) | add;
	def counted($re; f): rows($re) | map(f) | add;'

says() {
	holds "$1" "$2.json" "$figures $3" --slurpfile truth "${4:-${2#*-}}.truth"
}

# clean NAME - nothing is lost, and all is accounted for
clean() {
	says "$1: nothing is lost" "$1" '$last.final and $last.unfollowed == 0 and ($last.ledger | .lost == 0 and .unmatched == 0
		and .in_flight == 0 and .recorded == ($last.rows | map(.count) | add))'
}

# lasts NAME REGEX - the waits of locks of the C library; those that an acquisition of more than 100 us has are of a call
lasts() {
	says "$1: waits are as long as the threads' own clocks say" "word-$1" '
		counted("'"$2"'"; .sum) as $sum | sum_of(.sum) as $true | sum_of(.holds) as $n
		| if $sum <= $true + $n * 100000 and $sum >= $true * 0.97 then true else error("\($sum) of \($true)") end'
}

named() {
	says "$1: $4" "word-$1" '[$last.rows[] | select(.count > 5) | [.key.kind, (.key.word | test("'"$3"'"))]] | unique == [["'"$2"'", true]]'
}

check_word() {
	evidence word-word.json thread-word.json word.truth
	says "8 busy threads: each wait is counted, those apart that found another value" word-word '
		rows("^futexes:lock_word$") | length == 1 and (.[0] | .key.kind == "lock" and .count == sum_of(.count))
			and $last.ledger.filtered_at_exit == sum_of(.changed)'
	says "... of each thread" thread-word '
		all(truth[]; . as $t | [$last.rows[] | select(.key.tid == $t.tid and .key.result == "woken")]
			| (map(.count) | add // 0) == $t.count and (map(.max) | max // 0) <= $t.max)'
	says "... and as its clock says" word-word 'rows("lock_word")[0] | .sum <= sum_of(.sum) and .sum >= sum_of(.sum) * 0.97
		and .max <= (truth | map(.max) | max)'
	says "... those that did not wait, as a result" thread-word \
		'([$last.rows[] | select(.key.result == "changed").count] | add // 0) == sum_of(.changed)'
	says "... how long the word had waiters, and how many" word-word 'rows("lock_word")[0] as $row | truth[0] as $t
		| if $row.contended <= $t.contended * 1.01 + sum_of(.changed) * 20000 and $row.contended >= $t.contended * 0.97
			and ($row.most - $t.most | . >= -1 and . <= 1) and ($row.waiting - $row.sum / $row.contended | fabs) < 0.01
			then true else error("\($row | {contended, most}) \($t | {contended, most})") end'
	says "... the time per wakeup is no time of holding, as threads that did not wait hold the lock, too" word-word 'rows("lock_word")[0]
		| (.per_wakeup * .count / .contended - 1 | fabs) < 0.001 and .per_wakeup >= sum_of(.held) / sum_of(.holds) and (has("hold") | not)'
	clean word-word
	clean thread-word
}

# A word of its own has one waiter, for at least the timeout of 20 us, and for as long as the wait; that of the other thread is long.
check_many() {
	local calls='[$truth[0].calls[].count] | add'
	evidence each-many.json word-many.json many.truth
	says "20,000 words one after the other, and one for which a thread waits meanwhile: each is followed" each-many '
		('"$calls"') as $n | $n > 20000 and $last.ledger.recorded == $n
		and all($truth[0].calls[]; . as $t | [$last.rows[] | select(.key.tid == $t.tid)]
			| if length == 1 and .[0].count == $t.count and .[0].most == 1 and .[0].contended <= $t.sum + 1000000
				and .[0].contended >= .[0].sum * 0.99 and .[0].contended >= $t.count * 20000
				and ($t.comm == "locker" or .[0].contended >= $t.sum * 0.97) then true
				else error("\(map({contended, most})) \($t)") end)'
	clean each-many
	clean word-many
	says "... also in rows by word" word-many '('"$calls"') as $n | $last.ledger.recorded == $n and $last.ledger.pooled > 15000'
}

# The wait for the next one to have a CPU is not the holder's.
check_locks() {
	local name
	for name in mutex heap pi writer; do
		evidence "word-$name.json" "$name.truth"
		clean "word-$name"
		lasts "$name" .
	done
	for name in mutex heap pi; do
		evidence "word-$name.json" "$name.truth"
		says "$name: where each holder wakes the next one, the time per wakeup is what the holders say" "word-$name" '(sum_of(.held) / sum_of(.holds)) as $held | $last.rows[0]
			| if .per_wakeup >= $held * 0.9 and .per_wakeup <= $held * 1.1 + 200000 + .after_wakeup / .count
				then true else error("\(.per_wakeup), \($held)") end'
	done
	named mutex lock '^futexes:lock_mutex$' "a static mutex has its name"
	named heap lock '^\\[heap\\]0x[0-9a-f]+$' "an allocated one is in the heap"
	named pi pi-lock '^futexes:lock_pi$' "one with priority inheritance"
	named writer rwlock '^futexes:lock_rw[+]0x' "a read-write lock"
}

check_wakers() {
	evidence thread-held.json word-held.json held.truth
	says "a wait is ended by the thread that held the lock" thread-held '
		($truth[0].calls[] | select(.comm == "holder").tid) as $holder
		| ([$last.rows[] | select(.key.kind == "lock" and .key.result == "woken" and .max > 100000)] | map(.count) | add) as $all
		| ([$last.rows[] | select(.max > 100000 and .key.waker == "holder/\($holder)")] | map(.count) | add) as $by
		| $all >= 20 and $by >= $all * 0.99'
	says "... which is named, of the longest" word-held \
		'rows("lock_mutex")[0].woken_by == "holder/\($truth[0].calls[] | select(.comm == "holder").tid)"'
	evidence named-held.json
	holds "... nobody, if threads are left out" named-held.json '[$last.rows[] | select(.key.kind == "lock")]
		| length > 0 and all(.per_wakeup == null and .max_to_wakeup == null and .woken_by == null)'
	evidence word-convoy.json convoy.truth
	says "of a convoy the thread at its head is named, and at most how long it held the lock" word-convoy \
		'rows("lock_mutex")[0] | .woken_by == "holder/\($truth[0].calls[] | select(.comm == "holder").tid)"
			and .max_to_wakeup >= 4500000 and .max_to_wakeup <= .max and .most >= 2'
	if [[ $(<starved.status) == 77 ]]; then
		skip "a thread without a CPU does not hold a lock" "there are no realtime priorities here"
	else
		evidence waker-starved.json starved.truth
		says "a thread that was woken for a lock and has no CPU does not hold it yet" waker-starved \
			'($truth[0].calls[] | select(.comm == "first")) as $t
				| [$last.rows[] | select(.key.kind == "lock" and .key.waker == "first/\($t.tid)")]
				| if length == 1 and .[0].count == $t.count and .[0].max_to_wakeup >= $t.held / $t.count and .[0].max_to_wakeup <= $t.since then true
					else error("\(map({count, max_to_wakeup})) \($t)") end'
	fi
	evidence stack-held.json held.truth
	says "... with both stacks" stack-held '$last.rows[0] | (.key.stack | test(";be_locker;by_library;.*pthread_mutex_lock"))
		and (.key["waker-stack"] | test(";be_other;"))'
	evidence thread-condition.json word-condition.json condition.truth
	says "a condition is one, and is signalled by its thread" thread-condition '
		[$last.rows[] | select(.key.kind == "condition")] | (map(.count) | add) as $all
		| (map(select(.key.waker | startswith("waker/")).count) | add) >= $all * 0.99 and $all >= sum_of(.count) * 0.9'
	says "it has its name" word-condition '[$last.rows[].key | select(.kind == "condition").word | test("^futexes:lock_condition[+]0x")]
		| length > 0 and all'
}

check_ends() {
	local name result
	for name in timeout signal several; do
		if [[ $(<"$name.status") == 77 ]]; then
			skip "$name: how a wait ends" "this kernel has no such call"
			continue
		fi
		result=$name
		[[ $name != several ]] || result=timeout
		evidence "thread-$name.json" "$name.truth"
		says "$name: how a wait ends, and how long it took" "thread-$name" '
			all(truth[]; . as $t | [$last.rows[] | select(.key.tid == $t.tid and .key.result == "'$result'")]
				| (map(.count) | add) == $t.count and (map(.errors) | add) == $t.count
				and (map(.sum) | add | . <= $t.sum and . >= $t.sum * 0.97))'
		clean "word-$name"
	done
	says "a timeout is by an interrupt, on top of whatever thread" thread-timeout \
		'[$last.rows[] | select(.key.result == "timeout").key.waker] | unique == ["[interrupt]"]' timeout
	[[ $(<several.status) == 77 ]] ||
		says "several: of several words the first is named" word-several '[$last.rows[].key | [.kind, .word]] == [["several", "futexes:lock_word"]]'
}

check_flights() {
	evidence before.json before.err after.json killed.json
	holds "waits from before the trace are listed" before.json '$last.in_flight_complete and ([$last.in_flight[] | [.comm, .word, .since_before]]
		| unique == [["locker", "futexes:lock_word", true]]) and ($last.in_flight | length) == 3'
	holds "they are unmatched when they end, and others are in flight" after.json '$last.ledger.unmatched == 3 and $last.ledger.in_flight == 3
		and $last.ledger.recorded == 0 and ($last.in_flight | length == 3 and all(.word == "futexes:lock_word" and .age_ns < 2e9))'
	holds "a thread that is killed is in no wait" killed.json \
		'$last.ledger | .recorded + .abandoned == 2 and .in_flight == 0 and .lost == 0'
	holds "nobody of that name: no row" nobody-named.json '$last.rows == [] and $last.ledger.recorded == 0'
	holds "other processes are not traced" command-other.json '[$last.rows[].key.process] | all(. != "futexes")'
	evidence command.json command.err
	says "words of a command that has ended have names" command \
		'[$last.rows[] | select(.count > 5).key.word] == ["futexes:lock_mutex"] and $last.ledger.unmatched == 0' command
	evidence words.json words.err
	holds "words of five processes at once that have one name are one row" words.json '[$last.rows[] | select(.key.word == "futexes:lock_mutex")]
		| length == 1 and (.[0] | .count > 5 * 11 and .most <= 3 and .max_to_wakeup > 0 and (.woken_by | test("^locker/")))
			and ($last.rows | map(.key) | unique | length) == ($last.rows | length)'
	[ ! -e stripped.json ] || holds "... also if its symbols are in a debug file" stripped.json \
		'[$last.rows[] | select(.count > 5).key.word] == ["bare:lock_mutex"]'
	everything || return 0
	evidence cost.json
	holds "what a wait costs is measured, unless something disturbs that" cost.json '$last.overhead_ns
		| .traced == null or (.traced > 0 and .traced < 100000)'
}

check() {
	check_word
	check_many
	check_locks
	check_wakers
	check_ends
	check_flights
}
