# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# A service that is restarted: its cgroup is removed, and made again under the same path.

# How often TOOL has taken the service in again.
taken_in() {
	[ "$(grep -c 'was made again' "$1.err")" -ge "$2" ]
}

# Has an interval with CALLS been reported?
reported() {
	grep -q "\"count\":$1," inside.json
}

# live NAME CALLS [NUMBER] - one life of the service, which makes CALLS and ends; with NUMBER,
# those that filter by its path have noticed so many
live() {
	mkdir "$top$svc" || return
	for name in ${3:+filtered both shown}; do
		await 30 taken_in "$name" "$3"
	done
	# shellcheck disable=SC2016 # the inner shell expands it
	start "$1" sh -c 'echo $$ >"$0/cgroup.procs"; exec calls "$1" getppid' "$top$svc" "$2"
	open_gate "$1" go
	finish "$1" "$(cat "$1.pid")"
}

run() {
	program=syscall-count
	top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	if [ -z "$top" ]; then
		echo "no cgroup2 file system is mounted" >cgroup.skip
		return
	fi
	parent=/plumb-restarts-$$ svc=$parent/x.service
	# shellcheck disable=SC2034 # by what the run does at its end
	cgroups="$top$svc $top$parent"
	echo "$svc" >cgroup
	mkdir -p "$top$svc" || return
	attach filtered -v -s getppid -b cgroup -g "$top$svc"
	attach both -v -s getppid -b cgroup -g "$svc,$top$parent"
	attach inside -s getppid -b cgroup -g "$parent" 0.5 "--openmetrics=$PWD/inside.prom" "--otlp=$PWD/inside.otlp"
	attach ids -s getppid -b cgroup,cgroup_id -g "$parent"
	program=syscall-latency
	attach times -s getppid -b cgroup --split -g "$parent"
	attach kept --keep=60s/0.1s -s getppid -b cgroup -g "$parent"
	program=syscall-count
	launch shown -v -s getppid -g "$svc"
	attaching="$attaching shown"
	attached
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
	detach filtered both inside ids times kept shown
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
