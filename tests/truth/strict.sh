# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# --strict: its own exit status where calls were lost, and only there.

# More threads than CPUs: where a raw tracepoint's programs can be preempted (7.x), calls are lost.
run() {
	for limit in strict strict=100; do
		syscall-latency -j --no-calibrate --mechanism=raw_tracepoint --$limit -s getppid -- \
			calls -t 8 25013 getppid >$limit.out 2>$limit.err
		echo $? >$limit.status
		grep plumb/2 $limit.out >$limit.json
	done
}

check() {
	evidence strict.json strict.err
	holds "all calls are recorded or lost" strict.json \
		'$last.ledger | .recorded <= 200104 and .recorded + (.missed // 0) >= 200104'
	# A program that was missed need not be one of these calls'.
	lost=$(jq '.ledger | .recorded < 200104 or (.lost // .lost_at_least // 0) > 0' strict.json)
	is "--strict exits 3 where calls were lost, else 0 (lost: $lost)" "$(cat strict.status)" \
		"$([ "$lost" = true ] && echo 3 || echo 0)"
	if [ "$lost" = true ]; then
		like "and says how many" "$(cat strict.err)" '--strict: (up to )?[0-9]+ calls were lost'
	fi
	is "--strict=100 lets all pass" "$(cat strict=100.status)" 0
}
