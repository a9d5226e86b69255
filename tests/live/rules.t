#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The alerts and rules of metrics/, by promtool's own clock: what they fire for, and what not.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

command -v promtool >/dev/null || { echo "1..0 # SKIP there is no promtool"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp metrics/plumb-rules.yml "$work"

# case SERIES ALERT MINUTE FIRES - SERIES: lines of "name{...} values", a value each minute
# shellcheck disable=SC2317 # by claim
case_of() {
	{
		printf 'rule_files: [plumb-rules.yml]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n'
		while read -r series values; do
			printf "      - series: '%s'\n        values: '%s'\n" "$series" "$values"
		done <<<"$1"
		printf '    promql_expr_test:\n      - expr: "count(ALERTS{alertname=%s,alertstate=%s}) or vector(0)"\n' "'$2'" "'firing'"
		printf '        eval_time: %sm\n        exp_samples: [{labels: "{}", value: %s}]\n' "$3" "$4"
	} >"$work/test.yml"
	(cd "$work" && promtool test rules test.yml >out 2>&1) || { cat "$work/out"; return 1; }
}

run='instance="h:9100",run="r",tool="syscall-latency"'
lost() {
	printf 'plumb_lost_calls_total{%s} %s\nplumb_recorded_calls_total{%s} %s\n' "$run" "$1" "$run" "$2"
}

claim "one call that was lost long ago is no alert" case_of "$(lost '0x4 1x100' '0+1000x100')" PlumbLostCalls 60 0
claim "one of many thousands is none" case_of "$(lost '0x4 1x100' '0+1000x100')" PlumbLostCalls 6 0
claim "one of a hundred is" case_of "$(lost '0+10x100' '0+1000x100')" PlumbLostCalls 60 1
claim "... also before the first scrape" case_of "$(lost '6x100' '64x100')" PlumbLostCalls 2 1
claim "... for as long as it is new" case_of "$(lost '6x100' '64x100')" PlumbLostCalls 60 0
build="plumb_build_info{$run}"
up='up{instance="h:9100"}'
claim "a run that goes on is not missing" case_of "$build 1x100
$up 1x100" PlumbMissingRun 60 0
claim "a run that has ended is" case_of "$build 1x20 stale
$up 1x100" PlumbMissingRun 60 1
claim "... but not if the host is down" case_of "$build 1x20 stale
$up 1x20 0x100" PlumbMissingRun 60 0
claim "... nor for ever" case_of "$build 1x20 stale
$up 1x1000" PlumbMissingRun 500 0

# Two runs of one tool on a host, of which each sees a call a second of 2 ms, and of another kind of 20 ms.
series=
for run in a b; do
	for call in "read 0.002" "write 0.02"; do
		read -r syscall bound <<<"$call"
		for le in 0.002 0.02 +Inf; do
			value=0+60x30
			[[ $le != 0.002 || $bound = 0.002 ]] || value=0x30
			series+="plumb_syscall_latency_seconds_bucket{instance=\"h\",run=\"$run\",syscall=\"$syscall\",le=\"$le\"} $value
"
		done
	done
done
{
	printf 'rule_files: [plumb-rules.yml]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n'
	while read -r name values; do
		printf "      - series: '%s'\n        values: '%s'\n" "$name" "$values"
	done <<<"${series%$'\n'}"
	printf '    promql_expr_test:\n'
	printf '      - expr: count(run_syscall:plumb_syscall_latency_seconds:p99_5m)\n        eval_time: 20m\n        exp_samples: [{labels: "{}", value: 4}]\n'
	printf "      - expr: max(run_syscall:plumb_syscall_latency_seconds:p99_5m{syscall='read'}) < bool 0.003\n        eval_time: 20m\n        exp_samples: [{labels: '{}', value: 1}]\n"
	printf '      - expr: sum(instance_run_syscall_le:plumb_syscall_latency_seconds_bucket:rate5m{run="a",le="+Inf"})\n        eval_time: 20m\n        exp_samples: [{labels: "{}", value: 2}]\n'
} >"$work/test.yml"
claim "runs and system calls are apart" bash -c 'cd "$1" && promtool test rules test.yml' bash "$work"
done_testing
