# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# What a uprobe costs depends on the instruction that it is on: the kernel emulates it, or single-steps it.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	quick='' program=user-func-latency
	start steps steps
	program=func-count attach count -d 90 -p "$pid" "u:$(command -v steps):steps_*"
	go steps
	detach count
	for how in emulated stepped; do
		start "$how" steps
		attach "$how" -p "$pid" "$(command -v steps):steps_$how"
		go "$how"
		detach "$how"
	done
}

# What the caller measures in its fastest batch is what the tool measured: within a factor of 2, on a busy host.
check() {
	evidence ./*.err ./*.truth
	holds "what a fire costs is that of the function's first instruction" count.json '
		[$truth[0].calls[] | {(.function): .min}] | add as $own | ($last.rows | length) == 2 and all($last.rows[];
			$own[.key.func | sub(".*:"; "")] as $ns | .cost.uprobe.ns | . > $ns / 2 and . < $ns * 2)' --slurpfile truth steps.truth
	for how in emulated stepped; do
		holds "... what a call costs, too: $how" "$how.json" "
			[\$truth[0].calls[] | {(.function): .min}] | add | .steps_$how as \$ns
			| \$last.overhead_ns.traced | . > \$ns / 2 and . < \$ns * 2" --slurpfile truth "$how.truth"
	done
	holds "a stepped one costs more" count.json '
		[$last.rows[] | {(.key.func | sub(".*:"; "")): .cost.uprobe.ns}] | add | .steps_stepped > .steps_emulated'
	holds "what an empty function is measured as is told of each kind" stepped.json \
		'$last.overhead_ns | .empty > 0 and .empty_stepped > .empty'
}
