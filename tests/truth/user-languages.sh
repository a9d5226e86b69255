# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# user-func-latency: functions of Rust, of musl and of Python's interpreter.

run_rust() {
	file=$(command -v rustfuncs) || { echo "no compiler of Rust" >rust.skip; return; }
	start rust rustfuncs 8
	attach_each rust -b func -p "$pid" "$file:rustfuncs::panics" "$file:rustfuncs::between" "$file:rustfuncs::sleeps" \
		"$file:*Shape>::area" "$file:rustfuncs::generic"
	attach rust-area -b arg:0,tid -p "$pid" "$file:<rustfuncs::Square as rustfuncs::Shape>::area"
	attach rust-ret -b ret -p "$pid" "$file:rustfuncs::between"
	program=func-count attach rust-counted -d 90 -p "$pid" "u:$file:rustfuncs::*"
	attached
	open_gate rust go
	await 60 [ -e rust.gates/done ]
	detach_each rust
	detach rust-area rust-ret rust-counted
	open_gate rust leave
	finish rust "$pid"
}

# The library that the process calls libc is another one than the host's.
run_musl() {
	command -v musl-userfuncs >where || { echo "no compiler for musl" >musl.skip; return; }
	start musl musl-userfuncs 8
	attach musl -b func -c musl-userfuncs "$(cat where):user_*"
	program=func-count attach musl-counted -d 90 -p "$pid" u:libc:longjmp "u:$(cat where):user_jumps"
	attached
	open_gate musl go
	await 60 [ -e musl.gates/inside ]
	detach musl musl-counted
	open_gate musl leave
	finish musl "$pid"
}

run_python() {
	start python python-calls
	grep -o '[^/]*python3[^/]*$' "/proc/$pid/maps" | sort -u | head -1 >interpreter
	read -r interpreter <interpreter
	attach_each python -b func,arg:0:s32 -p "$pid" "$interpreter:Py_SetRecursionLimit"
	attach python-waits -b func,arg:1:s64 -p "$pid" "$interpreter:PyThread_acquire_lock_timed"
	attached
	open_gate python go
	await 60 [ -e python.gates/done ]
	detach_each python
	detach python-waits
	open_gate python leave
	finish python "$pid"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=user-func-latency quick=--no-calibrate
	uname -r >kernel
	# shellcheck disable=SC2034 # by attach_each
	mechanisms=${mechanism:-uprobe.multi.returns uprobe.returns}
	run_rust
	run_musl
	run_python
}

# Calls by function, without its path.
counts='[.rows[] | {(.key.func | sub("^u:[^:]*:"; "")): .count}] | add'

# within TOOL WORKLOAD FUNCTION - its times are those of a wait of 3 ms, and no longer than the caller's clock says
within() {
	holds "$1: times are those of the wait, and within what was measured around it" "$1.json" '
		$truth[0].calls[0] as $true | $last.rows[] | select((.key.func | endswith($name)) and .key["arg:1:s64"] == ($true.argument // null))
			| .count == $true.count and .min >= 3000000 and .max <= $true.max and .sum <= $true.sum' \
		--arg name "$3" --slurpfile truth "$2.truth"
}

check_rust() {
	if [[ -e rust.skip ]]; then
		skip "functions of Rust" "$(cat rust.skip)"
		return
	fi
	for name in ${mechanism:-uprobe.multi.returns uprobe.returns}; do
		forced "rust-$name" "$name" || continue
		whole "of Rust, $name" "rust-$name.json"
		holds "Rust, $name: each call that returned, of both kinds of a generic function" "rust-$name.json" "
			(\$last | $counts | to_entries | map([(.key | sub(\".*::\"; \"\") | sub(\".*7generic17h.*\"; \"generic\")), .value]) | sort)
				== [[\"area\", 8 * 1009], [\"between\", 27], [\"generic\", 1009], [\"generic\", 1009], [\"panics\", 27], [\"sleeps\", 31]]"
		holds "Rust, $name: each that a panic left is abandoned" "rust-$name.json" '$last.ledger | .abandoned == 2 * 26 and .unmatched == 0'
		within "rust-$name" rust sleeps
	done
	holds "Rust: arguments by thread" rust-area.json '($last.rows | map(.count)) == [range(8) | 1009]' || :
	holds "Rust: results" rust-ret.json '($last.rows | map([.key.ret, .count]) | sort) == [range(27) | [. * 2 + 1, 1]]'
	holds "Rust: panics are caught as ever" rust.truth '$truth[0].caught == 26' --slurpfile truth rust.truth
}

check() {
	evidence notes
	check_rust
	if [[ -e musl.skip ]]; then
		skip "functions of programs of musl" "$(cat musl.skip)"
	else
		whole "of a program of musl" musl.json
		holds "musl: each call that returned" musl.json "[\$truth[0].calls[] | {(.function): .count}] | add as \$called
			| (\$last | $counts) == (\$called | del(.user_dies, .user_exits, .user_executes, .user_stays, .user_jumps_outer)
				| .user_recurses -= 6)" --slurpfile truth musl.truth
		holds "musl: libc is that of the process" musl-counted.json "(\$last | $counts) | .longjmp == 7 and .user_jumps == 7"
	fi
	for name in ${mechanism:-uprobe.multi.returns uprobe.returns}; do
		forced "python-$name" "$name" || continue
		holds "Python, $name: calls of a C function of the interpreter, by argument" "python-$name.json" \
			'($last.rows | map([.key["arg:0:s32"], .count]) | sort) == [[1000, 337], [1001, 336], [1002, 336]]'
	done
	within python-waits python PyThread_acquire_lock_timed
}
