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
	parent=/plumb-restarts-$$ svc=$parent/x.service slice=/plumb-slices-$$ dark=/plumb-dark-$$
	# shellcheck disable=SC2034 # by what the run does at its end
	cgroups="$top$svc $top$parent"
	for name in "$slice" "$dark"; do
		cgroups="$cgroups $top$name/f/y.service $top$name/f $top$name"
	done
	echo "$svc" >cgroup
	mkdir -p "$top$svc" "$top$slice/f/y.service" "$top$dark/f/y.service" || return
	chmod 0311 "$top$dark" # where nothing can be watched
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
	detach above polled filtered both inside ids times kept shown
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
