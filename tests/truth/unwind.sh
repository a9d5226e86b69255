# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# User stacks of programs without frame pointers, by their unwind tables: known callers, as the debugger's walk has them.

kinds='plain variable aligned callback signal thread deep'

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=cpu-profile quick=--no-calibrate

	for kind in $kinds; do
		start "$kind" unwound "$kind" 400
		attach "of-$kind" -F 499 -p "$pid" -b comm
		go "$kind"
		detach "of-$kind"
	done

	# It executes, and maps its libraries, while the trace runs.
	case $(uname -r) in *cloud*) return ;; esac # busybox's own has no table for all of it
	if command -v sort >/dev/null; then
		seq 600000 -1 1 >numbers
		traced command -F 499 -b comm -- sort -n numbers -o sorted
	fi
}

# walked KIND CALLER... - at least 99 of 100 samples in compute_known() are below these, up to the program's start
walked() {
	kind=$1
	shift
	evidence "of-$kind.json" "of-$kind.err"
	holds "$kind: compute_known() is below $*, to the start of the program or thread" "of-$kind.json" '
		[$last.rows[] | select(any(.stack[]; .frame == "compute_known"))
			| {count, frames: [.stack[] | select(.kernel | not).frame]}] as $all
		| def such: .frames[(.frames | index("compute_known")) + 1:] as $f | ($callers | split(" ")) as $c
			| $f[:$c | length] == $c and ($f[-1] | test("^(_start|__clone|clone|__clone3|clone3|thread_start)$"));
		($all | map(.count) | add) as $n | ($all | map(select(such).count) | add) as $right
		| $n >= 100 and $right >= 0.99 * $n' --arg callers "$*"
}

check() {
	walked plain call_plain begin_known main
	walked variable call_plain call_variable begin_known main
	walked aligned call_plain call_aligned begin_known main
	walked callback call_plain compare
	walked signal call_plain handle __restore_rt
	walked thread call_plain call_thread start_thread
	walked deep $(yes call_deep | head -60) begin_known main
	evidence command.json command.err
	if [ -e command.json ]; then
		holds "who executes a program while it is traced is walked to its start" command.json '
			[$last.rows[] | select(.key.comm == "sort") | {count, frames: [.stack[] | select(.kernel | not).frame]}
				| select(.frames | length > 0)] as $all
			| ($all | map(.count) | add) as $n
			| ($all | map(select((.frames | length > 2) and (.frames[-1] | test("^sort\\+|^_start$|^clone3?$"))).count) | add) as $right
			| $n >= 20 and $right >= 0.8 * $n'
	fi
}
