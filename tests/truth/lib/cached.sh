# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# What groups about the page cache share.

# shellcheck source=disks.sh
. "$truth/lib/disks.sh"

# An emulated machine has no disk. Of blocks smaller than a page a page can be known in part, which mincore(2) does not show.
folder=.
make_disk() {
	[ -e /modules/null_blk.ko ] || return
	load configfs
	load null_blk nr_devices=0
	mount -t configfs none /sys/kernel/config 2>/dev/null
	n_disks=0
	mkdir mounted
	null_blk memory 0 64 size=256 memory_backed=1 && mke2fs -b 4096 "/dev/$disk" >mke2fs.out 2>&1 &&
		mount -t ext4 "/dev/$disk" mounted && folder=mounted
}

remove_disk() {
	[ "$folder" = . ] || umount mounted
	[ ! -e /modules/null_blk.ko ] || rmdir "/sys/kernel/config/nullb/$disk"
}

# there COMMAND... - in the folder of files that are not in memory only
# shellcheck disable=SC2317 # start calls it
there() {
	cd "$folder" && exec "$@"
}

# Rows of a kind of the workload's, $t: those of page faults are of one kind only, as there are some of libraries in others.
of_kind='select(.key.comm == $t.comm and (.key.tid // $t.tid) == $t.tid
	and if $t.comm == "k-faulted" then .key.syscall == "page-fault" and (.key.fd | test("cached-.*data")) else .key.syscall != "page-fault" end)'

# What RWF_DONTCACHE adds and removes in one call, nobody finds afterwards (7.x).
# Pages near that of a page fault count as used, also those that it cannot map as they are still being read.
nearly='if $figure == "unused" and ($t.comm | IN("k-splice", "k-copy", "k-faulted"))
		then . <= $t[$figure] and . >= $t[$figure] * (if $t.comm == "k-faulted" then 0.9 else 0.97 end) - 1
	elif $figure == "ahead" and $t.comm == "k-uncached" then . >= $t[$figure] else . == $t[$figure] end'

# same WHAT FILE TRUTH KEY - each row of the workload's: as many calls, errors, hits, misses and pages read ahead
same() {
	evidence "$2" "${2%.json}.err" "$3"
	local figure
	for figure in count errors hits misses ahead unused pending; do
		holds "$1: $figure, as the kernel says" "$2" "all(\$truth[0].calls[]; . as \$t | [\$last.rows[] | ${of_kind}[\$figure]] | add | $nearly)" \
			--slurpfile truth "$3" --arg figure "$figure"
	done
	sound "of $1" "$2"
}
