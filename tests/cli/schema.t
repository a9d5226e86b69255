#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What each tool prints as JSON is as plumb-2.schema.json says: its own members and those that all tools
# share, no others. (What tools that trace print of known workloads, on each kernel, the truth tests validate.)
. "$(dirname "$0")/lib.sh"
/usr/bin/python3 -c 'import jsonschema' 2>/dev/null || {
	echo "1..0 # SKIP there is no jsonschema for Python"
	exit 0
}
root_or_end "JSON"

schema=${bin%/*}/plumb-2.schema.json
mkdir "$work/json"

validate() {
	"$cli_top/tests/truth/schema" "$schema" "$@"
}

# NAME TOOL ARG... - its output, kept, to be validated with what the others print
printed() {
	evidence "$err"
	run_bare "${@:2}"
	cp "$out" "$work/json/$1.json"
	claim "$tool: ${*:3} prints some" grep -q '^{"schema":"plumb/2"' "$out"
}

printf '#!/bin/sh\necho tracing\nexec sleep 10\n' >"$work/tracer"
chmod +x "$work/tracer"
traced="" merged=""
for tool in "${tools[@]}"; do
	case $tool in
	probe-check)
		printed check "$tool" -j k:vfs_read k:no_such_function t:sched:sched_switch s:openat u:libc:malloc
		"$bin/$tool" --save="$work/snapshot" k:vfs_read >/dev/null 2>&1
		printed against "$tool" -j --tool=syscall-latency --tool=func-latency --against="$work/snapshot"
		jq '(.functions[] | select(.returns) | .returns) = "struct page *" | del(.prototypes)' "$work/snapshot" >"$work/changed"
		printed differences "$tool" -j --against="$work/changed"
		;;
	hist-merge) merged=yes ;; # below: what other tools print
	probe-cost) skip "$tool" "it takes too long: the truth tests have it" ;;
	probe-list)
		printed list "$tool" -j 'k:vfs_*' 's:*' 't:sched:*' 'r:*' 'u:libc:m*' 'usdt:libc:*:*'
		printed summary "$tool" -j --summary
		;;
	probe-misses) printed misses "$tool" -j 0.1 2 ;;
	trace-bias) printed bias "$tool" -j --pairs=5 --metric '([0-9]+)' --tool "$work/tracer" -- echo 7 ;;
	*)
		traces "$tool" || { skip "$tool" "it cannot trace here"; continue; }
		printed "$tool" "$tool" ${operand[$tool]:+"${operand[$tool]}"} ${second[$tool]:+"${second[$tool]}"} -j 0.1 2 -- sh -c "'$sends' 127.0.0.1,9,100 >&2"
		traced=$work/json/$tool.json
		;;
	esac
done
if [[ -n $merged && -n $traced ]]; then
	tool=hist-merge
	for report in "$work"/json/*.json; do
		jq -e -s '.[0].rows' "$report" >/dev/null || continue
		of=${report##*/}
		# hist-merge refuses its parts (tests/cli/hist-merge-errors.t).
		[[ $of != wall-time.json ]] || continue
		printed "merged-$of" "$tool" -j "$report"
		printed "again-$of" "$tool" -j --every=1s "$work/json/merged-$of.json" "$report"
		printed "changes-$of" "$tool" -j --diff "$report" "$report"
	done
fi
evidence
claim "what they print is as the schema says" validate "$work/json" || :

# CLAIM FILE FILTER PLACE - a report that the filter has changed is not, and where is said
refuses() {
	local said status=0
	jq -c "$3" "$2" >"$work/changed.json"
	said=$(validate "$work/changed.json") || status=$?
	like "$1 is not" "$status $said" "^1 $work/changed.json:1: [^"$'\n'"]*$4"
}

if [[ -n $traced ]]; then
	refuses "a member that nothing describes" "$traced" '.more = 1' "'more'"
	refuses "one of a mechanism" "$traced" '.mechanism.more = 1' "[.]mechanism: .*'more'"
	refuses "one in place of another in the ledger" "$traced" '.ledger |= (.left_out = .filtered_at_exit | del(.filtered_at_exit))' \
		'[.]ledger: .*(left_out|filtered_at_exit)'
	refuses "a ledger that lacks a number" "$traced" 'del(.ledger.missed)' "[.]ledger: 'missed' is a required"
	refuses "a number that is text" "$traced" '.ledger.recorded |= tostring' '[.]ledger[.]recorded: .* is not of type .integer'
	refuses "a number that is a fraction" "$traced" '.ledger.lost = 0.5' '[.]ledger[.]lost: 0[.]5 is not of type .integer'
	refuses "a number of lost calls, if nobody counts the missed ones" "$traced" '.ledger.missed = null | .ledger.lost = 0' '[.]ledger[.](lost|[a-z]*_lost): 0 is not of type .null'
	refuses "a tool that nobody knows" "$traced" '.tool = "another"' "[.]tool: .*another"
	refuses "another schema" "$traced" '.schema = "plumb/1"' "[.]schema: 'plumb/2' was expected"
fi
sent=$work/json/tcp-sendmsg-lat.json
if [[ -s $sent ]]; then
	holds "there are rows to change" "$sent" '$last.rows | length > 0'
	refuses "a member of another tool's rows" "$sent" '.rows[0].verdict = "go"' "[.]rows[[]0[]]: .*'verdict'"
	refuses "a key of another tool" "$sent" '.rows[0].key.cache = "a"' "[.]rows[[]0[]][.]key: .*'cache'"
	refuses "a row that lacks a number of its tool" "$sent" 'del(.rows[0].asked)' "[.]rows[[]0[]]: 'asked' is a required"
	refuses "a row that lacks a number of all tools" "$sent" 'del(.rows[0].count)' "[.]rows[[]0[]]: 'count' is a required"
	refuses "a row that nothing describes a member of" "$sent" '.rows[0].more = 1' "[.]rows[[]0[]]: .*'more'"
	refuses "a member of another tool's report" "$sent" '.frequency = 99' "'frequency'"
	refuses "a report that lacks what is in flight" "$sent" 'del(.in_flight)' "'in_flight' is a required"
	refuses "a call in flight of another tool" "$sent" '.in_flight = [{pid: 1, tid: 1, comm: "a", age_ns: 1, age_is_least: false,
		since_before: false, syscall: "read", function: "tcp_sendmsg"}]' "[.]in_flight[[]0[]]: .*'syscall'"
fi
divided=$work/json/file-io-breakdown.json
if [[ -s $divided ]]; then
	refuses "a time on the way out, if nobody looked there" "$divided" '.on_the_way_out.not_seen = "refused" | .rows[0].split.return = 0' \
		'[.]rows[[]0[]][.]split[.]return: 0 is not of type .null'
fi
if [[ -s $work/json/check.json ]]; then
	refuses "ok or not, of a target that is unknown" "$work/json/check.json" '.checks[0].verdict = "unknown"' '[.]checks[[]0[]][.]ok: .* is not of type .null'
fi
if [[ -s $work/json/list.json ]]; then
	refuses "a target without arguments" "$work/json/list.json" 'del(.targets[0].arguments)' "[.\]targets[[]0[]]: 'arguments' is a required"
	refuses "a report cut short" "$work/json/list.json" 'del(.kernel)' "'kernel' is a required"
fi
jq 'del(."$defs".report.properties.seq.description)' "$schema" >"$work/bare"
like "a schema that describes not all members is none" "$("$cli_top/tests/truth/schema" "$work/bare" "$work/json"; echo $?)" \
	'^#/[$]defs/report/seq: it has no description.*1$'
sed 's/ Null: as missed; lost_at_least[^"]*//' "$schema" >"$work/unsaid"
like "... nor one with a member that may be null, and not when" "$("$cli_top/tests/truth/schema" "$work/unsaid" "$work/json"; echo $?)" \
	'^#/[$]defs/ledger/lost: it may be null, and nobody says when.*1$'
sed 's/ Null: not known yet/ Null, or 0: not known yet/' "$schema" >"$work/zero"
like "... nor one in which 0 is what nobody knows" "$("$cli_top/tests/truth/schema" "$work/zero" "$work/json"; echo $?)" \
	'^#/[$]defs/[^:]*/ns: what is not known is null.*1$'
claim "nothing at all is not valid either" test "$(validate "$err"; echo $?)" != 0
done_testing
