# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# user-func-latency: a process under seccomp, which return probes of some kernels (6.11 to 6.13) end.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=user-func-latency quick=--no-calibrate
	start sandbox sandboxed 1009
	attach sandbox-leaf -p "$pid" "$(command -v sandboxed):sandboxed_leaf"
	go sandbox
	detach sandbox-leaf
	# What the kernel itself does, with its return probe all the same.
	start victim sandboxed 1009
	attach victim-leaf --mechanism=uprobe -p "$pid" "$(command -v sandboxed):sandboxed_leaf"
	go victim
	detach victim-leaf
}

check() {
	evidence sandbox-leaf.json sandbox-leaf.err sandbox.err notes
	is "a process under seccomp lives on while it is traced" "$(cat sandbox.status)" 0
	holds "... and all of its calls are timed" sandbox-leaf.json \
		'($last.rows | map(.count)) == [1009] and $last.ledger.abandoned == 0 and $last.ledger.in_flight == 0'
	# By what the kernel does to the other process, not by its version: 6.12.117 has been repaired.
	if [[ $(cat victim.status) == 0 ]]; then
		holds "... by return probes, which do not end it on this kernel" sandbox-leaf.json \
			'$last.mechanism.name | endswith(".returns") | not'
	else
		holds "... by probes on return instructions, since return probes end it on this kernel" sandbox-leaf.json \
			'$last.mechanism.name | endswith(".returns")'
	fi
}
