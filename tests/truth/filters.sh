# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Each filter: one that matches captures exactly what it names, one that does not, nothing.

# Two threads with names of their own that make 1009 of each of six calls.
kinds='getppid close-bad read:100@40 read:5000@41 write:100@42 sendto-bad:300'

filter_threads() {
	# shellcheck disable=SC2086 # words
	start target calls -t 2 -n plumb-alpha,plumb-beta 1009 $kinds
	alpha=$(tid_of "$pid" plumb-alpha)
	echo "$alpha" >alpha.tid
	sleep 60 &
	other=$!
	started="$started $other"
	some='-s getppid,close,read,write,sendto --max-keys=32 -b syscall'
	# shellcheck disable=SC2086 # words
	{
		attach no-filter $some -p "$pid"
		also attach pid-other $some -p "$other"
		attach pid-list $some -p "$other,$pid"
		attach tid-match $some -t "$alpha"
		also attach tid-other $some -t "$pid"
		attach comm-match $some -c plumb-alpha
		attach comm-list $some -c plumb-alpha,plumb-beta,plumb-gamma
		also attach comm-other $some -c plumb-alph
		attach comm-glob $some -c 'plumb-[a]l*'
		also attach comm-globs $some -c '?lumb-beta,*x*x,plumb\x2dalpha'
		also attach comm-other-glob $some -c 'plumb-[!a-z]*,lumb*,*-alph'
		attach process -s getppid -p "$pid" -b process,comm
		attach syscall-match --max-keys=32 -b syscall -s close -p "$pid"
		attach syscall-but --max-keys=32 -b syscall -s '!close,sendto' -p "$pid"
		also attach syscall-other --max-keys=32 -b syscall -s getpgid -p "$pid"
		attach errors $some -p "$pid" --errors
		attach fd-match $some -p "$pid" --fd=41
		also attach fd-other $some -p "$pid" --fd=39
		also attach size-min $some -p "$pid" --min-size=300
		also attach size-max $some -p "$pid" --max-size=100
		attach size-exact $some -p "$pid" --min-size=5000 --max-size=5000
		also attach size-other $some -p "$pid" --min-size=101 --max-size=299
		attach together $some -t "$alpha" -p "$pid" -c plumb-alpha --fd=40 --min-size=100
		attach apart $some -t "$alpha" -p "$pid" -c plumb-beta
	}
	traced comm-similar -s getppid -c plumb-alph -d 0.1
	also traced comm-there -s getppid -c plumb-alpha -d 0.1
	go target
	detach comm-glob comm-globs comm-other-glob process
	detach no-filter pid-other pid-list tid-match tid-other comm-match comm-list comm-other \
		syscall-match syscall-other errors fd-match fd-other size-min size-max size-exact \
		size-other together apart syscall-but
}

# Where cgroup2 is, alone or beside version 1.
cgroup_mount() {
	awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts
}

filter_cgroups() {
	top=$(cgroup_mount)
	if [ -z "$top" ]; then
		echo "no cgroup2 file system is mounted" >cgroup.skip
		return
	fi
	cgroup=/plumb-truth-$$
	# The inner ones first: in this order they can be removed.
	# shellcheck disable=SC2034 # by what the run does at its end
	cgroups="$top$cgroup/in/deep $top$cgroup/in $top$cgroup/out $top$cgroup"
	mkdir -p "$top$cgroup/in/deep" "$top$cgroup/out" || return
	# shellcheck disable=SC2016 # the inner shell expands it
	start in sh -c 'echo $$ >"$0/cgroup.procs"; exec calls 1009 getppid' "$top$cgroup/in/deep"
	# shellcheck disable=SC2016
	start out sh -c 'echo $$ >"$0/cgroup.procs"; exec calls 1013 getppid' "$top$cgroup/out"
	traced cgroup-command -s getppid -b comm -g "$cgroup/out" -- \
		sh -c 'calls 23 getppid; echo $$ >"$0/cgroup.procs"; calls 29 getppid' "$top$cgroup/out"
	traced cgroup-outside -s getppid -g "$cgroup/out" -- calls 23 getppid
	attach cgroup-match -s getppid -g "$top$cgroup/in/deep"
	attach cgroup-subtree -s getppid -g "$top$cgroup/in"
	also attach cgroup-below-mount -s getppid -g "$cgroup/in"
	also attach cgroup-list -s getppid -g "$cgroup/in,$cgroup/out"
	attach cgroup-other -s getppid -g "$top$cgroup/out"
	also attach cgroup-root -s getppid -g "$top$cgroup"
	go in
	finish_cgroups='cgroup-match cgroup-subtree cgroup-below-mount cgroup-list cgroup-root'
	go out
	# shellcheck disable=SC2086 # words
	detach $finish_cgroups cgroup-other
}

# A command's descendants are traced; who is no descendant is not, whoever its twin.
filter_descendants() {
	start outsider calls 1013 getppid
	cat >fork-script <<-'END'
		calls 23 getppid
		(calls 1009 getppid; :) &
		wait
		: >outsider.gates/go
		until [ -e outsider.truth ]; do sleep 0.02; done
	END
	traced descendants -s getppid -b comm -- sh fork-script
	finish outsider "$(cat outsider.pid)"
}

# The descendants of a running process: those that it starts from now on.
filter_followed() {
	cat >follow-script <<-'END'
		until [ -e follow-go ]; do sleep 0.02; done
		calls 31 getppid
		(calls 1019 getppid; :) &
		wait
	END
	sh follow-script >follow.out &
	follower=$!
	attach followed -s getppid -b comm -p $follower --follow
	attach unfollowed -s getppid -b comm -p $follower
	attached
	: >follow-go
	wait $follower
	detach followed unfollowed
}

# Threads that come to be selected, and whose next call ends where they were rejected before.
filter_changes() {
	start named selects 29
	attach changes-comm -s read -c plumb-in
	go named
	detach changes-comm
	top=$(cgroup_mount)
	[ -n "$top" ] || return
	cgroup=$top/plumb-truth-changes-$$
	cgroups="$cgroups $cgroup/from $cgroup/to $cgroup"
	mkdir -p "$cgroup/from" "$cgroup/to" || return
	start moved selects 29 "$cgroup/from/cgroup.procs" "$cgroup/to/cgroup.procs"
	attach changes-cgroup -s read -g "$cgroup/to"
	go moved
	detach changes-cgroup
}

# Numbers that others get while they are traced.
filter_reused() {
	start reused reused
	read -r child thread <reused.out
	attach reused-pid -s getppid -b syscall -p "$child,$pid"
	attach reused-tid -s getppid -b syscall -t "$thread,$pid"
	attach reused-over -s getppid -b syscall -t "$thread"
	go reused
	sleep 0.2 &
	traced gone -s getppid -b syscall --start-at=+1s -d 9 -p $!
	await 20 has_ended_early reused-over && : >reused-over.early
	detach reused-pid reused-tid reused-over
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	quick=--no-calibrate
	filter_threads
	filter_cgroups
	filter_descendants
	filter_followed
	filter_changes
	filter_reused
}

# captures CLAIM TOOL CALLS - these rows and no other; CALLS is {syscall: count}
captures() {
	everything || [[ -e $2.status ]] || return 0
	evidence "$2.json" "$2.err"
	holds "$1" "$2.json" \
		'($last.rows | map({key: .key.syscall, value: .count}) | from_entries) == $calls
			and $last.ledger.recorded == ($calls | add // 0)' --argjson calls "$3"
	holds "... and nothing is lost or left over: $2" "$2.json" \
		'$last.ledger | .unmatched == 0 and .in_flight == 0 and .abandoned == 0 and .no_state == 0'
	sound "under the filter $2" "$2.json"
	is "... and it ends well: $2" "$(cat "$2.status")" 0
}

# The same for cgroups, whose rows are of two processes.
captures_in_cgroup() {
	evidence "$2.json" "$2.err"
	holds "$1" "$2.json" '($last.rows | map(.count) | sort) == $counts' --argjson counts "$3"
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	all='{"getppid": 2018, "close": 2018, "read": 4036, "write": 2018, "sendto": 2018}'
	half='{"getppid": 1009, "close": 1009, "read": 2018, "write": 1009, "sendto": 1009}'
	captures "without more filters both threads are captured" no-filter "$all"
	captures "-p of another process captures nothing" pid-other '{}'
	captures "-p of two captures the one that calls" pid-list "$all"
	captures "-t captures one thread" tid-match "$half"
	captures "-t of a thread that makes no such call captures nothing" tid-other '{}'
	captures "-c captures one name" comm-match "$half"
	captures "-c captures several names" comm-list "$all"
	captures "-c of a prefix captures nothing" comm-other '{}'
	captures "-c of a pattern captures the names that match" comm-glob "$half"
	captures "-c of patterns and an escaped name captures both" comm-globs "$all"
	captures "-c of patterns that match no name captures nothing" comm-other-glob '{}'
	holds "-b process names the main thread beside the thread" process.json \
		'($last.rows | map([.key, .count]) | sort) == [[{"comm": "plumb-alpha", "process": "calls"}, 1009],
			[{"comm": "plumb-beta", "process": "calls"}, 1009]]'
	evidence comm-similar.err comm-there.err
	like "a name that is hardly another's is hinted at" "$(cat comm-similar.err)" "did you mean 'plumb-alpha'"
	also is "one that is there is not" "$(grep -c 'did you mean' comm-there.err)" 0
	captures "-s captures one call" syscall-match '{"close": 2018}'
	evidence syscall-but.json syscall-but.err
	holds "-s '!' captures all calls but those, also others than the workload's" syscall-but.json \
		'($last.rows | map({key: .key.syscall, value: .count}) | from_entries) as $found
			| $found.getppid == 2018 and $found.read >= 4036 and $found.write >= 2018
			and ($found | has("close") or has("sendto") | not) and ($found | length) > 3'
	captures "-s of a call that nobody makes captures nothing" syscall-other '{}'
	captures "--errors captures failed calls only" errors '{"close": 2018, "sendto": 2018}'
	captures "--fd captures one file's calls" fd-match '{"read": 2018}'
	captures "--fd of a file that nobody uses captures nothing" fd-other '{}'
	captures "--min-size captures the large ones" size-min '{"read": 2018, "sendto": 2018}'
	captures "--max-size captures the small ones" size-max '{"read": 2018, "write": 2018}'
	captures "--min-size and --max-size include their value" size-exact '{"read": 2018}'
	captures "sizes between which nothing lies capture nothing" size-other '{}'
	captures "filters together capture what passes all" together '{"read": 1009}'
	captures "filters that exclude each other capture nothing" apart '{}'

	evidence no-filter.json comm-list.json
	holds "two tools at once count the same" no-filter.json \
		'($last.rows | map([.key, .count, .errors]) | sort)
			== ($other[0].rows | map([.key, .count, .errors]) | sort)' --slurpfile other comm-list.json

	if [ -e cgroup.skip ]; then
		skip "-g captures a cgroup" "$(cat cgroup.skip)"
	else
		captures_in_cgroup "-g captures a cgroup" cgroup-match '[1009]'
		captures_in_cgroup "-g captures what is below" cgroup-subtree '[1009]'
		also captures_in_cgroup "-g takes a path below the mount" cgroup-below-mount '[1009]'
		also captures_in_cgroup "-g takes several" cgroup-list '[1009, 1013]'
		captures_in_cgroup "-g of a sibling captures the sibling's" cgroup-other '[1013]'
		also captures_in_cgroup "-g of the parent captures both" cgroup-root '[1009, 1013]'
		evidence cgroup-command.json cgroup-command.err cgroup-outside.err
		holds "-g captures of a command what it does in the cgroup" cgroup-command.json \
			'($last.rows | map(select(.key.comm == "calls").count)) == [29]'
		like "... and what is outside is hinted at" "$(cat cgroup-outside.err)" '-g: calls starts in the tool'
		is "... not traced" "$(jq '.ledger.recorded' cgroup-outside.json)" 0
	fi

	evidence descendants.json descendants.err notes
	holds "a command's descendants are captured, and nobody else" descendants.json \
		'($last.rows | map(select(.key.comm == "calls").count)) == [1032]'
	holds "... and nobody is lost" descendants.json \
		'$last.ledger | .unmatched == 0 and .no_state == 0 and (.untracked // 0) == 0'

	evidence followed.json followed.err unfollowed.json unfollowed.err
	holds "what a process of --follow starts is captured" followed.json \
		'($last.rows | map(select(.key.comm == "calls").count)) == [1050] and $last.ledger.no_state == 0'
	holds "... and not without --follow" unfollowed.json '($last.rows | map(select(.key.comm == "calls"))) == []'

	captures "a process that has ended is not waited for" gone '{}'
	like "... and that it had is said" "$(cat gone.err)" 'the processes had exited when the trace began'

	if [ "$(cat reused.status)" = 77 ]; then
		skip "a number that is used again is not traced" "nobody may ask for a number"
	else
		captures "-p: who gets the number of a process that has ended is not traced" reused-pid '{"getppid": 2525}'
		captures "-t: who gets the number of a thread that has ended is not traced" reused-tid '{"getppid": 1516}'
		captures "a trace of threads" reused-over '{"getppid": 1013}'
		is "... ends with them" "$(ls reused-over.early)" reused-over.early
	fi

	if [ "$(cat named.status)" = 77 ]; then
		skip "a thread that comes to be selected is" "it takes two CPUs"
	else
		captures "a thread that comes to be selected by its name is" changes-comm '{"read": 29}'
		[ ! -e changes-cgroup.json ] ||
			captures "... and one that comes to be by its cgroup" changes-cgroup '{"read": 29}'
	fi
}
