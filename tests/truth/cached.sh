# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# cache-hit: pages that were in memory before each call, and those that were not, as mincore and cachestat
# say; which of those that were read ahead are used; files of overlayfs and tmpfs.

# shellcheck source=lib/disks.sh
. "$truth/lib/disks.sh"

# An emulated machine has no disk.
folder=.
make_disk() {
	[ -e /modules/null_blk.ko ] || return
	load configfs
	load null_blk nr_devices=0
	load overlay
	mount -t configfs none /sys/kernel/config 2>/dev/null
	n_disks=0
	mkdir mounted
	null_blk memory 0 64 size=128 memory_backed=1 && mke2fs "/dev/$disk" >mke2fs.out 2>&1 &&
		mount -t ext4 "/dev/$disk" mounted && folder=mounted
}

# there COMMAND... - in the folder of files that are not in memory only
# shellcheck disable=SC2317 # start calls it
there() {
	cd "$folder" && exec "$@"
}

# Calls on overlayfs; before 5.11 the kernel gives no types of a module.
types() {
	mkdir "$folder/below" "$folder/beside" stacked
	dd if=/dev/zero of="$folder/below/data" bs=65536 count=16 2>/dev/null
	mount -t overlay overlay -o "lowerdir=$folder/below:$folder/beside" stacked &&
		traced types -b fd -- dd if=stacked/data of=/dev/null bs=65536
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=cache-hit quick=--no-calibrate
	make_disk
	[ ! -e /modules/overlay.ko ] || types
	start backings there backings
	attach otherwise -p "$pid" -b comm
	attached
	open_gate backings go
	await 60 [ -e backings.gates/done ]
	detach otherwise
	open_gate backings end
	finish backings "$pid"
	start one there cached 1
	attach by-kind -p "$pid" -b comm
	attach by-file -p "$pid" -b fd
	attach random -c k-random -b comm
	attached
	open_gate one go
	await 60 [ -e one.gates/done ]
	detach by-kind by-file random
	open_gate one end
	finish one "$pid"
	start eight there cached 8
	attach by-thread -p "$pid" -b comm,tid
	attached
	open_gate eight go
	await 120 [ -e eight.gates/done ]
	detach by-thread
	open_gate eight end
	finish eight "$pid"
	start held there cached held
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

# same WHAT FILE TRUTH KEY - each row of the workload's: as many calls, errors, hits, misses and pages read ahead
same() {
	evidence "$2" "${2%.json}.err" "$3"
	local figure
	for figure in count errors hits misses ahead unused pending; do
		holds "$1: $figure, as the kernel says" "$2" 'all($truth[0].calls[]; . as $t | [$last.rows[] | select(.key.comm == $t.comm and (.key.tid // $t.tid) == $t.tid)[$figure]] == [$t[$figure]])' \
			--slurpfile truth "$3" --arg figure "$figure"
	done
	sound "of $1" "$2"
}

check() {
	if [[ -e types.json ]]; then
		evidence types.json types.err
		holds "overlayfs: pages, or how many calls are not seen" types.json '[$last.rows[] | select(.key.fd | endswith("/stacked/data"))] | length == 1 and (.[0]
			| .count == 17 and ([.hits + .misses, $last.unseen] == if $last.kernel | startswith("5.10.") then [0, 16] else [256, 0] end))'
	fi
	if [[ $(cat backings.status) == 77 ]]; then
		skip "overlayfs, tmpfs, calls that fail" "$(cat backings.err)"
	else
		same "overlayfs, tmpfs, calls that fail" otherwise.json backings.truth
		claim "all are shown" jq -e 'all(.calls[]; .count > 0) and (.calls | map({(.comm): .}) | add | .["k-lower"].hits > 99
			and .["k-new"].misses == 700 and .["k-again"].hits == 700 and .["k-holes"].hits == 500 and .["k-fault"].unused > 0
			and .["k-fault"].pending > 0 and .["k-uncached"].count > 0)' backings.truth
	fi
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
