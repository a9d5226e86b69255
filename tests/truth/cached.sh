# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# cache-hit: pages that were in memory before each call, and those that were not, as mincore and cachestat
# say; which of those that were read ahead are used.

# shellcheck source=lib/cached.sh
. "$truth/lib/cached.sh"

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=cache-hit quick=--no-calibrate
	start one cached 1
	attach by-kind -p "$pid" -b comm
	attach by-file -p "$pid" -b fd
	attach random -c k-random -b comm
	attached
	open_gate one go
	await 60 [ -e one.gates/done ]
	detach by-kind by-file random
	open_gate one end
	finish one "$pid"
	start eight cached 8
	attach by-thread -p "$pid" -b comm,tid
	attached
	open_gate eight go
	await 120 [ -e eight.gates/done ]
	detach by-thread
	open_gate eight end
	finish eight "$pid"
	start held cached held
	attach stuck -p "$pid"
	attached
	open_gate held go
	await 20 [ -e held.gates/done ]
	sleep 0.2
	detach stuck
	open_gate held leave
	finish held "$pid"
	traced none -d 0.3 -c no-such-name
}

check() {
	if [[ $(cat none.status) == 77 || $(cat one.status) == 77 ]]; then
		skip "the page cache" "$(cat none.err one.err)"
		return
	fi
	same "calls of each kind" by-kind.json one.truth
	same "8 threads" by-thread.json eight.truth
	# Or else nothing is shown.
	claim "some were used, some removed, some left" jq -e '.calls | map(.unused) as $u | ($u | add) > 100 and (map(.pending) | add) > 0
		and (map(.ahead) | add) > 1.2 * ($u | add)' one.truth
	holds "pages that page faults add are counted apart" by-thread.json '
		([$truth[0].calls[] | select(.comm == "k-mapped").mapped] | add) as $n | $n > 1000 and $last.added_elsewhere >= $n and $last.added_elsewhere < $n + 99' --slurpfile truth eight.truth
	evidence by-file.json by-file.err one.truth
	holds "all are of one file" by-file.json '[$last.rows[] | select(.key.fd | test("cached-0.data"))] | length == 1 and (.[0]
		| .count == ($truth[0].calls | map(.count) | add) and .hits == ($truth[0].calls | map(.hits) | add))' --slurpfile truth one.truth
	evidence random.json random.err
	holds "-c: only these" random.json '$last.rows | map(.key) == [{"comm": "k-random"}]'
	if [[ $(cat held.status) == 77 ]]; then
		skip "a call in flight is listed" "$(cat held.err)"
	else
		evidence stuck.json stuck.err
		holds "a call in flight is listed, with its thread and its age" stuck.json '$last.in_flight | length == 1 and (.[0]
			| .pid == $pid and .syscall == "pread64" and .age_ns > 1e8 and .age_ns < 1e11)' --argjson pid "$(cat held.pid)"
	fi
	holds "no name, no rows" none.json '$last.rows == []'
}
