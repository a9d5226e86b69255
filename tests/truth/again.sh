# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# stack-again.bpf.h: a stack that is recognised is what the kernel's own walk says, at each switch.

run() {
	# shellcheck disable=SC2034 # by launch
	program=stack-twice
	launch twice
	await 30 is_tracing twice
	if is_over "$tool"; then
		finish twice "$tool"
		[ "$(cat twice.status)" != 77 ] || mv twice.err twice.skip
		return
	fi
	start sleeps sleeps 6000
	# shellcheck disable=SC2034 # by attach
	program=offcpu-time quick=--no-calibrate
	attach audit -b comm -p "$pid"
	go sleeps
	detach twice audit
}

check() {
	if [ -e twice.skip ]; then
		skip "what is recognised is what it is taken for" "$(cat twice.skip)"
		return
	fi
	evidence twice.json twice.err sleeps.err sleeps.out
	is "sleeps: sleeps" "$(cat sleeps.status)" 0
	holds "what is recognised is what it is taken for" twice.json '$last.mistaken == 0 and $last.walked > 2000'
	# On 6.1 polling and vectored reads are not, being of frames that are aligned.
	holds "much is recognised" twice.json '$last.recognised > $last.walked / 4'
	evidence audit.json audit.err
	holds "offcpu-time looks at those that it recognises, and none is another" audit.json \
		'$last.recognised | .audited > 10 and .others == 0'
}
