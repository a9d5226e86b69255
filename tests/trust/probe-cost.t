#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# probe-cost on the running kernel: each mechanism has a figure or a reason, the figures have an order
# that no noise turns round, and what it keeps is what func-count tells.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

bin=${PLUMB_BIN:-build/bin}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PLUMB_CACHE=$work/cache
out=$work/out err=$work/err table=$work/table json=$work/json
evidence "$out" "$err"

misused() {
	local status=0
	"$bin/probe-cost" "$@" </dev/null >"$out" 2>"$err" || status=$?
	is "probe-cost $* is wrong usage" "$status $(wc -l <"$err") $(wc -c <"$out")" "2 1 0"
	like "probe-cost $* says so" "$(<"$err")" "^probe-cost: .*${*: -1}"
}

for value in 0 -1 1.5 1e5 x 1000000000001 18446744073709551616; do
	misused --rate "$value"
done
for value in 4 0 -1 1001 5.5 x; do
	misused --rounds "$value"
done
misused raw_tp

((EUID == 0)) || { skip "measuring" "tracing takes root"; done_testing; }

# How often a program that does more is cheaper, by more than noise.
contrary() {
	jq '[.rows | group_by(.mechanism)[] | map(select(.ns)) | INDEX(.body)
		| [.empty, .counter], [.counter, .histogram] | select(all) | select(.[0].low > .[1].high * 1.1 + 5)] | length' "$json"
}

# Others may read run-time statistics now, which makes all that runs meanwhile dearer, and nothing
# else; or keep this host busy for as long as some rows take.
for _ in 1 2 3; do
	status=0
	"$bin/probe-cost" -r 7 -j >"$json" 2>"$err" || status=$?
	slowed=$(jq '.slowed // 0' "$json")
	[[ $slowed != 0 || $(contrary) != 0 ]] || break
done
is "it measures" "$status" 0
evidence "$json" "$err"
mechanisms=(raw_tp tracepoint fentry fexit fsession kprobe kretprobe kprobe.multi kprobe.session uprobe uretprobe
	uprobe.multi bystander)
for name in "${mechanisms[@]}"; do
	holds "$name has its figures, or a reason" "$json" '[$last.rows[] | select(.mechanism == $name)]
		| (length == 1 and (.[0].refused | length > 3) and (.[0] | has("ns") | not))
			or [.[].body] == (if $name == "bystander" then ["syscall"] else ["empty", "counter", "histogram"] end)' \
		--arg name "$name"
done
holds "there is no other row" "$json" '[$last.rows[].mechanism] | unique | length == 13'
holds "each figure is in its interval" "$json" \
	'[$last.rows[] | select(.ns)] | length > 0 and all(.[]; .low <= .ns and .ns <= .high)'
holds "the head says what it is of" "$json" '$last | .schema == "plumb/2" and .tool == "probe-cost" and .rounds == 7
	and .kernel == $kernel and .kernel_version == $version and (.cpu | length > 0)' \
	--arg kernel "$(uname -r)" --arg version "$(uname -v)"

# ordered CLAIM LESS MORE: MECHANISM/BODY each. The intervals must not say the contrary, by more than noise.
ordered() {
	holds "$1" "$json" 'def row($name): $last.rows[] | select("\(.mechanism)/\(.body)" == $name);
		[row($less), row($more)] | length < 2 or .[0].low <= .[1].high * 1.1 + 5' --arg less "$2" --arg more "$3"
}

check_order() {
	for name in "${mechanisms[@]::12}"; do
		ordered "$name: a counter is no cheaper than nothing" "$name/empty" "$name/counter"
		ordered "$name: a histogram is no cheaper than a counter" "$name/counter" "$name/histogram"
	done
	holds "a raw tracepoint is cheaper than one through a perf event" "$json" \
		'[$last.rows[] | select(.body == "empty")] | INDEX(.mechanism) | .raw_tp.low < .tracepoint.high'
	holds "a histogram on a raw tracepoint is dearer than nothing" "$json" \
		'[$last.rows[] | select(.mechanism == "raw_tp")] | INDEX(.body) | .empty.low < .histogram.high'
	holds "user functions are the dearest" "$json" '[$last.rows[] | select(.ns and .body == "empty")]
		| map(.user = (.mechanism | startswith("u"))) | [.[] | select(.user).ns] as $user
		| ($user | min // infinite) > ([.[] | select(.user | not).ns] | max)'
}
if [[ $slowed == 0 ]]; then
	check_order
else
	skip "figures are in order" "others read run-time statistics"
fi

evidence "$PLUMB_CACHE/probe-cost.json" "$err"
is "what it printed is kept" "$(jq -S . "$PLUMB_CACHE/probe-cost.json")" "$(jq -S . "$json")"

# What func-count tells, of what is kept: $out
count() {
	status=0
	"$bin/func-count" -d 0.1 "$@" t:task:task_rename u:libc:malloc >"$out" 2>"$err" || status=$?
	evidence "$out" "$err" "$PLUMB_CACHE/probe-cost.json"
}

# The figures of func-count's JSON, as probe-cost names them.
told() {
	jq -S -c '[.rows[].cost | to_entries[] | select(.value.how == "probe-cost")]
		| map({key: .key | sub("raw_tracepoint"; "raw_tp"), value: .value.ns}) | from_entries' "$out"
}

kept=$(jq -S -c '[.rows[] | select(.body == "counter" and (.mechanism | IN("tracepoint", "raw_tp", "uprobe", "uprobe.multi")))]
	| map({key: .mechanism, value: .ns}) | from_entries' "$json")
# Both fire, until func-count has ended: this script's processes are renamed, and call malloc.
busy() {
	while [[ ! -e $work/counted ]]; do ls -l / >/dev/null; (exec -a other sleep 0.005); done
}
busy &
count -j --no-calibrate -d 0.5
touch "$work/counted"
wait
is "func-count tells what was kept" "$(told)" "$kept"
count --no-calibrate
like "and since when" "$(<"$out")" "measured by probe-cost on $(date -u +%Y-%m-)"
count -v
like "its own cost it measures all the same, unless something disturbs that" "$(<"$out")" \
	"cost: ((at most )?[0-9]+ (to [0-9]+ )?ns added|not measured \\(disturbed\\))"

# Of another kernel, and of nobody knows whom.
jq -c '.kernel_version = "#1 SMP"' "$json" >"$PLUMB_CACHE/probe-cost.json"
count --no-calibrate
like "of another kernel it is not taken" "$(<"$out")" "cost of a fire, published"
cp "$json" "$PLUMB_CACHE/probe-cost.json"
chmod 666 "$PLUMB_CACHE/probe-cost.json"
count --no-calibrate
like "what all can write is not taken" "$(<"$out")" "cost of a fire, published"

PLUMB_CACHE='' "$bin/probe-cost" -r 5 --rate 100000 >"$table" 2>"$err"
evidence "$table" "$err"
is "the table is no wider than a terminal" "$(awk 'length > 80' "$table")" ""
claim "a share of a CPU is the figure by the rate" awk '$1 == "uprobe" && $2 == "empty" {
	n++; share = $3 * 100000 / 1e7; ok += share - $6 < 0.51 && $6 - share < 0.51 } END { exit n != 1 || !ok }' "$table"
claim "on a full disk it says so" bash -c "PLUMB_CACHE='' '$bin/probe-cost' 2>&1 >/dev/full | grep -q 'No space left'"
done_testing
