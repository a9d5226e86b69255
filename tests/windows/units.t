#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What systemd says of the units of windows: that they are right, how exposed the service is, and when a
# window of some time zone begins.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
. tests/windows/lib.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage_root
evidence "$work/security"

window open "WHEN=Mon..Fri 09:05" ZONE=Asia/Kolkata UNTIL=09:25 "COMMAND=syscall-latency -j -c 'kite*' 10"
window london "WHEN=Mon..Fri 08:00" ZONE=Europe/London FOR=10m "COMMAND=runq-latency -j"
window gap "WHEN=*-*-* 01:30" ZONE=Europe/London FOR=10m "COMMAND=runq-latency -j"
is "the example is a good configuration" "$(cp "$root/usr/share/plumb/windows/example.conf" "$windows" && inside plumb-window --check example 2>&1)" \
	"example: good"
# Where systemd looks, so that what verifies them finds units and drop-ins.
generate /etc/systemd/system
is "units are made" "$(<"$work/generated")" ""

units=(plumb-window@open.timer plumb-window@open.service plumb-window@london.timer plumb-window@gap.timer)
is "systemd-analyze verify has nothing to say of them" "$(inside systemd-analyze verify --man=no "${units[@]}" 2>&1; echo $?)" 0
sed -i 's/^AccuracySec=.*/&\nAccuracy=1s/' "$root/usr/lib/systemd/system/plumb-window@.timer"
like "... and has, of a setting that there is not" "$(inside systemd-analyze verify --man=no "${units[@]}" 2>&1)" \
	"plumb-window@.timer:[0-9]+: Unknown key .*Accuracy"
sed -i '/^Accuracy=/d' "$root/usr/lib/systemd/system/plumb-window@.timer"

# exposure NAME [DROP-IN] - tenths that systemd-analyze security gives the service
exposure() {
	local drop_ins=$root/etc/systemd/system/plumb-window@$1.service.d
	[[ -z ${2-} ]] || cp "$root/usr/share/plumb/windows/$2" "$drop_ins"
	inside systemd-analyze security --offline=true --no-pager "plumb-window@$1.service" >"$work/security" 2>&1
	sed -i '/^[ +]/d' "$work/security"
	sed -nE 's/.*Overall exposure level for .*: ([0-9]+)\.([0-9]) .*/\1\2/p' "$work/security" | sed 's/^0*//'
}

found=$(exposure open)
echo "# exposure $found"
claim "systemd-analyze security rates the service at most 2.0" test "$found" -le 20
page=$(tr '\n' ' ' <windows/plumb-window.rst)
like "... which the manual says" "$page" "rates it ${found%?}\.${found: -1} \(lower is safer\)"
for drop_in in "$root"/usr/share/plumb/windows/*.conf; do
	drop_in=${drop_in##*/}
	[[ $drop_in != example.conf ]] || continue
	found=$(exposure london "$drop_in")
	echo "# exposure $found with $drop_in"
	claim "... at most 2.0 with $drop_in, too" test "$found" -le 20
	like "... which the manual says" "$page" "$drop_in.{0,80} ${found%?}\.${found: -1}"
	rm "$root/etc/systemd/system/plumb-window@london.service.d/$drop_in"
done
cp "$root"/usr/share/plumb/windows/{admin,symbols}.conf "$root/etc/systemd/system/plumb-window@london.service.d"
found=$(exposure london)
echo "# exposure $found with both"
claim "... at most 2.2 with both" test "$found" -le 22
like "... as the manual says" "$page" "both is rated ${found%?}\.${found: -1}\."
rm "$root/etc/systemd/system/plumb-window@london.service.d/"{admin,symbols}.conf
sed -i '/^SystemCallFilter/d; /^CapabilityBoundingSet/d' "$root/usr/lib/systemd/system/plumb-window@.service"
claim "... and more without its filter of system calls and its capabilities" test "$(exposure open)" -gt 20

# begins NAME FROM N - when the next N windows begin, from what the generator wrote
begins() {
	inside systemd-analyze calendar --base-time="$2" --iterations="$3" \
		"$(sed -n 's/^OnCalendar=//p' "$root/etc/systemd/system/plumb-window@$1.timer.d/window.conf")" |
		sed -nE 's/ *(Next elapse|Iter. #[0-9]+): //p' | paste -s -d ,
}
# In 2026 clocks in London change on 29 March, 01:00 UTC, and on 25 October.
is "a window in London begins an hour earlier, in UTC, from the day on that clocks go forward" "$(begins london "2026-03-26 12:00 UTC" 3)" \
	"Fri 2026-03-27 08:00:00 UTC,Mon 2026-03-30 07:00:00 UTC,Tue 2026-03-31 07:00:00 UTC"
is "... and later from the day on that they go back" "$(begins london "2026-10-22 12:00 UTC" 3)" \
	"Fri 2026-10-23 07:00:00 UTC,Mon 2026-10-26 08:00:00 UTC,Tue 2026-10-27 08:00:00 UTC"
is "one in India does not" "$(begins open "2026-03-26 12:00 UTC" 3),$(begins open "2026-10-22 12:00 UTC" 2)" \
	"Fri 2026-03-27 03:35:00 UTC,Mon 2026-03-30 03:35:00 UTC,Tue 2026-03-31 03:35:00 UTC,Fri 2026-10-23 03:35:00 UTC,Mon 2026-10-26 03:35:00 UTC"
is "a time of day that does not exist is skipped" "$(begins gap "2026-03-27 12:00 UTC" 3)" \
	"Sat 2026-03-28 01:30:00 UTC,Mon 2026-03-30 00:30:00 UTC,Tue 2026-03-31 00:30:00 UTC"
is "a time of day that is twice is so once" "$(begins gap "2026-10-24 12:00 UTC" 2)" \
	"Sun 2026-10-25 00:30:00 UTC,Mon 2026-10-26 01:30:00 UTC"
done_testing
