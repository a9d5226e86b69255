# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# What groups about the page cache share.

# Rows of a kind of the workload's, $t: those of page faults are of one kind only, as there are some of libraries in others.
# shellcheck disable=SC2016 # of jq
of_kind='select(.key.comm == $t.comm and (.key.tid // $t.tid) == $t.tid
	and if $t.comm == "k-faulted" then .key.syscall == "page-fault" and (.key.fd | test("cached-.*data")) else .key.syscall != "page-fault" end)'

# Pages near that of a page fault count as used, also those that it cannot map as they are still being read.
# shellcheck disable=SC2016
nearly='if $figure == "unused" and ($t.comm | IN("k-splice", "k-copy", "k-faulted")) then . <= $t[$figure] and . >= $t[$figure] * 0.98 - 1 else . == $t[$figure] end'

# same WHAT FILE TRUTH KEY - each row of the workload's: as many calls, errors, hits, misses and pages read ahead
same() {
	evidence "$2" "${2%.json}.err" "$3"
	local figure
	for figure in count errors hits misses ahead unused pending; do
		holds "$1: $figure, as the kernel says" "$2" "all(\$truth[0].calls[]; . as \$t | [\$last.rows[] | $of_kind[\$figure]] | add | $nearly)" \
			--slurpfile truth "$3" --arg figure "$figure"
	done
	sound "of $1" "$2"
}
