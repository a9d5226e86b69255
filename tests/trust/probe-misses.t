#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# probe-misses on the running kernel, by a tool of ours whose runs are known: its reports, where they
# go, and how it ends. What programs missed is tested where misses can be triggered: tests/truth.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

bin=${PLUMB_BIN:-build/bin}
work=$(mktemp -d)
calls=$work/calls # of which nobody else makes any
started=()
# shellcheck disable=SC2317 # the trap calls it
clean_up() {
	((${#started[@]} == 0)) || kill -9 "${started[@]}" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$work"
}
trap clean_up EXIT
out=$work/out err=$work/err status=
evidence "$out" "$err"

run() {
	status=0
	timeout -k 5 20 "$bin/probe-misses" "$@" </dev/null >"$out" 2>"$err" || status=$?
}

# FILE - until a tool says there that it traces
await_ready() {
	local i
	for ((i = 0; i < 500; i++)); do
		grep -q 'tracing …' "$1" 2>/dev/null && return
		sleep 0.02
	done
	return 1
}

# In the background, until it is ended: its pid in $watch
watch() {
	rm -f "$err" "$out"
	"$bin/probe-misses" "$@" </dev/null >"$out" 2>"$err" &
	watch=$!
	started+=("$watch")
	await_ready "$err" || echo "# not ready: $*"
}

# SIGNAL
end_watch() {
	kill "-$1" "$watch"
	status=0
	wait "$watch" || status=$?
}

cp build/tests/calls "$calls"
((EUID == 0)) || { echo "1..0 # SKIP takes root"; exit 0; }

"$bin/func-count" --no-calibrate --mechanism=uprobe -d 300 "u:$calls:make_call" </dev/null >"$work/count" 2>"$work/count.err" &
count=$!
started+=("$count")
await_ready "$work/count.err" || {
	grep -q refused "$work/count.err" || { echo "Bail out! func-count does not trace"; exit 1; }
	skip "programs of ours" "$(head -n 1 "$work/count.err")"
	done_testing
}
ids=$(build/tests/bpf-alive of "$count" | tr ' ' '\n' | sort -un | jq -s -c .)

# CLAIM FILTER - over the list of our programs
ours() {
	holds "$1" "$out" '[$last.programs[] | select(.id | IN($ids[]))] | '"$2" --argjson ids "$ids" --arg calls "$calls"
}

watch -j -d 60
"$calls" 1009 priority lseek >/dev/null
end_watch INT
is "it ends well by Ctrl-C" "$status" 0
ours "a program has run as often as what it is attached to was called" 'map(.runs) | max == 2018'
ours "what it took is its time and its share of a CPU" \
	'max_by(.runs) | .run_time_ns > 0 and (.cpu_percent * $last.elapsed_ns / 100 / .run_time_ns | . > 0.999 and . < 1.001)'
ours "it is said what it is attached to" \
	'max_by(.runs) | .type == "kprobe" and .attached[0].by == "uprobe" and (.attached[0].target | startswith($calls + "+0x"))'
id=$(jq '[.programs[] | select(.id | IN($ids[]))] | max_by(.runs).id' --argjson ids "$ids" "$out")

watch -d 60
"$calls" 23 priority >/dev/null
end_watch TERM
like "the table has it too, by the last part of its path" "$(<"$out")" \
	$'\n *'"$id"' +[0-9]+ +[0-9]+ +[0-9.]+ +[-0-9]+ +- +fired_uprobe: uprobe'
is "not by all of it" "$(grep -c -e "calls+0x" -e "$calls" "$out") $(grep -c "$calls" "$out")" "1 0"
is "no line is wider than a terminal" "$(awk 'length > 80' "$out")" ""
claim "no escape codes but on a terminal" test "$(grep -c $'\033' "$out")" = 0

run -j 0.2 3
is "as many reports as were asked for" "$(jq -s -c 'map(.seq), map(.final)' "$out" | tr '\n' ' ')" "[1,2,3] [false,false,true] "
ours "what did not run is in JSON" 'any(.runs == 0)'
run -d 0.2
like "but not in the table" "$(<"$out")" 'did not run: -a shows them'
run -a -d 0.2
like "unless it is asked for" "$(<"$out")" $'\n *'"$id "
start=$(date +%s%N)
run
took=$((($(date +%s%N) - start) / 1000000))
claim "alone it ends after a second ($took ms)" test "$status" = 0 -a "$took" -ge 1000 -a "$took" -lt 5000
start=$(date +%s%N)
run -d 0.5 5
took=$((($(date +%s%N) - start) / 1000000))
claim "-d ends it within an interval ($took ms)" test "$status" = 0 -a "$took" -ge 500 -a "$took" -lt 3000

run -a --top=1 0.1 2
is "--top=1 has a row a report" "$(grep -c '^ *[0-9].*: ' "$out")" 2
claim "on a pipe it has no escape codes" test "$(grep -c $'\033' "$out")" = 0
if command -v script >/dev/null; then
	status=0
	timeout 20 script -qec "stty rows 12 cols 80; '$bin/probe-misses' -a --top 0.1 3" /dev/null </dev/null >"$out" 2>"$err" || status=$?
	is "on a terminal it ends well" "$status" 0
	is "on a terminal each report begins where the last did" "$(grep -o $'\033\\[H\033\\[J' "$out" | wc -l)" 3
	claim "and has no more lines than that" awk -v RS='\033[[]H\033[[]J' 'NR > 1 && gsub("\n", "") > 12 { exit 1 }' "$out"
else
	skip "on a terminal" "no script(1)"
fi

status=0
timeout 20 "$bin/probe-misses" -d 0.1 </dev/null >/dev/full 2>"$err" || status=$?
is "on a full disk it ends with 1" "$status" 1
like "and says so" "$(grep -v tracing "$err")" '^probe-misses: [^'$'\n'']*No space left on device$'
status=0
timeout 20 "$bin/probe-misses" -d 0.1 </dev/null >&- 2>"$err" || status=$?
is "without stdout it ends with 1" "$status" 1
start=$SECONDS
timeout 20 "$bin/probe-misses" 0.1 2>"$err" </dev/null | head -n 1 >/dev/null
is "when its reader goes it ends quietly" "${PIPESTATUS[0]} $(grep -v tracing "$err")" "0 "
claim "and soon" test $((SECONDS - start)) -lt 10

install -m 755 "$bin/probe-misses" "$work/probe-misses"
chmod 755 "$work"
status=0
setpriv --reuid=65534 --regid=65534 --clear-groups "$work/probe-misses" -d 0.1 </dev/null >"$out" 2>"$err" || status=$?
is "as nobody it ends with 1" "$status" 1
like "and says in one line what it takes" "$(<"$err")" '^probe-misses: [^'$'\n'']*root[^'$'\n'']*CAP_SYS_ADMIN[^'$'\n'']*$'

if unshare --mount mount -t tmpfs none /sys/kernel/btf 2>/dev/null; then
	status=0
	# shellcheck disable=SC2016 # for that shell
	timeout 20 unshare --mount sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' sh \
		"$bin/probe-misses" -j -d 0.1 </dev/null >"$out" 2>"$err" || status=$?
	is "without BTF it ends well" "$status" 0
	ours "and takes misses of kprobes for not counted" 'max_by(.id) | .recursion_misses == null'
else
	skip "without BTF" "no mount namespace"
fi
done_testing
