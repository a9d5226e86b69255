#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# request-latency and real servers of HTTP: nginx, one in Go, one in Python by asyncio, and one of Python whose threads
# hand requests on.  A client logs each request by its own clock; what the server does on purpose has its own part.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

bin=$PWD/${PLUMB_BIN:-build/bin}
asks=$PWD/build/tests/asks library=$PWD/tests/workloads/library
work=$(mktemp -d -p "$PWD/build") # on a disk
started=()
# shellcheck disable=SC2317 # the trap calls it
clean_up() {
	((${#started[@]} == 0)) || kill "${started[@]}" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$work"
}
trap clean_up EXIT

# await FILE TEXT - until it is there
await() {
	local i
	for ((i = 0; i < 500; i++)); do
		grep -q "$2" "$1" 2>/dev/null && return
		sleep 0.02
	done
	tap_result 1 "$1 has '$2' within 10 s" <<<""
}

# serve NAME COMMAND... - it prints its port, unless $port is set
serve() {
	(cd "$work" && exec "${@:2}") </dev/null >"$work/$1.port" 2>"$work/$1.err" &
	server=$!
	started+=("$server")
	[[ ${port-} ]] || await "$work/$1.port" '^[0-9]'
	port=${port:-$(head -n 1 "$work/$1.port")}
}

# ask NAME PATH COUNT CLIENTS - while it is traced
ask() {
	"$bin/request-latency" -j --no-calibrate -p "$server" -b server </dev/null >"$work/$1.json" 2>"$work/$1.terr" &
	local tool=$!
	started+=("$tool")
	await "$work/$1.terr" 'tracing …'
	WORKLOAD_JSON=$work/$1.truth "$asks" "$port" "${@:2}"
	is "$1: the client has its replies" "$?" 0
	sleep 0.3 # the server closes its end
	kill -TERM "$tool"
	wait "$tool"
	is "$1: ends well" "$?" 0
	judge "$1"
}

# As many requests as the client made, that took as long. A softirq can hold up what arrives.
judge() {
	local truth=(--slurpfile truth "$work/$1.truth" --argjson port "$port")
	evidence "$work/$1.json" "$work/$1.terr" "$work/$1.truth"
	holds "$1: each request of the client is recorded, none is lost" "$work/$1.json" \
		'[$last.rows[] | [.key.server, .count]] == [["\($port)", $truth[0].calls[0].count]]
			and ($last.ledger | .lost + .unmatched + .abandoned + .in_flight + .missed == 0)' "${truth[@]}"
	holds "... they took as long as by its clock, within 2 %" "$work/$1.json" \
		'$truth[0].calls[0] as $t | $last.rows[0] | .sum >= $t.least.sum * 0.98 - $t.count * 5000 and .sum <= $t.most.sum * 1.02' "${truth[@]}"
	holds "... and so did their p50 and p99" "$work/$1.json" \
		'$truth[0].calls[0] as $t | $last.rows[0].percentiles as $p | all("50", "99"; . as $q
			| $p[$q] >= $t.least.percentiles[$q] * 0.98 - 20000 and $p[$q] <= $t.most.percentiles[$q] * (1.02 + 1 / 64))' "${truth[@]}"
	holds "... and their parts add up" "$work/$1.json" \
		'$last.rows[0] | .sum == (.split | .queued_busy + .queued_runq + .queued_asleep + .on_cpu + .irq + .preempted + .quota
			+ .lock + .disk + .blocked + .downstream + .runq + .handed)'
}

end() {
	kill -TERM "$server"
	wait "$server"
	port=
}

# part NAME CLAIM PARTS WHAT - at least 95 % of WHAT the server did, by its report, is in PARTS
part() {
	holds "$2" "$work/$1.json" "(\$last.rows[0].split | $3) >= (\$report[0] | $4) * 0.95" --slurpfile report "$work/report"
}

test_asyncio() {
	local path hogs=() i
	for path in sleep sync spin; do
		serve "asyncio-$path" python3 -I "$library/served.py" asyncio report
		if [[ $path == spin ]]; then # beside busy threads
			for i in 1 2 3; do
				sh -c 'while :; do :; done' &
				hogs+=("$!")
			done
			started+=("${hogs[@]}")
		fi
		ask "asyncio-$path" "/$path" 50 1
		((${#hogs[@]} == 0)) || kill "${hogs[@]}"
		end
		case $path in
		sleep) part asyncio-sleep "... what it slept is in its own part" '[.calls[] | select(.part == "blocked" and .syscall == "epoll_wait").ns] | add' .sleep ;;
		sync) part asyncio-sync "... what it waited for the disk, or then for a CPU, is in its own part" '.disk + .runq + .preempted + .irq' .sync ;;
		spin)
			part asyncio-spin "... its CPU time is in its own part" .on_cpu .spin
			part asyncio-spin "... and what it waited for a CPU" .preempted .runq
			;;
		esac
	done
}

test_pool() {
	serve pool python3 -I "$library/served.py" pool
	ask pool /sleep 50 4
	end
	holds "... in its own part: another thread has replied" "$work/pool.json" '$last.rows[0].split.handed >= 200 * 2000000 * 0.95'
}

test_nginx() {
	local root
	root=$(tests/bench/servers.sh) || return
	head -c 2000 /dev/zero >"$work/page"
	cat >"$work/nginx.conf" <<-END
	daemon off; master_process off; pid $work/nginx.pid; error_log $work/nginx.log;
	events {}
	http {
		access_log off; default_type text/plain; keepalive_requests 100000;
		client_body_temp_path $work/t1; proxy_temp_path $work/t2; fastcgi_temp_path $work/t3; uwsgi_temp_path $work/t4; scgi_temp_path $work/t5;
		server { listen 127.0.0.1:$1; root $work; }
	}
	END
	port=$1
	serve nginx env "LD_LIBRARY_PATH=$root/lib" "$root/usr/bin/nginx" -p "$work" -c "$work/nginx.conf"
	await "$work/nginx.pid" '[0-9]'
	ask nginx /page 2000 4
	end
}

test_go() {
	local out=$PWD/build/go
	if ! command -v go >/dev/null; then
		skip "a server in Go" "there is no Go"
		return
	fi
	GO111MODULE=off GOFLAGS='' GOENV=off GOTOOLCHAIN=local CGO_ENABLED=0 GOCACHE=$out GOPATH=$out HOME=/nonexistent \
		go build -trimpath -o "$work/served" "$library/served.go" || return
	serve go "$work/served"
	ask go-sleep /sleep 50 4
	ask go / 500 4
	end
}

test_asyncio
test_pool
test_nginx "$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')"
test_go
done_testing
