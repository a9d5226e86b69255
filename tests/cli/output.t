#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Output that cannot be written is status 1 and one line; a reader that goes away is a good end.
# Where a tool cannot trace, it has no output, and says that, wherever it would go.
. "$(dirname "$0")/lib.sh"

start_idle

fifo=$work/fifo
mkfifo "$fifo"
# From 7 on is read as long as it is open; 8 writes.
exec 7<>"$fifo"
exec 8>"$fifo"

# The first line, "tracing …", is as it should be.
complaint() {
	grep -v -e "^$tool: tracing …" -e " has not mapped /" "$err"
}

unwritable() {
	status=0
	timeout 20 "${call[@]}" "$@" </dev/null >/dev/full 2>"$err" || status=$?
	is "$tool $* on a full disk exits 1" "$status" 1
	like "$tool $* on a full disk says so" "$(complaint)" "^$tool: [^"$'\n'"]*No space left on device$"
	status=0
	timeout 20 "${call[@]}" "$@" </dev/null >&- 2>"$err" || status=$?
	is "$tool $* without stdout exits 1" "$status" 1
	like "$tool $* without stdout says so" "$(complaint)" "^$tool: [^"$'\n'"]*output: Bad file descriptor$"
}

# The reader has gone before anything was written.
unread() {
	local start=$SECONDS
	status=0
	exec 7<&-
	timeout 20 "${call[@]}" "$@" </dev/null >&8 2>"$err" || status=$?
	exec 7<>"$fifo"
	is "$tool $* without a reader ends well" "$status" 0
	is "$tool $* without a reader ends quietly" "$(complaint)" ""
	claim "$tool $* without a reader ends at once" test $((SECONDS - start)) -lt 12
}

# The reader goes when there is more to write than stdio holds: not the flush fails, but a write before.
# The tool stands still meanwhile.
unread_late() {
	local keys by=() pid i
	# But for those that take more than their name, or that need functions of the kernel.
	keys=$("$bin/$tool" -b help | tr -s '[:space:]' '[\n*]' | grep -vx -e label -e path -e '.*:.*' | paste -sd ,)
	by=(-b "$keys")
	"${call[@]}" "$1" "${by[@]}" -- "${busy[@]}" >"$out" 2>"$err"
	claim "$tool $1: a report of more than 8 kB" test "$(wc -c <"$out")" -gt 8192
	rm -f "$work/go" "$work/done"
	: >"$err" # the last one's
	"${call[@]}" "$1" "${by[@]}" -- sh -c "until [ -e '$work/go' ]; do sleep 0.01; done; $busy_script; : >'$work/done'" \
		</dev/null >&8 2>"$err" 7<&- &
	pid=$!
	cli_started+=("$pid")
	for ((i = 0; i < 500; i++)); do grep -q tracing "$err" && break; sleep 0.01; done
	kill -STOP "$pid"
	: >"$work/go"
	for ((i = 0; i < 500; i++)); do [[ ! -e $work/done ]] || break; sleep 0.01; done
	exec 7<&-
	kill -CONT "$pid"
	status=0
	wait "$pid" || status=$?
	exec 7<>"$fifo"
	is "$tool $1 whose reader goes in midst of a report ends well" "$status" 0
	is "$tool $1 whose reader goes in midst of a report ends quietly" "$(complaint)" ""
}

# After a run that had nothing to write.
excused() {
	is "$tool $* cannot trace" "$status" 77
	claim "$tool $* says why, as ever" excuses "$tool"
}

# Whatever its output is.
helpless() {
	local start=$SECONDS
	status=0
	timeout 20 "${call[@]}" "$@" </dev/null >/dev/full 2>"$err" || status=$?
	excused "$@" on a full disk
	status=0
	timeout 20 "${call[@]}" "$@" </dev/null >&- 2>"$err" || status=$?
	excused "$@" without stdout
	status=0
	exec 7<&-
	timeout 20 "${call[@]}" "$@" </dev/null >&8 2>"$err" || status=$?
	exec 7<>"$fifo"
	excused "$@" without a reader
	claim "$tool $* ends at once where it cannot trace" test $((SECONDS - start)) -lt 12
}

busy_script="for i in 1 2 3 4 5 6; do
	ls -l /; id; uname -a; ls /nonexistent
	'$sends' 127.0.0.1,9,1 127.0.0.2,9,1000 127.0.0.3,9,5000 127.0.0.4,9,9,epipe 127.0.0.5,9,70000 \
		127.0.0.6,9,20000 127.0.0.7,9,100 ::1,9,500
	for size in 4 8 16 32 64; do dd if=/dev/zero of='$work/direct' bs=\${size}k count=7 oflag=direct; done
done >/dev/null 2>&1"
busy=(sh -c "$busy_script")

for tool in "${kinds[@]}"; do
	call=("$bin/$tool" ${operand[$tool]:+"${operand[$tool]}"} ${second[$tool]:+"${second[$tool]}"})
	for option in --help --version --about; do
		unwritable "$option"
		unread "$option"
	done
	has "$tool" --by && unwritable -b help
	has "$tool" --syscall && unwritable -s help
	((EUID == 0)) || { skip "$tool: reports" "tracing takes root"; continue; }
	has "$tool" --pid || continue
	call+=(--no-calibrate) # seconds, for some
	if ! traces "$tool"; then
		helpless -d 15 -p "$idle"
		helpless -d 15 -j -p "$idle"
		helpless 0.1 -p "$idle"
		for format in -j -H; do
			unable "$tool $format is taken, but nothing traced" "$tool" "$format"
		done
		continue
	fi
	unwritable -d 0.1 -p "$idle"
	unwritable -d 0.1 -j -p "$idle"
	has "$tool" --by && unwritable 0.1 -p "$idle"
	! has "$tool" --folded || call+=(--top=1000) # for enough to write
	if ! has "$tool" COMMAND || ! has "$tool" --by; then
		continue
	fi
	[[ $tool != cpu-profile ]] || call+=(-F 9973) # for enough to write
	[[ $tool != event-rate ]] || call+=(minor-faults cs 'sched:*') # the same
	for format in -j -H; do
		has "$tool" "$format" || continue
		! has "$tool" --above || continue # a tree is short
		[[ ! ${second[$tool]-} ]] || continue # so are the rows of one program
		unread_late "$format"
	done
	unread -d 15 -p "$idle"
	unread -d 15 -j -p "$idle"
	unread 0.1 -p "$idle"
done
done_trying
