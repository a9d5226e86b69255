#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Another user's symbolic link in a sticky directory makes root write nothing where it leads, with
# fs.protected_symlinks as distributions set it: neither if it is there nor if it comes during the trace.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
evidence "$work/said" "$work/err"

status=0
# shellcheck disable=SC2016 # for the guest
scripts/vm.sh 6.12 -- sh -c '
	as_nobody() { su -s /bin/sh nobody -c "$1"; }
	show() { echo "victim after $1: $(cat /root/victim) $(stat -c "%a %U" /root/victim) $(stat -c %i /root/victim)"; }
	echo 1 >/proc/sys/fs/protected_symlinks
	chmod 1777 /tmp
	echo precious >/root/victim
	chmod 600 /root/victim
	show nothing

	as_nobody "ln -s /root/victim /tmp/save"
	cat /tmp/save && echo "the kernel follows it"
	probe-check --save=/tmp/save k:vfs_read >/dev/null
	echo "--save: status $?"
	show --save

	cpu-profile -F 99 --flame=/tmp/save -- true >/dev/null
	echo "--flame to a link: status $?"
	cpu-profile -F 99 --flame=/tmp/flame -- su -s /bin/sh nobody -c "ln -s /root/victim /tmp/flame" >/dev/null
	echo "--flame and then a link: status $? $(readlink /tmp/flame)"
	show --flame

	as_nobody "echo theirs >/tmp/theirs"
	probe-check --save=/tmp/theirs k:vfs_read >/dev/null
	echo "--save to a file of theirs: status $? $(cat /tmp/theirs)"

	echo old >/root/linked
	chown nobody /root/linked
	chmod 640 /root/linked
	ln -s linked /root/link
	probe-check --save=/root/link k:vfs_read >/dev/null
	echo "--save by a link of root: status $? $(readlink /root/link) $(stat -c "%a %U" /root/linked) $(head -c 1 /root/linked)"
	echo "left: $(ls -A /tmp /root | grep -c plumb-)"
	' >"$work/said" 2>"$work/err" || status=$?
((status != 77)) || { echo "1..0 # SKIP the archive has no 6.12"; exit 0; }
is "the machine runs to its end" "$status" 0
victims=$(sed -n 's/^victim after [^:]*: //p' "$work/said" | sort -u)
like "what the links lead to is what it was" "$victims" '^precious 600 root [0-9]+$'
is "... looked at each time" "$(grep -c '^victim after' "$work/said")" 3
is "... and the kernel follows them for nobody else" "$(grep -c 'the kernel follows' "$work/said")" 0

said() { like "$1" "$(<"$work/said")" "$2"; }
complains() { like "... $1" "$(<"$work/err")" "$2"; }
said "--save to a link fails" '--save: status 1'
complains "naming link and cause" "probe-check: --save: cannot write /tmp/save: another user's symbolic link is not followed"
said "--flame to a link fails" '--flame to a link: status 1'
complains "naming link and cause" "cpu-profile: --flame: cannot write /tmp/save: another user's symbolic link"
said "--flame fails by a link that was made during the trace, which stays" '--flame and then a link: status 1 /root/victim'
complains "naming it" "cpu-profile: --flame: cannot write /tmp/flame: another user's symbolic link is not followed"
said "another user's file is not written to where all may write" '--save to a file of theirs: status 1 theirs'
said "root's own link is followed; owner and mode stay" '--save by a link of root: status 0 linked 640 nobody \{'
said "no file of ours is left" 'left: 0'
done_testing
