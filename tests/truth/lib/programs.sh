#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Ordinary programs with libraries of one's own: what each printed and its exit status, in a new directory.
#
#	sh programs.sh OUT LIBRARIES BIN...
#
# LIBRARIES has the dynamic linker, too, as ld-copy.so; programs are those of the first BIN that has them.

out=$1 libraries=$2 home=${3%/bin}
shift 2
folders=$*
mkdir "$out"
cd "$out" || exit 1
[ "$home" = /usr ] || export PYTHONHOME="$home"

try() {
	name=$1 path=
	for folder in $folders; do
		[ -n "$path" ] || [ ! -x "$folder/$2" ] || path=$folder/$2
	done
	[ -n "$path" ] || return 0
	shift 2
	"${libraries%%:*}/ld-copy.so" --library-path "$libraries" "$path" "$@" </dev/null >"$name.out" 2>&1
	echo "status $?" >>"$name.out"
}
i=0
while [ $i -lt 300 ]; do echo "line $((i * 7919 % 300)) of many"; i=$((i + 1)); done >lines
try ls ls -l "${libraries%%:*}"
try missing ls /nonexistent
try sort sort -n -k2 lines
try awk awk '{ sum += $2 } END { print sum, sin(sum) }' lines
try sed sed -n 's/line \([0-9]*\)/\1/p' lines
try grep grep -c '[37].*many' lines
try gzip gzip -c -n lines
try xz xz -c lines
try tar tar --version
try find find "${libraries%%:*}" -name '*so*'
try date date -u -d @86400
try bash bash -c 'f() { return 7; }; x=$(f || echo $?); (exit $((x + 1)))'
try python3 python3 -S -c 'import sys, threading, subprocess
t = [threading.Thread(target=lambda: sum(range(1000))) for _ in range(4)]
[i.start() for i in t]; [i.join() for i in t]
print(subprocess.run(["true"]).returncode, sorted(map(str, range(30))))
sys.exit(5)'
try perl perl -e 'fork or exit 3; wait; print $? >> 8, "\n"; eval { die "caught\n" }; print $@; exit 4'
try openssl openssl dgst -sha256 lines
try throws throws 100
try leaves leaves
for folder in $folders; do
	[ ! -e "$folder/libplug.so" ] || try plugs plugs "$folder/libplug.so" 5
done
[ ! -x ../user32 ] || { ../user32; echo "status $?" >user32.out; }
