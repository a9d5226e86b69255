#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A file of another user that root's tool replaces during a trace keeps its owner, group and mode.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/lib.sh

((EUID == 0)) || { echo "1..0 # SKIP another user's files take root"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
evidence "$out" "$err"

whose() { stat -c '%u:%g %a %s' "$1" 2>&1 | sed 's/ 0$/ empty/; s/ [1-9][0-9]*$/ written/'; }

# is_replaced FILE TOOL ARG... - it is there when the tool has ended
is_replaced() {
	: >"$1"
	chown 65534:65533 "$1"
	chmod 640 "$1"
	run_bare "${@:2}"
	is "$2 ends well" "$status $(grep -v ' keeps ' "$err")" "0 $2: tracing … by raw_tracepoint"
	is "... and its file is whose it was" "$(whose "$1")" "65534:65533 640 written"
}

# What --openmetrics wrote is removed at the end.
: >"$work/calls.prom"
chown 65534:65533 "$work/calls.prom"
chmod 640 "$work/calls.prom"
"$bin/syscall-count" --no-calibrate -p $$ --openmetrics="$work/calls.prom" 0.1 >"$out" 2>"$err" &
tool=$!
for ((i = 0; i < 200; i++)); do
	[[ $(whose "$work/calls.prom") == *written ]] && break
	sleep 0.05
done
is "--openmetrics replaces another user's file" "$(whose "$work/calls.prom")" "65534:65533 640 written"
kill "$tool"
status=0
wait "$tool" || status=$?
is "... and says nothing of it" "$status $(<"$err")" "0 syscall-count: tracing … by raw_tracepoint"

is_replaced "$work/calls.json" syscall-latency --no-calibrate -p $$ --keep=5s/100ms --out="$work/calls.json" -d 0.3
is_replaced "$work/flame.svg" offcpu-time --no-calibrate -p $$ --flame="$work/flame.svg" -d 0.3

# By a copy with capabilities to read what processes have, or any file, a user cannot read or write any file.
mkdir "$work/closed" "$work/shut" "$work/open" "$work/his"
echo 'secret words' >"$work/closed/file"
chmod 700 "$work/closed"
chmod 755 "$work" "$work/shut"
chmod 777 "$work/open"
chown 65534 "$work/his"
# capable TOOL [CAPABILITY] - a copy of it
capable() {
	cp "$bin/$1" "$work/$1" &&
		setcap cap_bpf,cap_perfmon,cap_dac_read_search,cap_dac_override,cap_fowner,cap_chown,cap_sys_ptrace"${2-}"+ep "$work/$1" 2>/dev/null
}
as_user() {
	status=0
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@" >"$out" 2>"$err" </dev/null || status=$?
}
if capable probe-check && capable probe-cost ,cap_sys_admin && capable syscall-count; then
	as_user "$work/probe-check" --against="$work/closed/file" k:vfs_read
	is "a user with capabilities reads no closed file by an option" "$status $(<"$err")" \
		"1 probe-check: --against: cannot open $work/closed/file: Permission denied"
	as_user "$work/probe-check" --save="$work/shut/saved" k:vfs_read
	is "... and makes none in another's folder" "$status $(ls "$work/shut") $(grep -v 'not checked' "$err")" \
		"1  probe-check: --save: cannot write $work/shut/saved: Permission denied"
	as_user "$work/probe-check" --btf=/sys/kernel/btf/vmlinux --save="$work/shut/saved" k:vfs_read
	is "... of another kernel" "$status $(ls "$work/shut") $(grep -v 'not checked' "$err")" \
		"1  probe-check: --save: cannot write $work/shut/saved: Permission denied"
	as_user env PLUMB_CACHE="$work/shut/new" "$work/probe-cost" --rounds=5
	is "... nor by PLUMB_CACHE" "$status $(ls "$work/shut") $(grep 'not kept' "$err")" \
		"0  probe-cost: not kept for func-count: $work/shut/new/probe-cost.json: Permission denied"
	# A folder that he may write to, in whose place another one comes.
	setpriv --reuid=65534 --regid=65534 --clear-groups sh -c '
		ln -s ../open "$1/his/way"
		sleep 100 &
		slept=$!
		"$1/syscall-count" --no-calibrate -p "$slept" --openmetrics="$1/his/way/one.prom" 0.1 &
		echo "$!" "$slept" >"$1/his/pids"
		wait' - "$work" >"$out" 2>"$err" &
	job=$!
	for ((i = 0; i < 500; i++)); do
		[[ -s $work/open/one.prom ]] && break
		sleep 0.02
	done
	ln -s ../shut "$work/his/other"
	mv -T "$work/his/other" "$work/his/way"
	for ((i = 0; i < 500; i++)); do
		grep -q 'cannot write' "$err" && break
		sleep 0.02
	done
	like "a folder that comes later is written to with his own permissions" "$(ls "$work/shut") $(<"$err")" '^ .*/his/way/one.prom: Permission denied'
	read -r -a pids <"$work/his/pids"
	kill "${pids[@]}"
	wait "$job"
else
	skip "a user with capabilities" "no setcap, or no file system that has capabilities"
fi
done_testing
