# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# What a tool says that it costs is what the traced program pays: for a uprobe, by the instruction that it is on, which
# the kernel emulates or single-steps; for a switch; and what another process pays.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	quick=''
	start fires steps
	program=func-count attach fires -d 90 -p "$pid" "u:$(command -v steps):steps_*"
	go fires
	detach fires
	for how in emulated stepped; do
		start "$how" steps
		program=user-func-latency attach "$how" -p "$pid" "$(command -v steps):steps_$how"
		go "$how"
		detach "$how"
	done
	start switch steps
	# shellcheck disable=SC2034 # by what starts a tool
	program=offcpu-time attach switch -p "$pid"
	go switch
	detach switch
	start alone calls 5000 close-bad
	go alone
	start traced calls 1 close-bad
	program=syscall-latency attach rejected --mechanism=fentry -s close -p "$pid"
	start bystander calls 5000 close-bad
	go bystander
	go traced
	finish rejected "$tool"
}

# As the caller measures it in its fastest batch: within a factor of 2, or 3 if it was measured once, on a busy host.
near='def near($ns): .how == "disturbed" or (.traced_interval | .[1] > $ns / 2 and .[0] < $ns * 2);'
check() {
	evidence ./*.err ./*.truth
	holds "what a fire costs is that of the function's first instruction" fires.json '
		[$truth[0].calls[] | {(.function): .min}] | add as $own | ($last.rows | length) == 2 and all($last.rows[];
			$own[.key.func | sub(".*:"; "")] as $ns | .cost.uprobe.ns | . > $ns / 3 and . < $ns * 3)' --slurpfile truth fires.truth
	for how in emulated stepped; do
		holds "... what a call costs, too: $how" "$how.json" "$near
			[\$truth[0].calls[] | {(.function): .min}] | add | .steps_$how as \$ns
			| \$last.overhead_ns | near(\$ns)" --slurpfile truth "$how.truth"
	done
	holds "a stepped one costs more" fires.json '
		[$last.rows[] | {(.key.func | sub(".*:"; "")): .cost.uprobe.ns}] | add | .steps_stepped > .steps_emulated'
	holds "what an empty function is measured as is told of each kind" stepped.json \
		'$last.overhead_ns | .empty > 0 and .empty_stepped > .empty'
	# The others ran without it.
	holds "what a switch costs" switch.json "$near"'
		def of($t): [$t[0].calls[] | select(.function == "switch").min][0];
		(of($truth) - of($without)) as $ns | $last.overhead_ns | near($ns)' \
		--slurpfile truth switch.truth --slurpfile without stepped.truth
	evidence rejected.err notes
	if [ "$(cat rejected.status)" = 77 ]; then
		like "fentry is refused with a reason" "$(cat rejected.err)" "fentry refused: ...."
		return
	fi
	holds "what a call costs that no filter matches, on the function of the call" rejected.json '
		([$with[0].calls[0].min, $without[0].calls[0].min] | .[0] - .[1]) as $ns | $last.overhead_ns
		| .how == "disturbed" or (.filtered_interval | .[1] > $ns / 2 and .[0] < $ns * 2)' \
		--slurpfile with bystander.truth --slurpfile without alone.truth
}
