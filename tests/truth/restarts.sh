# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# A service that is restarted: its cgroup is removed, and made again under the same path.

# How often TOOL has taken the service in again.
taken_in() {
	[ "$(grep -c 'was made again' "$1.err")" -ge "$2" ]
}

# remove PARENT - it, and the service in it
remove() {
	await 10 rmdir "$1/y.service"
	rmdir "$1"
}

# Has an interval with CALLS been reported?
reported() {
	grep -q "\"count\":$1," inside.json
}

# inside NAME CGROUP CALLS - a process in it makes the calls, and ends
inside() {
	# shellcheck disable=SC2016 # the inner shell expands it
	start "$1" sh -c 'echo $$ >"$0/cgroup.procs"; exec calls "$1" getppid' "$2" "$3"
	open_gate "$1" go
	finish "$1" "$(cat "$1.pid")"
}

# Has TOOL opened the cgroup of -g?
has_opened() {
	find "/proc/$(cat "$1.pid")/fd" -lname "*$2" 2>/dev/null | grep -q .
}

is_stopped() {
	grep -q '^State:.T' "/proc/$1/status" || is_over "$1"
}

# restart_before_tracing TOOL - its cgroup, again and again until it traces; each time the tool is
# stopped, so that the cgroup is there when it traces
restart_before_tracing() {
	await 30 has_opened "$1" "$early"
	while ! is_over "$tool"; do
		kill -STOP "$tool"
		await 10 is_stopped "$tool"
		if is_tracing "$1"; then
			break
		fi
		rmdir "$top$early"
		mkdir "$top$early"
		kill -CONT "$tool"
		sleep 0.01
	done
	kill -CONT "$tool" 2>/dev/null
}

# live NAME CALLS [NUMBER] - one life of the service, which makes CALLS and ends; with NUMBER,
# those that filter by its path have noticed so many
live() {
	mkdir "$top$svc" || return
	for name in ${3:+filtered both shown}; do
		await 30 taken_in "$name" "$3"
	done
	inside "$1" "$top$svc" "$2"
}

run() {
	program=syscall-count
	top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	if [ -z "$top" ]; then
		echo "no cgroup2 file system is mounted" >cgroup.skip
		return
	fi
	parent=/plumb-restarts-$$ svc=$parent/x.service slice=/plumb-slices-$$ dark=/plumb-dark-$$
	early=/plumb-early-$$ waiting=/plumb-waiting-$$ away=/plumb-away-$$
	# shellcheck disable=SC2034 # by what the run does at its end
	cgroups="$top$svc $top$parent $top$early $top$away"
	for name in "$slice" "$dark" "$waiting"; do
		cgroups="$cgroups $top$name/f/y.service $top$name/f $top$name"
	done
	echo "$svc" >cgroup
	mkdir -p "$top$svc" "$top$slice/f/y.service" "$top$dark/f/y.service" "$top$early" \
		"$top$waiting/f/y.service" "$top$away" || return
	chmod 0311 "$top$dark" # where nothing can be watched
	attach waiting -s getppid -g "$waiting/f/y.service" --start-at=+2s
	await 30 has_opened waiting "$waiting/f/y.service"
	remove "$top$waiting/f"
	mkdir -p "$top$waiting/f/y.service"
	attach away -v -s getppid -g "$away" --start-at=+2s
	await 30 has_opened away "$away"
	rmdir "$top$away"
	attach filtered -v -s getppid -b cgroup -g "$top$svc"
	attach both -v -s getppid -b cgroup -g "$svc,$top$parent"
	attach above -v -s getppid -g "$slice/f/y.service"
	attach polled -v -s getppid -g "$dark/f/y.service"
	attach inside -s getppid -b cgroup -g "$parent" 0.5 "--openmetrics=$PWD/inside.prom" "--otlp=$PWD/inside.otlp"
	attach ids -s getppid -b cgroup,cgroup_id -g "$parent"
	program=syscall-latency
	attach times -s getppid -b cgroup --split -g "$parent"
	attach kept --keep=60s/0.1s -s getppid -b cgroup -g "$parent"
	program=syscall-count
	launch shown -v -s getppid -g "$svc"
	attaching="$attaching shown"
	program=syscall-latency
	attach early -s getppid -g "$early"
	restart_before_tracing early
	inside early-calls "$top$early" 211
	attached
	inside waiting-calls "$top$waiting/f/y.service" 223
	mkdir "$top$away"
	await 30 taken_in away 1
	inside away-calls "$top$away" 227
	rmdir "$top$svc"
	live one 101 1 # is removed before a report has its name
	await 10 rmdir "$top$svc"
	await 30 reported 101
	live two 202 2
	await 30 reported 202
	await 10 rmdir "$top$svc"
	live three 55
	await 10 rmdir "$top$svc"
	await 30 reported 55
	rmdir "$top$parent"
	# Its parent as well.  What is there from 0.3 s to 0.6 s after that, no look each second finds.
	for name in a b c; do
		remove "$top$slice/f"
		sleep 0.3
		mkdir -p "$top$slice/f/y.service"
		sleep 0.2
		# shellcheck disable=SC2016 # the inner shell expands it
		sh -c 'echo $$ >"$0/cgroup.procs"; exec calls 40 getppid' "$top$slice/f/y.service" >"short-$name"
		remove "$top$slice/f"
		before=$(grep -c 'was made again' above.err)
		mkdir -p "$top$slice/f/y.service"
		await 30 taken_in above $((before + 1))
	done
	remove "$top$dark/f"
	mkdir -p "$top$dark/f/y.service"
	await 30 taken_in polled 1
	detach early waiting away above polled filtered both inside ids times kept shown
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	if [[ -e cgroup.skip ]]; then
		skip "a service that is restarted is one row" "$(cat cgroup.skip)"
		return
	fi
	local svc
	svc=$(cat cgroup)
	evidence filtered.json filtered.err both.json both.err notes
	holds "a cgroup of -g that is made again is traced under its path" filtered.json \
		'$last.ledger.recorded | . >= 303 and . <= 358'
	holds "... in one row, which keeps its name" filtered.json \
		'[$last.rows[].key] == [{"cgroup": $svc}]' --arg svc "$svc"
	holds "... and JSON tells how often, and that it is gone" filtered.json \
		'$last.cgroups | length == 1 and (.[0] | .exists == false and .made_again >= 2 and .made_again <= 3)'
	holds "... beside a cgroup that stays" both.json '$last.ledger.recorded == 358'
	evidence above.json above.err polled.json polled.err
	holds "a cgroup of -g whose parent was made again as well is traced" above.json \
		'$last.ledger.recorded | . >= 40 and . <= 120'
	holds "... and JSON tells how often that was" above.json \
		'$last.cgroups[0] | .made_again >= 4 and .made_again <= 6 and (.polled | not)'
	holds "one that can only be looked for each second is said to be" polled.json \
		'$last.cgroups[0] | .exists and .made_again == 1 and .polled'
	evidence early.json early.err waiting.json waiting.err away.json away.err
	holds "one that is made again while the tool starts, again and again" early.json \
		'$last.ledger.recorded == 211 and ($last.cgroups[0] | .exists and .made_again >= 1)'
	holds "... or its parent, while it waits for its start" waiting.json \
		'$last.ledger.recorded == 223 and ($last.cgroups[0] | .exists and .made_again == 1)'
	holds "one that is not there when the trace begins is traced when it comes" away.json \
		'$last.ledger.recorded == 227 and ($last.cgroups[0] | .exists and .made_again == 1)'
	evidence inside.json inside.err ids.json ids.err times.json times.err kept.json kept.err
	holds "below a cgroup of -g all of them are one row" times.json \
		'[$last.rows[] | [.key.cgroup, .count]] == [[$svc, 358]]' --arg svc "$svc"
	whole "of cgroups that were made again" times.json
	holds "... the parts of whose time are its time" times.json '$last.rows[0]
		| .split.sum == .sum and .split.count == .count'
	holds "... in each interval, and together" inside.json \
		'[$all[].rows[]] | (map(.key.cgroup) | unique) == [$svc] and (map(.count) | add) == 358' --arg svc "$svc"
	holds "... and in what is kept" kept.json \
		'[$all[].rows[]] | (map(.key.cgroup) | unique) == [$svc] and (map(.count) | add) == 358' --arg svc "$svc"
	holds "-b cgroup_id tells them apart" ids.json \
		'$last.rows | (map(.count) | sort) == [55, 101, 202] and (map(.key.cgroup) | unique) == [$svc]
			and (map(.key.cgroup_id) | unique | length) == 3' --arg svc "$svc"
	evidence inside.otlp
	is "a series of a metric goes on: the same name, never less" \
		"$(jq -s '[.[].resourceMetrics[].scopeMetrics[].metrics[] | select(.name | test("calls$")) | select(.sum) | .sum.dataPoints[]
			| select([.attributes[] | select(.key | test("cgroup"))] != [])
			| [([.attributes[] | select(.key | test("cgroup")).value.stringValue] | add), (.asInt | tonumber)]]
			| (map(.[0]) | unique) == ["'"$svc"'"] and (map(.[1]) | . == sort) and (map(.[1]) | last) == 358' inside.otlp)" true
	evidence shown.json shown.err # a table
	like "the footer tells how often, and that it is gone" "$(tr -s '\n ' '  ' <shown.json)" \
		"cgroup: $svc was removed and made again [23] times, and removed"
}
