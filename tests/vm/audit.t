#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Audit records in the kernel's audit: with a real auditd, without one, without audit, and without
# the capabilities.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
PATH=$PATH:/usr/sbin
for program in auditd auditctl setpriv; do
	command -v "$program" >/dev/null || { echo "1..0 # SKIP there is no $program"; exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
evidence "$work/said" "$work/err"

# The programs with their libraries, of this distribution.
root=$work/root
mkdir -p "$root"/{sbin,etc/audit/plugins.d,var/log/audit,var/run}
chmod 700 "$root/var/log/audit"
for program in auditd auditctl setpriv; do
	cp -L "$(command -v "$program")" "$root/sbin/real-$program"
	ldd "$root/sbin/real-$program" | grep -oE '/[^ ]+' | while read -r library; do
		mkdir -p "$root$(dirname "$library")"
		cp -L --update "$library" "$root$library"
	done
done
cat >"$root/etc/audit/auditd.conf" <<-'END'
log_file = /var/log/audit/audit.log
log_format = RAW
flush = SYNC
freq = 1
num_logs = 2
max_log_file = 8
max_log_file_action = IGNORE
space_left = 2
space_left_action = IGNORE
admin_space_left = 1
admin_space_left_action = IGNORE
disk_full_action = IGNORE
disk_error_action = IGNORE
plugin_dir = /etc/audit/plugins.d
END
chmod 640 "$root/etc/audit/auditd.conf"

status=0
# shellcheck disable=SC2016 # for the guest
scripts/vm.sh --timeout=240 --root="$root" 6.12 -- sh -c '
	run() { syscall-count --no-calibrate --audit=audit "$@" >/dev/null 2>/tmp/err; echo "status $? $(grep -v tracing /tmp/err)"; }
	writes="-s write -- dd if=/dev/zero of=/dev/null bs=1 status=none"
	echo "not enabled: $(run -- touch /tmp/ran)"
	real-auditctl -e 1 >/dev/null
	echo "no daemon: $(run $writes count=100)"
	i=0
	while [ $i -lt 100 ] && ! dmesg | grep -q "plumb-audit/1"; do sleep 0.1; i=$((i + 1)); done
	dmesg | sed -n "s/.*audit: type=\([0-9]*\) .*msg=.\({.*}\).*/in the log \1 \2/p"
	real-auditd -n >/tmp/auditd 2>&1 &
	auditd=$!
	i=0
	while [ $i -lt 300 ] && ! grep -q DAEMON_START /var/log/audit/audit.log 2>/dev/null; do sleep 0.1; i=$((i + 1)); done
	echo "a daemon: $(run $writes count=200)"
	echo "apostrophes: $(run -s write -c "it'"'"'s \"q\" $(printf "\303\244")" -d 0.1)"
	long=$(head -c 20000 /dev/zero | tr "\0" "'"'"'")
	echo "long: $(run -s write -- true "$long" "$long" a b c)"
	syscall-count --no-calibrate --audit=audit -s write -p $$ >/dev/null 2>/tmp/killed &
	tool=$!
	while ! grep -qs tracing /tmp/killed; do sleep 0.1; done
	kill -9 $tool
	wait $tool
	for lacks in audit_write audit_control; do
		real-setpriv --bounding-set=-$lacks syscall-count --audit=audit -- touch /tmp/ran >/dev/null 2>/tmp/err
		echo "without $lacks: status $? $(cat /tmp/err)"
	done
	sleep 1
	kill $auditd
	wait $auditd
	grep "^type=USER " /var/log/audit/audit.log
	ls /tmp/ran 2>/dev/null
	true
	' >"$work/said" 2>"$work/err" || status=$?
((status != 77)) || { echo "1..0 # SKIP the archive has no 6.12"; exit 0; }
is "the machine runs to its end" "$status" 0

said() { like "$1" "$(<"$work/said")" "$2"; }
said "audit that is not enabled is refused" "not enabled: status 1 syscall-count: --audit=audit: the kernel's audit is not enabled"
said "without auditd a run is fine" 'no daemon: status 0 '
# Which cuts long ones, and drops some if there are many.
sed -n 's/^in the log 1005 //p' "$work/said" | head -n 1 >"$work/log"
holds "its first record is in the kernel's log" "$work/log" '$last.event == "begin" and ($last.command | index("count=100"))'

said "with auditd it is, too" 'a daemon: status 0 '
sed -nE "s/^type=USER .* msg='(\{.*\}) exe=.*/\1/p; s/^type=USER .* msg='(\{.*\})'?.*/\1/p" "$work/said" >"$work/records"
evidence "$work/records"
claim "auditd's records are JSON" jq -e . "$work/records"
is "they are of four runs" "$(jq -s 'map(.id) | unique | length' "$work/records")" 4
is "each has begin, attach and end" "$(jq -r .event "$work/records" | sort | uniq -c | tr -s ' ' | paste -sd ,)" " 4 attach, 4 begin, 4 end"
holds "with its calls" "$work/records" '[$all[] | select(.ended == "command" and .events == 200)] | length == 1'
holds "apostrophes are what they were" "$work/records" "\$all | any(.event == \"attach\" and .filters.comm == [\"it's \\\"q\\\" ä\"])"
holds "a long one is cut" "$work/records" '[$all[] | select(.cut and .n_command == 12)] | length == 3'
holds "one was killed" "$work/records" '$all | any(.ended == "killed")'
said "CAP_AUDIT_WRITE is named" 'without audit_write: status 1 syscall-count: --audit=audit: CAP_AUDIT_WRITE is missing'
said "CAP_AUDIT_CONTROL is named" 'without audit_control: status 1 syscall-count: --audit=audit: CAP_AUDIT_CONTROL'
is "what was refused ran nothing" "$(grep -c '^/tmp/ran' "$work/said")" 0
/usr/bin/python3 -c 'import jsonschema' 2>/dev/null &&
	claim "records are valid" /usr/bin/python3 -c '
import json, sys
from jsonschema import Draft202012Validator
validator = Draft202012Validator(json.load(open(sys.argv[1])))
for line in open(sys.argv[2]):
    validator.validate(json.loads(line))' build/plumb-audit-1.schema.json "$work/records"
done_testing
