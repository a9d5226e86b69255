#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Audit records by a syslog daemon of our own, with its defaults: rsyslogd.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/audit.sh"
rsyslogd=$(PATH=$PATH:/usr/sbin command -v rsyslogd) || { echo "1..0 # SKIP there is no rsyslogd"; exit 0; }

lines=$work/lines
cat >"$work/rsyslog.conf" <<END
global(workDirectory="$work")
module(load="imuxsock")
template(name="all" type="string" string="%syslogfacility-text%.%syslogseverity-text% %syslogtag%%msg%\n")
action(type="omfile" file="$lines" template="all")
END

daemon=
start_daemon() {
	local i
	"$rsyslogd" -n -f "$work/rsyslog.conf" -i "$work/pid" >"$work/rsyslogd.out" 2>&1 &
	daemon=$!
	started+=("$daemon")
	for ((i = 0; i < 500; i++)); do
		[[ -S /dev/log ]] && return
		sleep 0.02
	done
	tap_result 1 "rsyslogd listens" <"$work/rsyslogd.out"
}

stop_daemon() {
	kill "$daemon"
	wait "$daemon"
}

# The records among what the daemon has written.
log=$work/records
take() {
	await "$lines" '"event":"end"'
	sed -nE 's/^authpriv[.]notice [a-z-]+\[[0-9]+\]: ?(\{.*)/\1/p' "$lines" >"$log"
}

evidence "$lines" "$work/err" "$work/rsyslogd.out"
start_daemon
"$bin/syscall-count" --no-calibrate --audit=syslog -s write -- dd if=/dev/zero of=/dev/null bs=1 count=500 status=none >"$work/out" 2>"$work/err"
is "a run with a daemon" $? 0
take
claim "records are valid" valid "$log"
is "all are there, from authpriv.notice" "$(jq -r .event "$log" | paste -sd ' ')" "begin attach end"
holds "the last one" "$log" '$last.ended == "command" and $last.events == 500'
is "the tag is the tool and its process" "$(awk '/begin/ { print $2 }' "$lines")" "syscall-count[$(jq .pid "$log" | head -n 1)]:"
is "nothing is cut" "$(grep -c '"cut"' "$lines")" 0

: >"$lines"
words=()
for ((i = 0; i < 3000; i++)); do words+=("word-$i-ä'\"\\"); done
"$bin/syscall-count" --no-calibrate --audit=syslog -s write -- true "${words[@]}" >"$work/out" 2>"$work/err"
is "a long command" $? 0
take
claim "it is cut to valid records" valid "$log"
is "three of them" "$(jq -r .event "$log" | paste -sd ' ')" "begin attach end"
holds "which say so, and how long it was" "$log" '$all | all(.cut and .n_command == 3007 and .command[0] != null)'
is "none is longer than rsyslog takes" "$(awk 'length > 8096' "$lines" | wc -l)" 0
claim "they are not cut to nothing" test "$(wc -c <"$lines")" -ge 9000
: >"$lines"
long=$(head -c 100000 /dev/zero | tr '\0' x)
"$bin/probe-list" --audit=syslog u:libc:malloc "k:$long" k:last >"$work/out" 2>"$work/err"
take
claim "a long word is cut to valid records" valid "$log"
holds "... and others are whole" "$log" '$all | all(.cut and .command[1:2] == ["--audit=syslog"] and .command[2] == "u:libc:malloc" and .command[4] == "k:last")'

# A daemon that is started again during a run.
: >"$lines"
: >"$work/err"
"$bin/syscall-count" --no-calibrate --audit=syslog -s write -p $$ >"$work/out" 2>"$work/err" &
tool=$!
started+=("$tool")
await "$work/err" 'tracing …'
await "$lines" '"event":"attach"'
stop_daemon
start_daemon
kill -INT "$tool"
wait "$tool"
is "a run during which the daemon was started again" $? 0
take
is "has all records" "$(jq -r .event "$log" | paste -sd ' ')" "begin attach end"

# One that ends during a run.
: >"$work/err"
"$bin/syscall-count" --no-calibrate --audit=syslog -s write -p $$ >"$work/out" 2>"$work/err" &
tool=$!
started+=("$tool")
await "$work/err" 'tracing …'
stop_daemon
kill -INT "$tool"
wait "$tool"
is "a run whose end cannot be recorded fails" $? 1
like "and says so" "$(<"$work/err")" '--audit=syslog: '
"$bin/syscall-count" --audit=syslog -- touch "$work/ran" >"$work/out" 2>"$work/err"
is "without a daemon nothing is run" "$?:$(ls "$work/ran" 2>/dev/null)" "1:"
evidence
done_testing
