# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# What groups about the page cache share.

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
