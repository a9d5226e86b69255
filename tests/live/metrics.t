#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# --openmetrics through the real parts: three hosts' files, three node_exporters, Prometheus and
# VictoriaMetrics; and --otlp. All listen on loopback, with files of their own.
#
# Seen to fail: buckets that are not cumulative, an index of OTLP that is off by one, a file that
# another program writes in place, one that stays at the end.

[[ ${METRICS_UNSHARED-} ]] || METRICS_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
PATH=$PATH:/usr/sbin
((EUID == 0)) || { echo "1..0 # SKIP tracing takes root"; exit 0; }
for program in promtool prometheus prometheus-node-exporter victoria-metrics; do
	command -v "$program" >/dev/null || { echo "1..0 # SKIP there is no $program"; exit 0; }
done

bin=$PWD/${PLUMB_BIN:-build/bin}
helper=$PWD/tests/live/metrics.py
export PLUMB_CACHE=
work=$(mktemp -d)
started=()
# shellcheck disable=SC2317 # the trap calls it
clean_up() {
	((${#started[@]} == 0)) || kill -9 "${started[@]}" 2>/dev/null
	wait 2>/dev/null
	umount -l "$work/small" 2>/dev/null
	rm -rf --one-file-system "$work"
}
trap clean_up EXIT

# WHAT SECONDS COMMAND...: until it succeeds
await() {
	local end=$((SECONDS + $2))
	until "${@:3}" >"$work/awaited" 2>&1; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}

ask() {
	/usr/bin/python3 "$helper" "$@"
}

# shellcheck disable=SC2317 # await calls it
is_value() {
	[[ $(ask value "$1" "$2") == "$3" ]]
}

free_ports() {
	/usr/bin/python3 -c '
import socket, sys
all = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in all:
    s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in all])' "$1"
}

# N SHORT LONG: a workload and a tool on "host" N; its pipe is descriptor ${to[N]}
to=() loads=() tools=()
host() {
	local n=$1 fifo=$work/fifo$1 fd
	mkdir -p "$work/host$n"
	mkfifo "$fifo"
	/usr/bin/python3 "$helper" load 997 "$2" "$3" <"$fifo" >"$work/load$n" &
	loads[n]=$!
	exec {fd}>"$fifo"
	to[n]=$fd
	trace_host "$n"
}

trace_host() {
	local n=$1
	"$bin/syscall-latency" -j -b comm,syscall -s clock_nanosleep,getppid -p "${loads[n]}" --openmetrics="$work/host$n/calls.prom" \
		--otlp="$work/otlp$n" 0.5 >"$work/json$n" 2>"$work/err$n" &
	tools[n]=$!
	started+=("${loads[n]}" "$!")
}

# shellcheck disable=SC2317 # await calls it
is_done() {
	[[ $(<"$work/load$1") == "done" ]] && grep -q "plumb_recorded_calls_total{.*} $2\$" "$work/host$1/calls.prom"
}

evidence "$work"/{err1,prometheus.err,victoria.err,awaited}
read -r -a ports < <(free_ports 5)
prometheus=http://127.0.0.1:${ports[3]} victoria=http://127.0.0.1:${ports[4]}
for n in 1 2 3; do
	mkdir -p "$work/host$n"
	prometheus-node-exporter --web.listen-address="127.0.0.1:${ports[n - 1]}" --collector.disable-defaults \
		--collector.textfile --collector.textfile.directory="$work/host$n" --log.level=error >"$work/node$n" 2>&1 &
	started+=("$!")
done
cp metrics/plumb-rules.yml "$work/rules.yml"
cat >"$work/config.yml" <<END
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: node
    static_configs: [{targets: ["127.0.0.1:${ports[0]}", "127.0.0.1:${ports[1]}", "127.0.0.1:${ports[2]}"]}]
END
(sed 's/scrape_interval: 1s/&, evaluation_interval: 1s/' "$work/config.yml" && echo "rule_files: ['$work/rules.yml']") >"$work/prometheus.yml"
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address="${prometheus#*//}" \
	--log.level=error >"$work/prometheus.err" 2>&1 &
started+=("$!")
victoria-metrics -storageDataPath="$work/victoria" -httpListenAddr="${victoria#*//}" -promscrape.config="$work/config.yml" \
	-search.latencyOffset=0s -memory.allowedBytes=128MB -loggerLevel=ERROR >"$work/victoria.err" 2>&1 &
started+=("$!")

claim "promtool takes the rules" promtool check rules metrics/plumb-rules.yml
host 1 50 500
host 2 100 1500
host 3 20 200
for n in 1 2 3; do
	claim "host $n traces" await "" 20 grep -q tracing "$work/err$n"
	echo go >&"${to[n]}"
done
claim "its file is there" await "" 20 test -e "$work/host2/calls.prom"
claim "a file is whole whenever it is read" ask whole "$work/host2/calls.prom" 100
for n in 1 2 3; do
	claim "host $n: 997 calls are in its file" await "" 20 is_done "$n" 997
done
claim "promtool has nothing to say about a file" promtool check metrics <"$work/host1/calls.prom"
is "it is all that is there" "$(ls -A "$work/host1")" calls.prom

total='sum(plumb_syscall_latency_seconds_count{syscall="clock_nanosleep"})'
claim "Prometheus scrapes all of them" await "" 20 is_value "$prometheus" "$total" 2991
claim "so does VictoriaMetrics" await "" 20 is_value "$victoria" "$total" 2991
"$bin/hist-merge" --by=syscall --openmetrics="$work/merged.prom" "$work"/json{1,2,3}
is "hist-merge writes what the three hosts have" $? 0
claim "promtool has nothing to say about that" promtool check metrics <"$work/merged.prom"
for server in prometheus victoria; do
	claim "$server: the sum by bound is what hist-merge has of their JSON" ask merged "${!server}" clock_nanosleep "$work/merged.prom"
	claim "$server: the sum over three hosts is that of their JSON" ask same "${!server}" clock_nanosleep "$work"/json{1,2,3}
	claim "$server: quantiles of one host" ask quantiles "${!server}" "127.0.0.1:${ports[1]}" clock_nanosleep "$work/json2"
	claim "$server: quantiles of all" ask quantiles "${!server}" '.*' clock_nanosleep "$work"/json{1,2,3}
done
claim "OTLP: counts and percentiles within its bound" ask otlp "$work/otlp2" clock_nanosleep "$work/json2"
for n in 1 2 3; do
	claim "OTLP: no bucket of host $n decreases" ask rising "$work/otlp$n"
done

# What the recording rule has is a rate of 5 minutes: it takes two scrapes.
claim "the recording rule has results" await "" 20 is_value "$prometheus" \
	'count(instance_run_syscall_le:plumb_syscall_latency_seconds_bucket:rate5m) > bool 300' 1
claim "each query of the dashboard returns something" ask panels "$prometheus" metrics/plumb-dashboard.json plumb_syscall_latency_seconds

# A function that calls itself 70 levels deep, of which 64 are timed.
alert='count(ALERTS{alertname="PlumbLostCalls",alertstate="firing"})'
is "no alert without lost calls" "$(ask value "$prometheus" "$alert")" ""
functions=$PWD/build/tests/userfuncs
mkdir "$work/gates"
WORKLOAD_GATES=$work/gates "$functions" 1 </dev/null >"$work/functions" 2>&1 &
deep=$!
started+=("$deep")
claim "a program is there" await "" 20 test -e "$work/gates/ready"
"$bin/user-func-latency" --no-calibrate -p "$deep" --openmetrics="$work/host3/deep.prom" "$functions:user_recurses" 0.5 >"$work/out" 2>"$work/deep.err" &
losing=$!
started+=("$losing")
claim "its function is traced" await "" 20 grep -q tracing "$work/deep.err"
: >"$work/gates/go"
claim "Prometheus has the calls that were lost" await "" 20 is_value "$prometheus" 'plumb_lost_calls_total{run="deep"}' 6
claim "an alert fires" await "" 20 is_value "$prometheus" "$alert" 1
: >"$work/gates/leave"
wait "$deep"
wait "$losing"
is "and the trace ends" $? 0

# --- a tool that is killed, and another that takes its place ---
started_at=$(ask value "$prometheus" "max(plumb_start_time_seconds{instance=\"127.0.0.1:${ports[0]}\"})")
disown "${tools[1]}"
kill -9 "${tools[1]}"
claim "the file of a killed tool stays" test -e "$work/host1/calls.prom"
trace_host 1
claim "its place is taken" await "" 20 grep -q 'plumb_recorded_calls_total{.*} 0$' "$work/host1/calls.prom"
recorded="plumb_recorded_calls_total{instance=\"127.0.0.1:${ports[0]}\"}"
is "OTLP: two runs are two instances" "$(jq -r '.resourceMetrics[].resource.attributes[]
	| select(.key == "service.instance.id").value.stringValue' "$work/otlp1" | sort -u | grep -cE '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')" 2
claim "Prometheus sees a reset" await "" 20 is_value "$prometheus" "resets(${recorded}[1m])" 1
claim "and a later start" await "" 20 is_value "$prometheus" \
	"plumb_start_time_seconds{instance=\"127.0.0.1:${ports[0]}\"} > bool $started_at" 1

# --- a clean end ---
for n in 1 2 3; do
	kill "${loads[n]}"
	wait "${tools[n]}"
	is "host $n: a clean end" $? 0
done
is "no file is left" "$(ls -A "$work/host1" "$work/host2")" "$work/host1:"$'\n\n'"$work/host2:"
claim "their series end" await "" 20 is_value "$prometheus" \
	'count(plumb_build_info{run="calls"}) or vector(0)' 0

# --- a link of the tool's own user ---
ln -s data.prom "$work/host1/link.prom"
for run in 1 2; do
	"$bin/syscall-count" --no-calibrate --openmetrics="$work/host1/link.prom" -p $$ 0.1 >"$work/out" 2>"$work/err" &
	tool=$!
	started+=("$tool")
	claim "run $run: a file is written where a link leads to" await "" 20 test -s "$work/host1/data.prom" -a -L "$work/host1/link.prom"
	kill "$tool"
	wait "$tool"
	is "run $run: the link is left" "$? $(ls -A "$work/host1")" "0 link.prom"
done

# --- a full disk ---
evidence "$work/err"
mkdir "$work/small"
mount -t tmpfs -o size=256k none "$work/small" || { skip "a full disk" "no mount"; done_testing; }
"$bin/syscall-count" --no-calibrate --openmetrics="$work/small/count.prom" --otlp="$work/small/lines" -p $$ 0.1 >"$work/out" 2>"$work/err" &
tool=$!
started+=("$tool")
await "" 20 test -s "$work/small/count.prom"
dd if=/dev/zero of="$work/small/filler" bs=1k 2>"$work/dd"
claim "a full disk is told of" await "" 20 grep -q 'openmetrics: cannot write.*No space.*tracing goes on' "$work/err"
claim "of both files" await "" 20 grep -q 'otlp: cannot write.*No space' "$work/err"
claim "the old file stays whole" promtool check metrics <"$work/small/count.prom"
sleep 0.5
is "once" "$(grep -c 'openmetrics: cannot write' "$work/err")" 1
claim "lines are whole" jq -e . "$work/small/lines"
rm "$work/small/filler"
claim "it is written again" await "" 20 grep -q 'openmetrics: .* is written again' "$work/err"
kill "$tool"
wait "$tool"
is "tracing has gone on" $? 0
claim "lines are whole, still" jq -e . "$work/small/lines"
is "its file is removed" "$(ls -A "$work/small")" lines
done_testing
