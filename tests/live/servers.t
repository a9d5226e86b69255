#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# User functions and USDT of real servers and libraries of the distribution: PostgreSQL, redis, the
# JVM and libstdc++. Each is driven by its own client, and says itself what happened.

set -uo pipefail
# A server must see its files, and they may be where nobody may not look: mounts of our own.
[[ ${SERVERS_UNSHARED-} ]] || SERVERS_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

bin=$PWD/${PLUMB_BIN:-build/bin}
workloads=$PWD/build/tests
work=$(mktemp -d)
cgroup=/plumb-servers-$$ cgroups='' started=()
# shellcheck disable=SC2317 # the trap calls it
clean_up() {
	local i
	((${#started[@]} == 0)) || kill "${started[@]}" 2>/dev/null
	for ((i = 0; i < 100; i++)); do
		[[ $cgroups && -s $cgroups$cgroup/cgroup.procs ]] && xargs kill -9 <"$cgroups$cgroup/cgroup.procs" 2>/dev/null
		rmdir "$cgroups$cgroup" 2>/dev/null && break
		sleep 0.05
	done
	wait 2>/dev/null
	umount "$work/root" "$work/cgroups" 2>/dev/null
	rm -rf --one-file-system "$work"
}
trap clean_up EXIT

servers=$(tests/bench/servers.sh) || exit
chmod 755 "$work"
mkdir "$work/root" "$work/cgroups" "$work/run"
chown 65534:65534 "$work/run"
mount --bind "$servers" "$work/root" || exit
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
if [[ -z $cgroups ]]; then
	mount -t cgroup2 none "$work/cgroups" || exit
	cgroups=$work/cgroups
fi
mkdir "$cgroups$cgroup" || exit

# await FILE TEXT - until it is there
await() {
	local i
	for ((i = 0; i < 1500; i++)); do
		grep -q "$2" "$1" 2>/dev/null && return
		sleep 0.02
	done
	tap_result 1 "$1 has '$2' within 30 s" <<<""
}

# As nobody: a server refuses to be root.
as_nobody() {
	(cd "$work/run" && exec env -i PATH="$PATH" LD_LIBRARY_PATH="$work/root/lib" LC_ALL=C HOME="$work/run" \
		timeout -k 5 120 setpriv --reuid=65534 --regid=65534 --clear-groups "$@" </dev/null)
}

# serve NAME COMMAND... - in our cgroup; $server is its pid
serve() {
	(
		echo "$BASHPID" >"$cgroups$cgroup/cgroup.procs"
		cd "$work/run" || exit
		exec env -i LD_LIBRARY_PATH="$work/root/lib" LC_ALL=C HOME="$work/run" \
			setpriv --reuid=65534 --regid=65534 --clear-groups "${@:2}"
	) </dev/null >"$work/$1.log" 2>&1 &
	server=$!
	started+=("$server")
}

# trace NAME TOOL ARG... - in the background
tracing=()
trace() {
	"$bin/$2" -j --no-calibrate "${@:3}" </dev/null >"$work/$1.json" 2>"$work/$1.err" &
	tracing+=("$1=$!")
	started+=("$!")
}

all_trace() {
	local name
	for name in "${tracing[@]}"; do
		await "$work/${name%=*}.err" 'tracing …'
	done
}

end_traces() {
	local name
	for name in "${tracing[@]}"; do
		kill -TERM "${name#*=}"
	done
	for name in "${tracing[@]}"; do
		wait "${name#*=}"
		is "${name%=*}: ends well" "$?" 0
	done
	tracing=()
}

nothing_lost='$last.ledger | [.lost, .unmatched, .abandoned, .in_flight, .pooled, .saturated] | map(. // 0) | add == 0'

test_postgresql() {
	local clients=3 transactions=67 number=13 postgres options data=$work/run/data i sleeper
	local pg all times
	pg=$(echo "$work"/root/usr/lib/postgresql/*/bin)
	postgres=$pg/postgres
	options=(-h "$work/run" -U test)
	evidence "$work/initdb.log"
	claim "PostgreSQL: initdb" as_nobody "$pg/initdb" -D "$data" -A trust -U test --no-sync --locale=C --encoding=UTF8 || return
	serve postgres "$postgres" -D "$data" -k "$work/run" -c listen_addresses= -c fsync=off -c autovacuum=off -c jit=off \
		-c max_logical_replication_workers=0 -c shared_preload_libraries=pg_stat_statements \
		-c log_connections=on -c log_line_prefix='pid=%p app=%a '
	await "$work/postgres.log" 'ready to accept connections'
	as_nobody "$pg/psql" "${options[@]}" -q -c 'CREATE EXTENSION pg_stat_statements' postgres
	printf '%s;\n' BEGIN 'SELECT pg_sleep(0.001)' COMMIT >"$work/transaction"
	# It says which backend serves it, and waits until that is traced.
	cat >"$work/number" <<-END
	SELECT pg_backend_pid() \\g $work/run/backend
	\\! until [ -e $work/run/go ]; do sleep 0.05; done
	$(for ((i = 0; i < number; i++)); do echo 'SELECT pg_sleep(0.001);'; done)
	\\! until [ -e $work/run/leave ]; do sleep 0.05; done
	END
	as_nobody "$pg/psql" "${options[@]}" -q -At -f "$work/number" postgres >"$work/psql.out" 2>&1 &
	sleeper=$!
	await "$work/run/backend" '[0-9]'
	as_nobody "$pg/psql" "${options[@]}" -q -c 'SELECT pg_stat_statements_reset()' postgres >"$work/reset.out" 2>&1

	trace pg-queries usdt-latency -b pid -g "$cgroup" "$postgres:postgresql:query__start" "usdt:$postgres:postgresql:query__done"
	trace pg-transactions usdt-latency -b pid -g "$cgroup" \
		"$postgres:postgresql:transaction__start" "usdt:$postgres:postgresql:transaction__commit"
	trace pg-one usdt-latency -b pid -p "$(<"$work/run/backend")" \
		"$postgres:postgresql:query__start" "usdt:$postgres:postgresql:query__done"
	trace pg-elsewhere usdt-latency -p $$ "$postgres:postgresql:query__start" "usdt:$postgres:postgresql:query__done"
	trace pg-requests request-latency -b pid -g "$cgroup"
	trace pg-functions user-func-latency -b func -g "$cgroup" "$postgres:standard_ExecutorRun" "$postgres:standard_ExecutorFinish"
	trace pg-counts func-count -d 90 -g "$cgroup" "usdt:$postgres:postgresql:query__start" "u:$postgres:standard_ExecutorRun"
	all_trace
	: >"$work/run/go"
	as_nobody "$pg/pgbench" "${options[@]}" -n -f "$work/transaction" -c "$clients" -j 1 -t "$transactions" \
		--log --log-prefix="$work/run/bench" postgres >"$work/pgbench.out" 2>&1
	for ((i = 0; i < 600; i++)); do # as many lines as it had queries: it waits
		(($(wc -l <"$work/psql.out") >= number)) && break
		sleep 0.05
	done
	end_traces
	: >"$work/run/leave"
	wait "$sleeper"
	as_nobody "$pg/psql" "${options[@]}" -q -At -F ' ' -o "$work/run/statements" -c "SELECT json_build_object(
		'calls', sum(calls), 'ns', sum(total_exec_time) * 1000000, 'selects', sum(calls) FILTER (WHERE query LIKE '%pg_sleep%'),
		'selects_ns', sum(total_exec_time) FILTER (WHERE query LIKE '%pg_sleep%') * 1000000)
		FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements_reset%'" postgres
	kill -INT "$server"
	wait "$server"

	evidence "$work/pg-queries.json" "$work/pgbench.out" "$work/run/statements" "$work/postgres.log"
	like "pgbench: processed all its transactions" "$(<"$work/pgbench.out")" "processed: $((clients * transactions))/$((clients * transactions))"
	awk '{ n++; us += $3 + 1; if ($3 + 1 > most) most = $3 + 1 } END { printf "{\"n\": %d, \"ns\": %d, \"most\": %d}\n", n, us * 1000, most * 1000 }' \
		"$work/run"/bench.* >"$work/run/latencies"
	# The first is a connection of pgbench that asks nothing.
	sed -nE 's/^pid=([0-9]+) .*application_name=pgbench.*/\1/p' "$work/postgres.log" | jq -s . >"$work/backends"
	all=(--slurpfile server "$work/run/statements" --slurpfile client "$work/run/latencies" --slurpfile backends "$work/backends"
		--argjson pid "$(<"$work/run/backend")" --argjson c "$clients" --argjson t "$transactions" --argjson n "$number")
	holds "pg_stat_statements: has what pgbench and psql say that they asked" "$work/run/statements" \
		'$last.calls == $c * $t * 3 + $n and $last.selects == $c * $t + $n and $client[0].n == $c * $t' "${all[@]}"
	holds "PostgreSQL: queries are counted as pg_stat_statements counts them" "$work/pg-queries.json" \
		'($last.rows | map(.count) | add) == $server[0].calls' "${all[@]}"
	holds "... by process: those of pgbench, as the server's log has them, and that of psql" "$work/pg-queries.json" \
		'($last.rows | map([.key.pid, .count]) | sort) == ([$backends[0][1:][] | [., $t * 3]] + [[$pid, $n]] | sort)' "${all[@]}"
	holds "... and take at least the time that the server executes" "$work/pg-queries.json" \
		'($last.rows | map(.sum) | add) >= $server[0].ns and $server[0].selects_ns >= $server[0].selects * 1000000' "${all[@]}"
	holds "... and at most what pgbench waits for them" "$work/pg-queries.json" \
		'$last.rows | map(select(.key.pid != $pid)) | (map(.sum) | add) <= $client[0].ns and (map(.max) | max) <= $client[0].most' "${all[@]}"
	evidence "$work/pg-transactions.json" "$work/run/latencies"
	holds "PostgreSQL: transactions are those of pgbench and psql, and one more to begin a connection" "$work/pg-transactions.json" \
		'($last.rows | map([.key.pid, .count]) | sort)
			== ([[$backends[0][0], 1], [$pid, $n]] + [$backends[0][1:][] | [., $t + 1]] | sort)' "${all[@]}"
	holds "... and contain the time that the server executes" "$work/pg-transactions.json" \
		'($last.rows | map(.sum) | add) >= $server[0].selects_ns' "${all[@]}"
	evidence "$work/pg-one.json" "$work/pg-elsewhere.json"
	holds "-p: one backend's queries only" "$work/pg-one.json" \
		'($last.rows | map([.key.pid, .count])) == [[$pid, $n]] and $last.rows[0].min >= 1000000' "${all[@]}"
	holds "-p: none of another process" "$work/pg-elsewhere.json" '$last.ledger.recorded == 0'
	evidence "$work/pg-requests.json" "$work/pg-requests.err" "$work/run/latencies" "$work/postgres.log"
	# Each connection begins by one. Of one from before the trace the first is unmatched, and the last one in flight.
	holds "PostgreSQL: requests are the queries, and one to begin a connection" "$work/pg-requests.json" \
		'($last.rows | map([.key.pid, .count]) | sort) == ([[$backends[0][0], 1], [$pid, $n - 2]] + [$backends[0][1:][] | [., $t * 3 + 1]] | sort)
			and $last.ledger.lost == 0 and $last.ledger.unmatched == 1' "${all[@]}"
	holds "... that take at most what pgbench waits for them" "$work/pg-requests.json" \
		'[$last.rows[] | select(.key.pid != $pid and .count > 1) | .sum - .max] | add <= $client[0].ns' "${all[@]}"
	holds "... and sleep where pg_sleep does" "$work/pg-requests.json" \
		'[$last.rows[].split.calls[] | select(.part == "blocked" and .syscall == "epoll_wait").ns] | add >= ($c * $t + $n - 2) * 1000000 * 0.95' "${all[@]}"
	evidence "$work/pg-functions.json" "$work/run/statements"
	holds "PostgreSQL: standard_ExecutorRun runs once for each SELECT" "$work/pg-functions.json" \
		'($last.rows | map(select(.key.func | endswith("standard_ExecutorRun")).count)) == [$server[0].selects]' "${all[@]}"
	holds "... and contains the time that pg_stat_statements measures inside" "$work/pg-functions.json" \
		'($last.rows | map(.sum) | add) >= $server[0].selects_ns' "${all[@]}"
	evidence "$work/pg-counts.json"
	holds "func-count: the same numbers" "$work/pg-counts.json" \
		'($last.rows | map(.count) | sort) == ([$server[0].calls, $server[0].selects] | sort)' "${all[@]}"
	for times in queries transactions one functions; do
		evidence "$work/pg-$times.json"
		holds "pg-$times: nothing is lost" "$work/pg-$times.json" "$nothing_lost"
	done
}

# Ask redis; its answer on stdout.
ask_redis() {
	perl -MIO::Socket::UNIX -e '
		my $socket = IO::Socket::UNIX->new(Peer => shift) or die "no redis\n";
		print $socket "@ARGV\r\nQUIT\r\n";
		print while <$socket>;' "$work/run/redis.sock" "$@"
}

test_redis() {
	local redis=$work/root/usr/bin/redis-server gets=1009
	serve redis "$redis" --port 0 --unixsocket "$work/run/redis.sock" --save '' --appendonly no --dir "$work/run"
	await "$work/redis.log" 'accept connections at'
	# Its jemalloc maps libstdc++, for which return instructions would be probed: both functions end in a jump.
	trace redis user-func-latency --mechanism=uprobe -b func -p "$server" "$redis:call" "$redis:processCommand"
	trace redis-requests request-latency -b server -p "$server"
	all_trace
	as_nobody "$work/root/usr/bin/redis-benchmark" -s "$work/run/redis.sock" -t get -n "$gets" -c 8 --csv >"$work/benchmark.out" 2>&1
	end_traces
	ask_redis INFO commandstats | tr -d '\r' | sed -nE 's/^cmdstat_([^:]*):calls=([0-9]+),usec=([0-9]+),.*/{"command": "\1", "calls": \2, "usec": \3}/p' |
		jq -s . >"$work/commandstats"
	kill "$server"
	wait "$server"
	evidence "$work/redis.json" "$work/redis.err" "$work/commandstats" "$work/benchmark.out"
	holds "redis: commandstats has the client's GETs" "$work/commandstats" \
		"[\$last[] | select(.command == \"get\").calls] == [$gets]"
	holds "redis: call and processCommand run once for each command of commandstats" "$work/redis.json" \
		'($last.rows | map(.count)) == ($stats[0] | map(.calls) | add | [., .])' --slurpfile stats "$work/commandstats"
	holds "... and call contains the time that redis measures inside" "$work/redis.json" \
		'($last.rows | map(select(.key.func | endswith(":call") or . == "call").sum)[0]) >= ($stats[0] | map(.usec) | add) * 1000' \
		--slurpfile stats "$work/commandstats"
	holds "redis: nothing is lost" "$work/redis.json" "$nothing_lost"
	evidence "$work/redis-requests.json" "$work/redis-requests.err" "$work/commandstats" "$work/benchmark.out"
	# The two commands that ask for the configuration come in one piece.
	holds "redis: requests are the commands of commandstats, of its unix socket" "$work/redis-requests.json" \
		'($last.rows | map([.key.server, .count])) == [[$socket, ($stats[0] | map(.calls) | add) - 1]]' \
		--slurpfile stats "$work/commandstats" --arg socket "$work/run/redis.sock"
	holds "... they take at least the time that redis measures inside" "$work/redis-requests.json" \
		'$last.rows[0].sum >= ($stats[0] | map(.usec) | add) * 1000' --slurpfile stats "$work/commandstats"
	# The mean is rounded to us, and that one is not in it.
	holds "... and at most what its clients wait" "$work/redis-requests.json" \
		'$last.rows[0].sum - $last.rows[0].max <= $gets * ($mean + 0.0005) * 1000000' --argjson gets "$gets" \
		--argjson mean "$(sed -nE 's/^"GET","[0-9.]*","([0-9.]*)",.*/\1/p' "$work/benchmark.out")"
	holds "redis: none of its requests is lost" "$work/redis-requests.json" "$nothing_lost"
}

# traced NAME TOOL ARG... -- OPTION... CLASS - a tool, and the Java program that it traces
traced() {
	"$bin/$2" -j --no-calibrate "${@:3}" </dev/null >"$work/$1.json" 2>"$work/$1.err"
	is "$1: ends well" "$?" 0
}

test_jvm() {
	local jvm calls=200003 stats
	jvm=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")/lib/server/libjvm.so
	local hotspot=usdt:$jvm:hotspot java=(java -cp "$work" -XX:+UseSerialGC -Xmx16m)
	tests/workloads/library/calls-class.py 1009 65536 >"$work/Calls.class"
	traced gc usdt-latency -b comm "$jvm:hotspot:gc__begin" "$hotspot:gc__end" -- \
		"${java[@]}" "-Xlog:gc,safepoint:file=$work/gc.log" Calls
	# "GC(1) Pause Young (Allocation Failure) 4M->0M(15M) 0.812ms", to a microsecond, and around it
	# "Safepoint "GenCollectForAllocation", …, At safepoint: 847341 ns, …".
	sed -nE 's/.* Pause .* ([0-9]+)[.]([0-9]{3})ms$/{"pause": \1\2}/p; s/.*CollectForAllocation.* At safepoint: ([0-9]+) ns.*/{"safepoint": \1}/p' \
		"$work/gc.log" | jq -s '{pauses: map(.pause // empty), safepoints: map(.safepoint // empty)}' >"$work/pauses"
	stats=(--slurpfile log "$work/pauses")
	evidence "$work/gc.json" "$work/gc.err" "$work/pauses" "$work/gc.log"
	holds "JVM: garbage collections are those of its log" "$work/gc.json" \
		'($last.rows | map([.key.comm, .count])) == [["VM Thread", ($log[0].pauses | length)]] and $last.rows[0].count > 10' "${stats[@]}"
	holds "... and take at least the pauses in it" "$work/gc.json" \
		'$last.rows[0].sum >= ($log[0].pauses | map(. * 1000 - 500) | add)' "${stats[@]}"
	holds "... and at most the time that threads are stopped" "$work/gc.json" '($log[0].safepoints | length) == $last.rows[0].count
		and $last.rows[0].sum <= ($log[0].safepoints | add) and $last.rows[0].max <= ($log[0].safepoints | max)' "${stats[@]}"
	holds "... of which nothing is lost" "$work/gc.json" "$nothing_lost"
	holds "... and the report has the whole names of its probes" "$work/gc.json" \
		'$last.mechanism.hooks == ["\($hotspot):gc__begin", "\($hotspot):gc__end"]' --arg hotspot "$hotspot"

	traced classes func-count "$hotspot:class__loaded" -- "${java[@]}" "-Xlog:class+load:file=$work/load.log" Calls
	evidence "$work/classes.json" "$work/classes.err"
	holds "JVM: classes are loaded as often as its log says" "$work/classes.json" \
		'($last.rows | map(.count)) == [$n] and $n > 100' --argjson n "$(wc -l <"$work/load.log")"

	# Methods of the JVM's own are called as well, about as many as without the calls that are known.
	tests/workloads/library/calls-class.py 1 16 >"$work/Calls.class"
	traced few func-count "$hotspot:method__entry" -- "${java[@]}" -Xint -XX:+DTraceMethodProbes Calls
	tests/workloads/library/calls-class.py "$calls" 16 >"$work/Calls.class"
	traced many func-count "$hotspot:method__entry" -- "${java[@]}" -Xint -XX:+DTraceMethodProbes Calls
	traced disabled func-count "$hotspot:method__entry" -- "${java[@]}" -Xint Calls
	evidence "$work/few.json" "$work/many.json" "$work/disabled.json"
	holds "JVM: each call of a Java method is an entry" "$work/many.json" \
		'$last.rows[0].count - $n | . > 0 and . < 2 * $few[0].rows[0].count' --argjson n "$calls" --slurpfile few "$work/few.json"
	holds "... and none where the JVM has not enabled its probes" "$work/disabled.json" '$last.ledger.recorded == 0'
}

test_libstdcxx() {
	local throws=$workloads/throws library caught
	library=$(ldd "$throws" | awk '$1 == "libstdc++.so.6" { print $3 }')
	"$bin/usdt-latency" -j --no-calibrate "$library:libstdcxx:throw" "usdt:$library:libstdcxx:catch" -- "$throws" 1009 \
		</dev/null >"$work/throws.json" 2>"$work/throws.err"
	"$bin/func-count" -j --no-calibrate "usdt:libstdc++.so.6:libstdcxx:*" -- "$throws" 1009 \
		</dev/null >"$work/catches.json" 2>"$work/catches.err"
	evidence "$work/throws.json" "$work/throws.err" "$work/catches.json" "$work/catches.err"
	caught=$(sed -n 's/^caught //p' "$work/throws.err")
	is "libstdc++: the program catches as ever" "$caught" 504
	holds "libstdc++: the time from each throw to its catch" "$work/throws.json" \
		'($last.rows | map(.count)) == [$caught]' --argjson caught "${caught:-0}"
	holds "... of which nothing is lost" "$work/throws.json" "$nothing_lost"
	holds "libstdc++: throws and catches are counted" "$work/catches.json" \
		'([$last.rows[] | {(.key.func | sub(".*:"; "")): .count}] | add) == {throw: $caught, catch: $caught}' \
		--argjson caught "${caught:-0}"
}

test_postgresql
test_redis
test_jvm
test_libstdcxx
done_testing
