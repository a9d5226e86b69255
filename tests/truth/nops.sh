# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Probes at long nops, which some kernels replace by a call: it may overwrite what the function keeps below the stack
# pointer, or end children of the process.  The workload counts what is damaged.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=func-count quick=--no-calibrate
	nops=$(command -v nops)
	entries=
	[ "$(uname -m)" != x86_64 ] || entries="u:$nops:nops_entry u:$nops:nops_landing u:$nops:nops_long u:$nops:nops_loop"
	for target in "u:$nops:nops_leaf" "u:$nops:nops_leaf+5" "usdt:$nops:app:leaf" $entries; do
		launch "${target##*:}" -j -v "$target" -- nops
		finish "${target##*:}" "$tool"
	done
	[ "$entries" ] || return 0
	program=user-func-latency
	launch timed -j "$nops:nops_entry" "$nops:nops_landing" "$nops:nops_long" -- nops
	finish timed "$tool"
}

check() {
	for name in nops_leaf nops_leaf+5 leaf nops_entry nops_landing nops_long nops_loop; do
		[[ -e $name.status ]] || continue # arm64
		evidence "$name.json" "$name.err"
		if [[ $name =~ \+|^leaf|loop && $(cat "$name.status") == 1 ]]; then
			like "$name: refused, since the probe would damage the program" "$(cat "$name.err")" \
				'at this nop the kernel.s probe overwrites'
			continue
		fi
		calls=2018
		[[ $name =~ leaf ]] && calls=1009
		holds "$name: its calls" "$name.json" "(\$last.rows | map(.count)) == [$calls]"
		like "... none of which is damaged" "$(cat "$name.err")" 'damaged 0'
	done
	[[ -e timed.status ]] || return
	holds "functions that begin with nops, timed" timed.json '($last.rows | map(.count)) == [2018, 2018, 2018]'
	like "... none of which is damaged" "$(cat timed.err)" 'damaged 0'
	is "a nop that the kernel replaces by a call is said to be one" "$(grep -c 'this kernel replaces by a call' nops_long.err)" \
		"$(sed -n 's/^replaced //p' nops_long.err)"
}
