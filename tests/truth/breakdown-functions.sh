# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# syscall-breakdown -f: functions are timed inside the call and nowhere else, and their own times
# are together those of the calls, to the nanosecond.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=syscall-breakdown quick=--no-calibrate
	uname -r >kernel
	# shellcheck disable=SC2034 # by attach_each
	mechanisms=${mechanism:-fsession fentry kprobe.session kprobe.multi kprobe fsession.multi}

	# Reads and writes that call the same functions; one inside itself; and known times.
	start flat calls 1009 read:64 write:64
	pids=$pid
	start deep nested 2 101
	pids=$pids,$pid
	start late inside 101 512 23 20
	attach_each inside -s read,pread64,getrandom -f 'vfs_read,rw_verify_area' -f 'read_*zero' \
		-f btf_struct_show,btf_type_seq_show -f '*pipe_read' -p "$pids,$pid"
	go flat
	go deep
	go late
	detach_each inside

	# The tool's own choice, for a few and for many.
	start wide calls 1009 read:64
	attach few -s read -f vfs_read -p "$pid"
	attach many -s read -f 'vfs_*' -f rw_verify_area -p "$pid"
	attach reports -s read -f vfs_read -p "$pid" 0.1
	go wide
	detach few many reports

	# Calls that do not end while it looks, in which others did.
	start sleepers midcall 3 0
	attach going -s read -f ksys_read,vfs_read,rw_verify_area -p "$pid"
	attached
	open_gate sleepers go
	await 20 test -e sleepers.gates/blocked
	detach going
	open_gate sleepers end
	open_gate sleepers leave
	finish sleepers "$(cat sleepers.pid)"

	# What it cannot do.
	launch min -s read -f vfs_read --min 1ms
	finish min "$tool"
	launch wrong -s read -f vfs_read --mechanism=raw_tracepoint
	finish wrong "$tool"
	launch none -s read -f no_such_function
	finish none "$tool"
}

rows='def row($re): [$last.rows[] | select(.key.func | test($re))] | if length == 1 then .[0] else error("rows: \($re)") end;
	def whole: ($last.rows | map(.own) | add) == $last.ns
		and ([$last.rows[] | select(.left_over) | .sum] | add // 0) == $last.ns;'

# Do the functions' own times make up the calls', and is nothing lost?
sums() {
	evidence "$2.json" "$2.err" notes
	holds "$1: own times and what is left over are the calls', exactly" "$2.json" "$rows whole and (\$last.rows
		| all(.[]; .total <= .sum and .own <= .total))"
	sound "of $1" "$2.json"
}

check_mechanism() {
	local zero='row("^read_.*zero").count == 1009'
	forced "inside-$1" "$1" || return
	case $1,$(cat kernel) in
	f*,7.*arm64*) # its BTF does not have read_zero
		zero='([$last.rows[].key.func | select(test("^read_.*zero"))] == [])'
		like "$1: that it does not have a function is said" "$(cat "inside-$1.err")" '1 of 11 functions could not be attached'
		;;
	esac
	sums "functions, $1" "inside-$1"
	[ "$1" != fentry ] || known_on_7 "inside-$1.json" "fentry misses calls, where it is forced"
	holds "$1: counts functions inside the calls, and not in another" "inside-$1.json" "$rows"'
		$last.calls == 1009 + 101 + 23 + 101 and row("_sys_read").count == 1009 + 23
		and row("_sys_pread64").count == 101 and row("_sys_getrandom").count == 101
		and row("vfs_read").count == 1009 + 101 + 23 and row("rw_verify_area").count == 1009 + 101 + 23
		and '"$zero"' and row("pipe_read$").count == 23
		and $last.ledger.filtered_at_exit >= 1009 and row("_sys_read").left_over'
	known_to_fail ''
	holds "$1: percentiles are within the workload's clock" "inside-$1.json" "$rows"'
		($truth[0].calls[] | select(.syscall == "read") | .percentiles["90"]) as $p90
		| row("_sys_read").percentiles["50"] <= $p90 * 1.016
		and row("vfs_read").percentiles["50"] <= row("_sys_read").percentiles["50"]
		and row("rw_verify_area").percentiles["50"] <= row("vfs_read").percentiles["50"]
		and row("rw_verify_area").percentiles["50"] > 0' --slurpfile truth flat.truth
	holds "$1: of a function inside itself all calls count, in the total only the outermost" "inside-$1.json" \
		"$rows"'row("^btf_struct_show") as $again | row("btf_type_seq_show") as $around
		| $again.count == 202 and $around.count == 101 and $again.total < $again.sum
		and $again.total <= $around.total and $around.total == $around.sum'
	holds "$1: the function that slept has the time" "inside-$1.json" "$rows"'
		($truth[0].calls[] | select(.syscall == "read")) as $read | row("pipe_read$") as $pipe
		| $pipe.min >= 20000000 and $pipe.own >= 0.9 * $pipe.sum and $pipe.sum <= $read.sum
		and $pipe.percentiles["50"] >= 20000000 and $pipe.percentiles["50"] <= $read.percentiles["50"] * 1.016
		and $pipe.percentiles["99"] == $pipe.max and $pipe.max <= $read.max' --slurpfile truth late.truth
}

check_choice() {
	sums "one function" few
	sums "many functions" many
	holds "globs are many functions" many.json '$last.mechanism.hooks | length > 7 and (.[-1] | test("^and [0-9]+ more$"))'
	evidence reports.json reports.err
	holds "reports are together the whole" reports.json '
		([$all[].calls] | add) == 1009 and ([$all[].ns] | add) == ([$all[].rows[].own] | add)'
	sums "calls that go on" going
	holds "calls that have not ended are in no sum, also if functions inside have" going.json \
		"$rows"'$last.ns == 0 and row("rw_verify_area").count > 0 and row("vfs_read").own < 0'
	like "... and a function that has not ended is not taken for inlined" "$(grep ': 0 calls' going.err)" \
		'^syscall-breakdown: ksys_read: 0 calls ended in [0-9.e+-]+ s inside these system calls$'
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	# shellcheck disable=SC2034 # by forced
	case $(cat kernel) in
	7.*arm64*) ;; # it is of x86_64 only
	7.*) must=' fsession.multi' ;;
	esac
	is "the workloads ended well" "$(cat flat.status deep.status late.status wide.status sleepers.status |
		tr '\n' ' ')" "0 0 0 0 0 "
	for name in min wrong none; do
		evidence "$name.err"
		is "-f with $name ends without a trace" "$(wc -c <"$name.json")" 0
	done
	is "--min is not for -f" "$(cat min.status)" 2
	is "sampling is not for -f" "$(cat wrong.status)" 2
	is "a function that is not there is an error" "$(cat none.status)" 1
	for name in ${mechanism:-fsession fentry kprobe.session kprobe.multi kprobe fsession.multi}; do
		check_mechanism "$name"
	done
	if unable few fsession fentry kprobe.session kprobe.multi kprobe; then
		like "where no function can be timed the other way is said" "$(tail -n 1 few.err)" "without -f"
		return
	fi
	check_choice
}
