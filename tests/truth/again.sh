# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# again.bpf.h: a stack that is recognised is what the kernel's own walk says, at each switch.

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
	go sleeps
	detach twice
}

check() {
	if [ -e twice.skip ]; then
		skip "what is recognised is what it is taken for" "$(cat twice.skip)"
		return
	fi
	evidence twice.json twice.err sleeps.err sleeps.out
	is "sleeps: sleeps" "$(cat sleeps.status)" 0
	holds "what is recognised is what it is taken for" twice.json '$last.mistaken == 0 and $last.walked > 500'
	holds "much is recognised" twice.json '$last.recognised > $last.walked / 4'
}
