#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What tests/vm/windows.t runs in the machine: windows of all kinds. What became of them is a tar
# archive on stdout.

exec 3>&1 >&2
step() { echo "$(date +%T) $*"; }
windows=/etc/plumb/windows
state=/var/lib/plumb/windows
mkdir /results
cd /results || exit 1

# wait_for COMMAND... - for 180 s at most: a busy host emulates slowly
wait_for() {
	local n
	for ((n = 0; n < 180; n++)); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 1
	done
	echo "waited in vain for: $*"
	return 1
}

window() {
	printf '%s\n' ZONE=Asia/Kolkata "${@:2}" >"$windows/$1.conf"
}

# has_new_output NAME - it left a whole file since this script began
has_new_output() {
	[[ -n $(find "$state/$1" -name '2*.jsonl' -newer /results/begin) ]]
}

# keep NAME - how its service ended, and what it left
keep() {
	systemctl show -p Result,ExecMainCode,ExecMainStatus,RuntimeMaxUSec "plumb-window@$1.service" >"$1.show"
	(cd "$state/$1" && ls -A) >"$1.files"
	find "$state/$1" -name '2*' -newer begin -exec cat {} + >"$1.jsonl"
	journalctl -o cat -u "plumb-window@$1.service" >"$1.journal"
}

# Those that were there at boot.
touch begin
systemctl show -p ActiveState,NextElapseUSecRealtime plumb-window@boot.timer >boot.show
journalctl -o cat -t plumb-window-generator >generator.journal
systemctl list-units --all --plain --no-legend 'plumb-window@*' | awk '{ print $1 }' >units

step "a tool that hangs"
# One whose tool hangs takes longest: it runs beside the others.
window hang "WHEN=2099-01-01 00:00" FOR=1s "COMMAND=skb-alloc -j"
window three "WHEN=2099-01-01 00:00" FOR=1s "COMMAND=tcp-sendmsg-lat -j --strict" KEEP_SIZE=2K
window lacking "WHEN=2099-01-01 00:00" FOR=1s "COMMAND=cpu-profile -j"
window large "WHEN=2099-01-01 00:00" FOR=3s "COMMAND=syscall-latency -j -b pid,syscall --no-calibrate 1" KEEP_SIZE=1K
window long "WHEN=2099-01-01 00:00" FOR=1h "COMMAND=syscall-latency -j -c worker --no-calibrate"
systemctl daemon-reload
systemctl start plumb-window@hang.service

# What systemd and -c see: a process of this name, which makes system calls.
printf '%s\n' '#!/bin/bash' 'while :; do read -r -t 0.1 <>/tmp/nothing; done' >/tmp/worker
mkfifo /tmp/nothing
chmod +x /tmp/worker
/tmp/worker >/dev/null 2>&1 &
worker=$!

step "a timer"
# A window that its timer begins, and files from before.
mkdir -p "$state/soon" "$state/three"
for age in 1 2 3 4 40; do
	for suffix in jsonl txt.part; do
		file=$state/soon/$(date -d "-$age days" +%Y-%m-%dT090500+0530).$suffix
		head -c $((age == 40 ? 10 : 150000)) /dev/zero >"$file"
		touch -d "-$age days" "$file"
		((age < 4)) || echo "${file##*/}" >>soon.doomed # 900000 bytes are in the others
	done
done
echo mine >"$state/soon/notes"
touch -d "-50 days" "$state/soon/notes"
(cd "$state/soon" && ls -A) >soon.before
for ((wait = 40; wait < 400; wait *= 2)); do
	at=$(($(date +%s) + wait))
	window soon "WHEN=$(TZ=Asia/Kolkata date -d "@$at" '+%Y-%m-%d %H:%M:%S')" FOR=4s "COMMAND=syscall-latency -j -c 'wor*' -b comm 1" KEEP=30d KEEP_SIZE=1M
	plumb-window --check soon
	systemctl daemon-reload
	systemctl start timers.target
	(($(date +%s) >= at)) || break # systemd had it in time
done
echo "$at" >soon.at
TZ=Asia/Kolkata date -d "@$at" +%Y-%m-%dT%H%M%S%z >soon.name

step "stopped by hand"
# One that is stopped by hand.
systemctl start plumb-window@long.service
pid=$(systemctl show -p MainPID --value plumb-window@long.service)
wait_for grep -q '^syscall-latency' "/proc/$pid/comm"
wait_for sh -c 'journalctl -o cat -u plumb-window@long.service | grep -q "syscall-latency: tracing"'
grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):' "/proc/$pid/status" >long.status
sleep 1
systemctl stop plumb-window@long.service
keep long

step "tools that fail"
# Those whose tools fail.
head -c 1500 /dev/zero >"$state/three/2026-01-01T090500+0530.jsonl"
touch -d "-1 day" "$state"/three/*
for one in three lacking large; do
	systemctl start "plumb-window@$one.service"
	wait_for sh -c "systemctl is-failed plumb-window@$one.service"
	keep "$one"
done
stat -c %s "$state"/large/* >large.size

step 'each tool'
mv /real/* /usr/sbin
# What PRIVILEGES says of 6.1, and names.
systemctl start plumb-window@each-slab-latency.service
wait_for systemctl is-failed plumb-window@each-slab-latency.service
journalctl -o cat -u plumb-window@each-slab-latency.service >without-admin
for one in {cpu-profile,event-rate,file-latency,slab-latency,syscall-breakdown,usdt-latency,user-func-latency}:admin {func-stack,offcpu-time}:symbols; do
	mkdir -p "/etc/systemd/system/plumb-window@each-${one%:*}.service.d"
	ln -s "/usr/share/plumb/windows/${one#*:}.conf" "/etc/systemd/system/plumb-window@each-${one%:*}.service.d"
done
systemctl daemon-reload
for one in "$windows"/each-*.conf; do
	one=$(basename "$one" .conf)
	systemctl start "plumb-window@$one.service"
	wait_for sh -c "! systemctl is-active plumb-window@$one.service"
	keep "$one"
done
step 'records in the journal'
syscall-count --no-calibrate --audit=syslog -p $$ -d 0.1 >/dev/null
wait_for sh -c 'journalctl -t syscall-count | grep -q "event.:.end"'
journalctl -o json -t syscall-count >records.journal
step 'waiting for timer'
wait_for has_new_output soon
keep soon
find "$state/soon" -newer begin ! -name notes -exec stat -c '%a %U' {} + | sort -u >soon.mode
date -d "$(systemctl show -p LastTriggerUSec --value plumb-window@soon.timer)" +%s >soon.triggered
step 'waiting for the one that hangs'
wait_for systemctl is-failed plumb-window@hang.service
keep hang
systemctl show -p ExecMainStartTimestampMonotonic,ExecMainExitTimestampMonotonic plumb-window@hang.service >hang.times
pgrep -f /usr/sbin/skb-alloc >hang.left
kill "$worker"
step end
tar -c . >&3
