#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# In a pid namespace of their own, as in a container: pids are those of that.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
((EUID == 0)) || { echo "1..0 # SKIP tracing takes root"; exit 0; }
unshare --pid --fork --mount-proc true 2>/dev/null || { echo "1..0 # SKIP no pid namespace can be made"; exit 0; }

build=${PLUMB_BIN:-build/bin}
top=$PWD
export bin=$PWD/$build tests=$PWD/${build%/bin}/tests
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
inside() { unshare --pid --fork --mount-proc bash -c "$1"; }

# Each workload knows its own pid.  That of "deeper" has another in its own namespace.
inside 'readlink /proc/self/ns/pid >namespace
	"$bin/syscall-latency" --no-calibrate -j -s getppid -b pid -- "$tests/calls" 7 getppid >command.json 2>command.err
	"$bin/syscall-latency" --no-calibrate -s getppid -d 0.1 -p $$ >table 2>&1
	"$bin/syscall-latency" --no-calibrate -j -s getppid -b pid,tid,comm -c inside,other,deeper,outside >all.json 2>all.err &
	tool=$!
	until grep -q tracing all.err || [ ! -e /proc/$tool ]; do sleep 0.1; done
	"$tests/calls" -t 2 -n inside,other 1009 getppid >inside.truth
	unshare --pid --fork --mount-proc "$tests/calls" -t 1 -n deeper 211 getppid >deeper.truth
	touch ready
	until [ -e outside.truth ]; do sleep 0.1; done
	kill -INT $tool
	wait $tool' &
inside=$!
until [[ -e ready ]] || ! kill -0 $inside 2>/dev/null; do sleep 0.1; done
"$tests/calls" -t 1 -n outside 101 getppid >truth
mv truth outside.truth
wait $inside

evidence all.err all.json command.err command.json
first=$(gojq .pid inside.truth) # of the namespace's pids, which are few, the next are given next
rows() { gojq -cs "[.[].rows // [] | .[] | $1]" "$2"; }
is "who is inside has its own number" \
	"$(rows 'select(.key.comm == "inside" or .key.comm == "other") | [.key.pid, .key.tid, .count]' all.json | gojq -c sort)" \
	"$(gojq -c '.pid as $pid | [.calls[] | [$pid, .tid, .count]] | sort' inside.truth)"
is "who is in a namespace below has its number here" \
	"$(rows 'select(.key.comm == "deeper") | .count, .key.pid > '"$first"' and .key.pid < '"$first"' + 20, .key.tid == .key.pid + 1' all.json)" \
	"[211,true,true]"
is "who is outside has none" "$(rows 'select(.key.comm == "outside") | .key.pid, .key.tid, .count' all.json)" "[0,0,101]"
is "a command's pid is that of the namespace" "$(rows 'select(.count == 7) | .key.pid' command.json)" "$(gojq -cs 'map(.pid // empty) | if . == [] then "it ran" else . end' command.json)"
is "JSON says in whose numbers" "$(gojq -s '.[-1].pid_namespace' all.json)" "$(tr -dc 0-9 <namespace)"
is "... and that calls of others may be inside" "$(gojq -s '.[-1].in_flight_complete' all.json)" false
claim "so does the footer" grep -q "^pids: those of this pid namespace; 0: of a process outside" table
cd "$top" || exit 1
status=0 form=()
[[ ${CHECK_ALL-} ]] || form=(--short)
unshare --pid --fork --mount-proc tests/truth/drive "${form[@]}" --only=keys,filters >"$work/groups" || status=$?
evidence "$work/groups"
is "what holds of keys and filters, holds there" "$status" 0
done_testing
