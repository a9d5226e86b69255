# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# cache-hit: pages that were in memory before each call, and those that were not, as mincore and cachestat
# say; which of those that were read ahead are used.

# shellcheck source=lib/cached.sh
. "$truth/lib/cached.sh"

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=cache-hit quick=--no-calibrate
	make_disk
	start one there cached 1
	if has_ended_early one; then # before 6.5 nothing else counts pages
		finish one "$pid"
		remove_disk
		traced none -d 0.3 -c no-such-name
		return
	fi
	attach by-kind --faults -p "$pid" -b comm,syscall,fd
	attach by-file --faults -p "$pid" -b fd,syscall -c 'k-*'
	attach random -c k-random -b comm
	attach without -c k-faulted,k-touch -b syscall
	attached
	open_gate one go
	await 60 [ -e one.gates/done ]
	detach by-kind by-file random without
	open_gate one end
	finish one "$pid"
	start eight there cached 8
	attach by-thread --faults -p "$pid" -b comm,tid,syscall,fd
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
	remove_disk
	load loop
	dd if=/dev/zero of=backing bs=1M count=1 2>dd.out
	if losetup -f --show "$PWD/backing" >device 2>losetup.out; then
		traced device --faults -b syscall,fd -- cached device "$(cat device)"
		losetup -d "$(cat device)"
	fi
	traced again --max-keys=1024 -b fd -- cached again
	mkdir shm
	# Its faults are of a file on tmpfs; without arguments it prints its usage and ends.
	traced tmpfs --faults -b comm,syscall,fd -- unshare -m sh -c 'mount -t tmpfs none "$0" && cp "$1" "$0/on-tmpfs" &&
		for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23; do "$0/on-tmpfs" 2>/dev/null || :; done' "$PWD/shm" "$(command -v cached)"
	traced none -d 0.3 -c no-such-name
	launch footer --faults -d 0.3 -c no-such-name
	finish footer "$tool"
}

check() {
	if [[ $(cat none.status) == 77 || $(cat one.status) == 77 ]]; then
		skip "the page cache" "$(cat none.err one.err)"
		return
	fi
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	same "calls of each kind" by-kind.json one.truth
	# On 7.x a program is skipped where a thread lost its CPU in another one.
	if jq -e '.kernel[:2] == "7." and .ledger.missed > 0' by-thread.json >missed; then
		evidence by-thread.json by-thread.err eight.truth
		holds "8 threads: no more calls are missing than the ledger says" by-thread.json "
			[\$truth[0].calls[] | . as \$t | \$t.count - ([\$last.rows[] | ${of_kind}.count] | add)] | all(. >= 0) and add <= \$last.ledger.lost" \
			--slurpfile truth eight.truth
	else
		same "8 threads" by-thread.json eight.truth
		holds "pages that page faults add are misses, or read ahead" by-thread.json '
			([$truth[0].calls[] | select(.comm == "k-mapped").mapped] | add) as $n | $n > 1000
			and ([$last.rows[] | select(.key.comm == "k-touch" and .key.syscall == "page-fault" and (.key.fd | test("cached-"))) | .misses + .ahead] | add) == $n' --slurpfile truth eight.truth
	fi
	# Or else nothing is shown.
	claim "some were used, some removed, some left" jq -e '.calls | map(.unused) as $u | ($u | add) > 100 and (map(.pending) | add) > 0
		and (map(.ahead) | add) > 1.2 * ($u | add)' one.truth
	evidence by-kind.json
	holds "a copy is a call on each of its files" by-kind.json '[$last.rows[] | select(.key.comm == "k-copy" and .key.syscall == "copy_file_range")
		| {(.key.fd | capture("(?<f>copy|cached)-0").f): .count}] | add == {copy: 53, cached: 53}'
	evidence by-file.json by-file.err one.truth
	holds "all are of one file" by-file.json '[$last.rows[] | select(.key.fd | test("cached-0.data"))] | (map(.key.fd) | unique | length) == 1
		and (map(select(.key.syscall == "page-fault").hits) | add) > 100
		and (map(select(.key.syscall != "page-fault" and .key.syscall != "copy_file_range").count) | add)
			== ($truth[0].calls | map(select(.comm != "k-copy" and .comm != "k-faulted").count) | add)' --slurpfile truth one.truth
	evidence random.json random.err
	holds "-c: only these" random.json '$last.rows | map(.key) == [{"comm": "k-random"}]'
	if [[ $(cat held.status) == 77 ]]; then
		skip "a call in flight is listed" "$(cat held.err)"
	else
		evidence stuck.json stuck.err
		holds "a call in flight is listed, with its thread and its age" stuck.json '$last.in_flight | length == 1 and (.[0]
			| .pid == $pid and .syscall == "pread64" and .age_ns > 1e8 and .age_ns < 1e11)' --argjson pid "$(cat held.pid)"
	fi
	holds "without --faults, pages that page faults add are counted below" without.json 'all($last.rows[]; .key.syscall != "page-fault")
		and ($truth[0].calls | map(.mapped) | max) as $n | $last.added_elsewhere >= $n' --slurpfile truth one.truth
	if [ -e device.json ]; then
		evidence device.json device.err
		holds "page faults and reads of a block device are of its file" device.json '[$last.rows[] | select(.key.fd == $device)
			| {(.key.syscall): .count}] | add == {"page-fault": 23, pread64: 11}' --arg device "$(cat device)"
	fi
	evidence again.json again.err
	holds "a file in the memory of one that was closed is another file" again.json '
		[$last.rows[] | select(.key.fd // "" | test("again-[0-9]+$")) | .count] | length == 211 and all(.[]; . == 1)'
	evidence tmpfs.json tmpfs.err
	holds "page faults of files of tmpfs are in no row, those that the kernel reports are counted" tmpfs.json '$last.tmpfs_faults >= 23
		and all($last.rows[]; .key.syscall != "page-fault" or (.key.fd | test("on-tmpfs") | not))'
	claim "... and the footer says so" grep -q 'page faults of files of tmpfs are in no row: .*, 0 here' footer.json
	holds "no name, no rows" none.json '$last.rows == []'
}
