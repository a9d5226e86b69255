#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Configurations of windows: what they mean, which are refused and how, and that one that is refused
# leaves the others as they are.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
. tests/windows/lib.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage_root
evidence "$work/generated"

readonly good=("WHEN=Mon..Fri 09:05" ZONE=Asia/Kolkata FOR=20m "COMMAND=syscall-latency -j")

# means CLAIM LINE-OF-THE-READER LINE... - the configuration means it
means() {
	local claim=$1 wanted=$2
	window means "${@:3}"
	is "$claim" "$(inside sh -c '. /usr/libexec/plumb/window-config
		read_window means && printf "%s|%s|%s|%s|%s" "$calendar" "$seconds" "$keep_minutes" "$keep_bytes" "$(printf %s "${words%?}" | tr "\n" ",")"' 2>&1)" "$wanted"
}

means "defaults are 30 days and 1 GiB" "Mon..Fri 09:05 Asia/Kolkata|1200|43200|1073741824|syscall-latency,-j" "${good[@]}"
means "UNTIL is a length" "Mon..Fri 09:05 Asia/Kolkata|1200|43200|1073741824|syscall-latency" \
	"WHEN=Mon..Fri 09:05" ZONE=Asia/Kolkata UNTIL=09:25 COMMAND=syscall-latency
means "... also to the second, and past midnight" "Mon 23:59:50 UTC|610|60|524288000|runq-latency" \
	"WHEN=Mon 23:59:50" ZONE=UTC UNTIL=0:10 COMMAND=runq-latency KEEP=1h KEEP_SIZE=500M
means "units add up" "09:05,15:20 Europe/London|5405|21600|1024|runq-latency" \
	"WHEN=09:05,15:20" ZONE=Europe/London FOR=1h30m5s COMMAND=runq-latency KEEP=2w1d KEEP_SIZE=1K
means "words are split as a shell splits them, and nothing is expanded" \
	'Mon..Fri 09:05 Asia/Kolkata|1200|43200|1073741824|syscall-latency,-c,kite*,a b,$HOME,`id`,,x"y,\n,;,%i' \
	"${good[@]:0:3}" 'COMMAND=syscall-latency  -c '"'kite*'"' "a b" $HOME `id` '"''"' x\"y "\n" ; %i'
means "comments and empty lines are none" "Mon..Fri 09:05 Asia/Kolkata|1200|43200|1073741824|syscall-latency,-j" \
	"# WHEN=1" "" "  # x" "${good[@]}"

# refused CLAIM MESSAGE LINE...
refused() {
	local claim=$1 message=$2 status=0
	window refused "${@:3}"
	inside plumb-window --check refused >"$work/refused" 2>&1 || status=$?
	is "refused: $claim" "$status $(<"$work/refused")" "78 /etc/plumb/windows/refused.conf:$message"
}
without() { printf '%s\n' "${good[@]}" | grep -v "^$1="; }
# with LINE: the good configuration with another line instead of one
with() {
	mapfile -t lines < <(for line in "${good[@]}"; do
		[[ $line != "${1%%=*}="* ]] || line=$1
		echo "$line"
	done)
}

for word in --openmetrics=/var/lib/node/x.prom --otlp=/x --heatmap=/srv/x.svg; do
	refused "what the sandbox does not let be written: $word" "4: $word: the sandbox lets nothing be written there: give a name without folder, or a drop-in with ReadWritePaths=" \
		"${good[@]:0:3}" "COMMAND=syscall-latency $word 10"
done
mkdir -p "$root/etc/systemd/system/plumb-window@refused.service.d"
printf '[Service]\nReadWritePaths=/srv\n' >"$root/etc/systemd/system/plumb-window@refused.service.d/paths.conf"
is "... which a drop-in may" "$(inside plumb-window --check refused 2>&1)" "refused: good"
rm -r "$root/etc/systemd/system/plumb-window@refused.service.d"
refused "an unknown name" "5: unknown name: WHEM (known: WHEN, ZONE, FOR or UNTIL, COMMAND, KEEP, KEEP_SIZE)" "${good[@]}" WHEM=1
refused "blanks around the =" "5: not NAME=VALUE, without blanks around the =: KEEP = 3d" "${good[@]}" "KEEP = 3d"
refused "a name twice" "5: WHEN is also in line 1" "${good[@]}" "WHEN=Mon 10:00"
refused "nothing after the =" "5: KEEP is empty" "${good[@]}" "KEEP="
refused "lines of DOS" "5: a character that is not printable ASCII (lines end in LF alone)" "${good[@]}" $'KEEP=3d\r'
for name in WHEN ZONE COMMAND; do
	mapfile -t lines < <(without "$name")
	refused "no $name" "3: $name is missing" "${lines[@]}"
done
mapfile -t lines < <(without FOR)
refused "no length" "3: FOR or UNTIL is missing" "${lines[@]}"
refused "two lengths" "5: FOR and UNTIL exclude each other" "${good[@]}" UNTIL=09:25
with ZONE=Asia/Calcuta
refused "an unknown time zone" "2: no such time zone: Asia/Calcuta (timedatectl list-timezones)" "${lines[@]}"
with ZONE=../zoneinfo/UTC
refused "a path as time zone" "2: no such time zone: ../zoneinfo/UTC (timedatectl list-timezones)" "${lines[@]}"
with ZONE=Asia
refused "a folder as time zone" "2: no such time zone: Asia (timedatectl list-timezones)" "${lines[@]}"
for when in -h "Mon..Fry 09:05" "25:00" "Mon 09:05 UTC" "Mon 09:05 %i"; do
	with "WHEN=$when"
	refused "WHEN=$when" "1: WHEN is no calendar event of systemd.time(7) without a zone: $when" "${lines[@]}"
done
for time in 20 0m 25h 20x m; do
	with "FOR=$time"
	refused "FOR=$time" "3: FOR is not a time from 1s to 24h, such as 20m or 1h30m: $time" "${lines[@]}"
done
refused "an UNTIL that is no time" "3: UNTIL is not a time of day such as 09:25: 24:00" "${good[@]:0:2}" UNTIL=24:00 "${good[3]}"
refused "an UNTIL that is WHEN" "3: UNTIL is the time of WHEN: 9:05:00" "${good[@]:0:2}" UNTIL=9:05:00 "${good[3]}"
refused "an UNTIL of several" "3: UNTIL needs a WHEN that ends in one time of day; use FOR: 09:05,10:05" \
	WHEN=09:05,10:05 "${good[1]}" UNTIL=09:25 "${good[3]}"
refused "KEEP without unit" "5: KEEP is not a time from 1h to 3650d, such as 30d: 30" "${good[@]}" KEEP=30
refused "KEEP_SIZE without unit" "5: KEEP_SIZE is not a size from 1K to 1024T, such as 500M: 100000" "${good[@]}" KEEP_SIZE=100000
for tool in bash /usr/sbin/syscall-latency probe-list ../bin/sh; do
	with "COMMAND=$tool -j"
	refused "$tool as tool" "4: not a tool of plumb that traces for a duration: $tool" "${lines[@]}"
done
for word in -d5 --duration=5 --dur=5 --d --start-at=+1h --sta=+1h --until=+1h --u=+1h -- --check-arguments --check; do
	with "COMMAND=syscall-latency $word id"
	refused "$word for the tool" "4: not in a window, which begins by WHEN and ends by FOR or UNTIL: $word" "${lines[@]}"
done
with "COMMAND=syscall-latency --diff"
refused "what only begins as an option of the window: --diff" "4: syscall-latency: unrecognized option '--diff'" "${lines[@]}"
for command in "syscall-latency --help" "syscall-latency -j -V" "syscall-latency --about" "syscall-latency -b help" \
	"syscall-latency --mechanism=help" "event-rate -l"; do
	with "COMMAND=$command"
	refused "what prints: $command" "4: prints something and traces nothing: $command" "${lines[@]}"
done
for when in "2020-01-01 09:05" "*-02-30 09:05"; do
	with "WHEN=$when"
	refused "WHEN=$when" "1: WHEN never comes: $when" "${lines[@]}"
done
while read -r seconds when; do
	refused "$seconds s of WHEN=$when" "1: WHEN comes again before the window of $seconds s has ended, and is skipped then: $when" \
		"WHEN=$when" "FOR=${seconds}s" "${good[1]}" "${good[3]}"
done <<'END'
5400 *-*-* *:00
3600 *-*-* *:00
14400 Mon..Fri 09,12:05
1200 09:05,15:20
86400 09:05
END
while read -r length when; do
	window fits "WHEN=$when" "FOR=$length" "${good[1]}" "${good[3]}"
	is "$length of WHEN=$when is good" "$(inside plumb-window --check fits 2>&1)" "fits: good"
done <<'END'
59m *-*-* *:00
2h Mon..Fri 09,12:05
24h 2040-01-01 09:05
END
rm "$windows/fits.conf"
with 'COMMAND=syscall-latency "-c x'
refused "an open quote" '4: a quote or backslash has no end: syscall-latency "-c x' "${lines[@]}"
for flaw in "--jsn|unrecognized option '--jsn'" "-j -u lightyears|--unit: auto, ns, us, ms or s, as in -u us: lightyears" \
	"-j -c|option requires an argument -- 'c'" "10 5 7|unexpected argument: 7 (a command goes after --)" \
	"--sort=p98|--sort: no such column: p98; known: calls rate total share errors mean min p50 p90 p99 p99.9 max"; do
	with "COMMAND=syscall-latency ${flaw%%|*}"
	refused "what the tool refuses: ${flaw%%|*}" "4: syscall-latency: ${flaw#*|}" "${lines[@]}"
done
with "COMMAND=func-latency -j"
refused "a tool without what it takes" "4: func-latency: no function: func-latency FUNC..." "${lines[@]}"
refused "each line that is wrong" $'1: unknown name: A (known: WHEN, ZONE, FOR or UNTIL, COMMAND, KEEP, KEEP_SIZE)\n/etc/plumb/windows/refused.conf:2: KEEP is empty' \
	A=1 KEEP= "${good[@]}"
printf '%s\nKEEP=3d\0junk\n' "$(printf '%s\n' "${good[@]}")" >"$windows/nul.conf"
printf '%s\n' "${good[@]}" "KEEP=$(head -c 1000000 /dev/zero | tr '\0' 3)d" >"$windows/long.conf"
: >"$windows/empty.conf"
mkdir "$windows/folder.conf"
mknod -m 644 "$windows/zero.conf" c 1 5
is "nonsense is refused, each for what it is, and nothing waits" "$(
	for name in absent empty folder long nul zero; do
		timeout 20 unshare --mount chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin LC_ALL=C plumb-window --check "$name" 2>&1 |
			cut -c 1-100
		echo "$name: ${PIPESTATUS[0]}"
	done)" "/etc/plumb/windows/absent.conf: no such window
absent: 78
/etc/plumb/windows/empty.conf: is empty
empty: 78
/etc/plumb/windows/folder.conf: is no regular file
folder: 78
/etc/plumb/windows/long.conf:5: KEEP is not a time from 1h to 3650d, such as 30d: 333333333333333333
long: 78
/etc/plumb/windows/nul.conf: has a NUL character
nul: 78
/etc/plumb/windows/zero.conf: is no regular file
zero: 78"
rm -r "$windows"/{empty,folder,long,nul,zero}.conf
rm "$windows"/{refused,means}.conf

# Files that others can change are not read.
window mine "${good[@]}"
untrusted() {
	is "not read: $1" "$(inside plumb-window --check mine 2>&1)" "$2"
}
is "a file of root is" "$(inside plumb-window --check 2>&1)" "mine: good"
is "output that cannot be written is status 1" "$(inside plumb-window --check mine 2>&1 >/dev/full; echo $?)" \
	$'plumb-window: the output cannot be written\n1'

# without_file FILE MESSAGE - what is said where the system lacks it
without_file() {
	mv "$root$1" "$root$1.away"
	is "without $1 that is said" "$(inside plumb-window --check mine 2>&1; echo $?)" "/etc/plumb/windows/mine.conf:$2"$'\n'78
	mv "$root$1.away" "$root$1"
}
without_file /usr/bin/systemd-analyze "1: systemd-analyze is missing, which reads WHEN"
without_file /usr/share/zoneinfo "2: /usr/share/zoneinfo is missing, which has the time zones (package tzdata)"
without_file /usr/sbin/syscall-latency "4: no such tool: syscall-latency"

# start NAME LINE... - as its service does: status, messages and output
start() {
	window "$@"
	mkdir "$root/run/"{state,runtime}
	inside env STATE_DIRECTORY=/run/state RUNTIME_DIRECTORY=/run/runtime plumb-window --start "$1" 2>&1
	echo "$? $(cat "$root"/run/state/* 2>/dev/null)"
	rm -r "$root/run/"{state,runtime} "$windows/$1.conf"
}
with "COMMAND=syscall-latency -j --help"
is "a window that only prints fails, and leaves no file" "$(start prints "${lines[@]}")" \
	$'plumb-window: /etc/plumb/windows/prints.conf:4: prints something and traces nothing: syscall-latency -j --help\n78 '
mv "$root/usr/sbin/syscall-latency" "$root/usr/sbin/syscall-latency.away"
is "... as does one whose tool is not there" "$(start lacks "${good[@]}")" \
	$'plumb-window: /etc/plumb/windows/lacks.conf:4: no such tool: syscall-latency\n78 '
printf '%s\n' '#!/bin/sh' '[ "$1" = --check-arguments ] || echo "$@"' >"$root/usr/sbin/syscall-latency"
chmod +x "$root/usr/sbin/syscall-latency"
with "WHEN=2020-01-01 09:05"
is "one that has begun for the last time traces" "$(start last "${lines[@]}")" "0 -j -d 1200"
mv "$root/usr/sbin/syscall-latency.away" "$root/usr/sbin/syscall-latency"
chmod g+w "$windows/mine.conf"
untrusted "a file that its group can write to" "/etc/plumb/windows/mine.conf: writable by others than root (chmod go-w)"
chmod 646 "$windows/mine.conf"
untrusted "a file that all can write to" "/etc/plumb/windows/mine.conf: writable by others than root (chmod go-w)"
chmod 644 "$windows/mine.conf"
chown 65534 "$windows/mine.conf"
untrusted "another user's file" "/etc/plumb/windows/mine.conf: not owned by root"
mv "$windows/mine.conf" "$root/etc/elsewhere.conf"
chown 0 "$root/etc/elsewhere.conf"
ln -s /etc/elsewhere.conf "$windows/mine.conf"
untrusted "a link" "/etc/plumb/windows/mine.conf: is no regular file"
rm "$windows/mine.conf"
mkfifo "$windows/mine.conf"
untrusted "a FIFO" "/etc/plumb/windows/mine.conf: is no regular file"
rm "$windows/mine.conf"
window mine "${good[@]}"
chmod 777 "$windows"
untrusted "a file in a folder that others can write to" "/etc/plumb/windows: writable by others than root (chmod go-w)"
chmod 755 "$windows"
chmod 775 "${windows%/*}"
untrusted "a file below a folder that others can write to" "/etc/plumb: writable by others than root (chmod go-w)"
chmod 755 "${windows%/*}"
mv "${windows%/*}" "$root/etc/other"
ln -s other "${windows%/*}"
untrusted "a file below a link" "/etc/plumb: is no directory"
rm "${windows%/*}"
mv "$root/etc/other" "${windows%/*}"

# Windows of good files, whatever the others are.
window bad "${good[@]}" X=1
window "b%d" "${good[@]}"
long=$(printf 'l%.0s' {1..201})
window "$long" "${good[@]}"
window "${long%l}" "${good[@]}"
window second "WHEN=Sat 10:00" ZONE=Europe/London FOR=1h COMMAND=runq-latency KEEP_SIZE=2K
generate /run/generated
is "the generator succeeds where files are refused" $? 0
is "... and says each of them" "$(<"$work/generated")" "plumb-window-generator: /etc/plumb/windows/b%d.conf: a window's name consists of letters, digits, _, . and -
plumb-window-generator: /etc/plumb/windows/bad.conf:5: unknown name: X (known: WHEN, ZONE, FOR or UNTIL, COMMAND, KEEP, KEEP_SIZE)
plumb-window-generator: /etc/plumb/windows/$long.conf: a window's name has at most 200 characters"
claim "a name of 200 characters is none too long" test -s "$root/run/generated/plumb-window@${long%l}.timer.d/window.conf"
rm "$root/etc/plumb/windows/${long%l}.conf"
generate /run/generated
is "it makes timers of the others, and nothing else" "$(cd "$root/run/generated" && find . ! -type d | sort)" "./plumb-window@mine.service.d/window.conf
./plumb-window@mine.timer.d/window.conf
./plumb-window@second.service.d/window.conf
./plumb-window@second.timer.d/window.conf
./timers.target.wants/plumb-window@mine.timer
./timers.target.wants/plumb-window@second.timer"
is "the timer is that of the file" "$(grep -h '^[A-Z]' "$root/run/generated/plumb-window@second.timer.d/window.conf")" \
	$'SourcePath=/etc/plumb/windows/second.conf\nOnCalendar=Sat 10:00 Europe/London'
is "the service is limited to window, belt and what is kept" \
	"$(grep -h '^[A-Z]' "$root/run/generated/plumb-window@second.service.d/window.conf")" \
	$'SourcePath=/etc/plumb/windows/second.conf\nRuntimeMaxSec=3630\nLimitFSIZE=2048'
is "timers.target wants the unit that is installed" "$(readlink "$root/run/generated/timers.target.wants/plumb-window@mine.timer")" \
	/usr/lib/systemd/system/plumb-window@.timer
rm -r "$windows"
generate /run/generated
is "without a folder there are no windows, and no message" "$? $(ls -A "$root/run/generated")$(<"$work/generated")" "0 "

is "what only systemd starts says so" "$(inside plumb-window --start mine 2>&1)" \
	"plumb-window: only systemd starts a window: systemctl start plumb-window@mine.service"
is "wrong usage is status 2" "$(inside plumb-window mine >"$work/generated" 2>&1; echo $?) $(<"$work/generated")" \
	"2 plumb-window: --check, --start or --end is missing (try --help)"
like "--help is on stdout" "$(inside plumb-window --help 2>/dev/null)" '^Usage: plumb-window --check'
is "--version says that of plumb" "$(inside plumb-window --version)" "plumb-window (plumb) $(sed -n 's/^VERSION *:= //p' Makefile)"
done_testing
