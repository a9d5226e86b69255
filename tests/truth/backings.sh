# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# cache-hit: files of overlayfs and tmpfs, calls that fail or that leave nothing in the page cache, as cachestat says.

# shellcheck source=lib/cached.sh
. "$truth/lib/cached.sh"

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
	load overlay
	[ ! -e /modules/overlay.ko ] || types
	start backings there backings
	if [ ! -e backings.gates/ready ]; then
		finish backings "$pid"
		return
	fi
	attach otherwise -p "$pid" -b comm,syscall
	attached
	open_gate backings go
	await 60 [ -e backings.gates/done ]
	detach otherwise
	open_gate backings end
	finish backings "$pid"
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
}
