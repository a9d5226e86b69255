# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# What -b groups by, and what happens when there are more keys than room.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	quick=--no-calibrate
	start target calls -t 2 -n plumb-alpha,plumb-beta 1009 getppid close-bad
	awk -F: '$1 == 0 { print $3 }' "/proc/$pid/cgroup" >cgroup
	tid_of "$pid" plumb-alpha >alpha.tid
	tid_of "$pid" plumb-beta >beta.tid
	for key in pid tid comm cgroup cpu syscall errno; do
		attach "by-$key" -s getppid,close -p "$pid" -b "$key" --max-keys=64
	done
	attach by-all -s getppid,close -p "$pid" -b pid,tid,comm,cgroup,syscall,errno --max-keys=64
	attach by-default-named -s getppid,close -p "$pid" --max-keys=64
	attach by-default -p "$pid" --max-keys=64
	go target
	detach by-pid by-tid by-comm by-cgroup by-cpu by-syscall by-errno by-all by-default-named by-default

	# 97 names, one call each; and 20 threads that race for 7 places.
	start names renamer 'name-%d:97'
	attach names-16 -s getppid -p "$pid" -b comm --max-keys=16
	attach names-1 -s getppid -p "$pid" -b comm --max-keys=1
	attach names-97 -s getppid -p "$pid" -b comm --max-keys=97
	go names
	detach names-16 names-1 names-97
	traced race-7 -s getppid -b tid --max-keys=7 -- calls -t 20 1009 getppid

	# A name that a thread takes up again is the same key.
	start again renamer alpha:23 beta:1009 alpha:7 'a"b\c:5' ':-) :3'
	attach names-again -s getppid -p "$pid" -b comm
	go again
	detach names-again
}

# grouped CLAIM TOOL [[KEY, COUNT], ...]
grouped() {
	evidence "$2.json" "$2.err" target.truth
	holds "$1" "$2.json" '($last.rows | map([.key, .count]) | sort) == ($rows | sort)' --argjson rows "$3"
	sound "by $2" "$2.json"
}

# pools TOOL KEYS TOTAL - KEYS named rows and [other]; together TOTAL
pools() {
	evidence "$1.json" "$1.err"
	holds "$1: all $2 places are taken" "$1.json" \
		'$last.rows | map(select(.key.other != true)) | length == $n' --argjson n "$2"
	holds "$1: what has no place is in [other], and the ledger says how much" "$1.json" \
		'($last.rows | map(select(.key.other == true).count) | add // 0) == $last.ledger.pooled'
	holds "$1: nothing is lost" "$1.json" \
		'($last.rows | map(.count) | add) == $n and $last.ledger.recorded == $n' --argjson n "$3"
	sound "of $1" "$1.json"
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	pid=$(cat target.pid) a=$(cat alpha.tid) b=$(cat beta.tid) cgroup=$(cat cgroup)
	grouped "-b pid" by-pid "[[{\"pid\": $pid}, 4036]]"
	grouped "-b tid" by-tid "[[{\"tid\": $a}, 2018], [{\"tid\": $b}, 2018]]"
	grouped "-b comm" by-comm '[[{"comm": "plumb-alpha"}, 2018], [{"comm": "plumb-beta"}, 2018]]'
	grouped "-b cgroup" by-cgroup "[[{\"cgroup\": \"$cgroup\"}, 4036]]"
	grouped "-b syscall" by-syscall '[[{"syscall": "getppid"}, 2018], [{"syscall": "close"}, 2018]]'
	evidence by-cpu.json by-cpu.err
	holds "-b cpu: numbers, and together all calls" by-cpu.json \
		'all($last.rows[]; .key | keys == ["cpu"] and (.cpu | type == "number" and . >= 0 and . < 4096))
			and ($last.rows | map(.count) | add) == 4036'
	evidence by-errno.json by-errno.err
	holds "-b errno: failed calls by name, apart from the others" by-errno.json \
		'($last.rows | length == 2 and all(.[]; .count == 2018 and (.key | keys == ["errno"])))
			and ($last.rows | map(select(.key.errno == "EBADF")) | length == 1 and .[0].errors == 2018)
			and ($last.rows | map(select(.key.errno != "EBADF")) | .[0].errors == 0)'
	evidence by-all.json by-all.err
	holds "-b of all keys: each call has its own row" by-all.json \
		'($last.rows | map([.key.pid, .key.tid, .key.comm, .key.cgroup, .key.syscall, .count, .errors]) | sort)
			== ([[$p, $a, "plumb-alpha", $c, "getppid", 1009, 0], [$p, $a, "plumb-alpha", $c, "close", 1009, 1009],
			     [$p, $b, "plumb-beta", $c, "getppid", 1009, 0], [$p, $b, "plumb-beta", $c, "close", 1009, 1009]]
			    | sort)' --argjson p "$pid" --argjson a "$a" --argjson b "$b" --arg c "$cgroup"
	grouped "without -b, calls that -s names are told apart" by-default-named \
		"[[{\"pid\": $pid, \"comm\": \"plumb-alpha\", \"syscall\": \"getppid\"}, 1009],
		  [{\"pid\": $pid, \"comm\": \"plumb-alpha\", \"syscall\": \"close\"}, 1009],
		  [{\"pid\": $pid, \"comm\": \"plumb-beta\", \"syscall\": \"getppid\"}, 1009],
		  [{\"pid\": $pid, \"comm\": \"plumb-beta\", \"syscall\": \"close\"}, 1009]]"
	evidence by-default.json by-default.err
	holds "without -b, rows are of pid, comm and call" by-default.json \
		'($last.rows | length >= 2) and all($last.rows[]; .key | keys == ["comm", "pid", "syscall"])'

	pools names-16 16 97
	pools names-1 1 97
	pools names-97 97 97
	pools race-7 7 20180
	evidence names-97.json
	holds "as many names as places leave nothing for [other]" names-97.json \
		'$last.ledger.pooled == 0 and all($last.rows[]; .key.other != true and .count == 1)'
	evidence race-7.json race-7.err race-7.truth
	holds "who has a place has all its calls there, but for those of a lost race" race-7.json \
		'[$last.rows[] | select(.key.other != true) | .count] | all(.[]; . <= 1009 and . >= 1000)'

	evidence names-again.json names-again.err
	holds "a name that is taken up again is the same row; odd names are kept" names-again.json \
		'($last.rows | map([.key.comm, .count]) | sort)
			== ([["alpha", 30], ["beta", 1009], ["a\"b\\\\c", 5], [":-)\\x20", 3]] | sort)'
}
