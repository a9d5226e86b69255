# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# user-func-latency: all functions of ordinary libraries, by glob, under ordinary programs, which have to
# work as they do without it.  The libraries are copies, so that no other process is traced.

# What is run, in the directory $1, with what each printed and its exit status there.
write_programs() {
	cat >programs <<'END'
here=$PWD loader=$PWD/lib/ld-copy.so
mkdir "$1"
cd "$1" || exit 1
try() {
	name=$1 path=$(command -v "$2") || return 0
	shift 2
	"$loader" --library-path "$here/lib" "$path" "$@" </dev/null >"$name.out" 2>&1
	echo "status $?" >>"$name.out"
}
i=0
while [ $i -lt 300 ]; do echo "line $((i * 7919 % 300)) of many"; i=$((i + 1)); done >lines
try ls ls -l "$here/lib"
try missing ls /nonexistent
try sort sort -n -k2 lines
try awk awk '{ sum += $2 } END { print sum, sin(sum) }' lines
try sed sed -n 's/line \([0-9]*\)/\1/p' lines
try grep grep -c '[37].*many' lines
try gzip gzip -c -n lines
try xz xz -c lines
try tar tar --version
try find find "$here/lib" -name '*so*'
try date date -u -d @86400
try bash bash -c 'f() { return 7; }; x=$(f || echo $?); (exit $((x + 1)))'
try python3 python3 -S -c 'import sys, threading, subprocess
t = [threading.Thread(target=lambda: sum(range(1000))) for _ in range(4)]
[i.start() for i in t]; [i.join() for i in t]
print(subprocess.run(["true"]).returncode, sorted(map(str, range(30))))
sys.exit(5)'
try perl perl -e 'fork or exit 3; wait; print $? >> 8, "\n"; eval { die "caught\n" }; print $@; exit 4'
try openssl openssl dgst -sha256 lines
try throws "$(dirname "$(command -v upgrades)")/throws" 100
try leaves "$(dirname "$(command -v upgrades)")/leaves"
try plugs plugs "$(dirname "$(command -v plugs)")/libplug.so" 5
[ ! -x "$here/user32" ] || { "$here/user32"; echo "status $?" >user32.out; }
END
}

copy_libraries() {
	mkdir lib
	ldd "$(dirname "$(command -v upgrades)")/throws" | tr '\t' '\n' >needed
	# shellcheck disable=SC2013 # words
	for one in $(grep -o '/[^ ]*' needed); do
		case $one in
		*/ld-*) cp "$one" "lib/$loader" ;;
		*) cp "$one" lib/ ;;
		esac
	done
	for one in libpthread.so.0 libssl.so.3; do
		for folder in $(grep -o '/[^ ]*/' needed); do
			[ ! -e "$folder/$one" ] || cp "$folder/$one" lib/
		done
	done
	user32=$(dirname "$(command -v upgrades)")/user32
	"$user32" 2>/dev/null && cp "$user32" . || :
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=user-func-latency quick=--no-calibrate
	loader=ld-copy.so
	write_programs
	copy_libraries
	[ -e lib/libc.so.6 ] || { echo "no libc" >harmless.skip; return; }
	sh programs untraced
	# By return probes, and by return instructions, since of the second exceptions may leave functions.
	set -- "$PWD/lib/$loader:*" "$PWD/lib/libc.so.6:*"
	[ ! -e lib/libpthread.so.0 ] || set -- "$@" "$PWD/lib/libpthread.so.0:*"
	[ ! -e user32 ] || set -- "$@" "$PWD/user32:*"
	launch probed -j "$@" -- sh programs probed
	finish probed "$tool"
	set --
	for one in libgcc_s.so.1 libstdc++.so.6 libssl.so.3; do
		[ ! -e "lib/$one" ] || set -- "$@" "$PWD/lib/$one:*"
	done
	launch returned -j "$@" -- sh programs returned
	finish returned "$tool"
	for one in probed returned; do
		diff -r untraced "$one" >"$one.differs" 2>&1
	done

	# By name: by what may be, or refused.
	launch resolve -j "$PWD/lib/$loader:_dl_runtime_resolve*" -- sh programs resolve
	finish resolve "$tool"
	if [ -e user32 ]; then
		launch thunk -j "$PWD/user32:__x86.get_pc_thunk.bx" -- ./user32
		finish thunk "$tool"
	fi
	# Exceptions that pass through a program of C, which loads C++ later.
	plugs=$(command -v plugs) plug=$(dirname "$(command -v plugs)")/libplug.so
	launch plugged -j "$plugs:plugs_between" -- sh -c 'plugs "$0" 7 >plugged.out' "$plug"
	finish plugged "$tool"
	launch unsafe -j --mechanism=uprobe "$plug:plug" -- plugs "$plug" 7
	finish unsafe "$tool"
	launch perhaps -j --mechanism=uprobe "$plugs:plugs_between" -- plugs "$plug" 7
	finish perhaps "$tool"
	# A static program that is position-independent, and what switches stacks inside it.
	pie=$(dirname "$(command -v plugs)")/contexts-pie
	launch pie -j "$pie:*" -- sh -c '"$0" >pie.out' "$pie"
	finish pie "$tool"
	launch back -j "$PWD/lib/libc.so.6:lfind" -d 0.1
	finish back "$tool"
}

check() {
	if [[ -e harmless.skip ]]; then
		skip "functions of ordinary libraries" "$(cat harmless.skip)"
		return
	fi
	evidence probed.err returned.err notes
	like "programs were run" "$(find untraced -name '*.out' | wc -l)" '^1[0-9]$'
	for name in probed returned; do
		is "all functions, $name: outputs and exit statuses are as without" "$(cat "$name.differs")" ""
		is "... and the tool ends well" "$(cat "$name.status")" 0
	done
	holds "... by return probes, of very many calls" probed.json \
		'($last.mechanism.name | endswith(".returns") | not) and $last.ledger.recorded > 20000 and ($last.rows | length) > 200'
	holds "... by return instructions" returned.json '($last.mechanism.name | endswith(".returns")) and $last.ledger.recorded > 20'
	like "what is not entered by a call is refused by name, with the reason" "$(cat resolve.status resolve.err)" \
		'^1.*_dl_runtime_resolve.*: it depends on its return address, which a return probe replaces; it ends in a jump'
	if [[ -e thunk.err ]]; then
		is "a function that reads its return address: the program works" "$(cat thunk.status)" 0
		holds "... and it is timed at its return instruction" thunk.json \
			'($last.mechanism.name | endswith(".returns")) and ($last.rows | map(.count)) == [1]'
	fi
	like "exceptions of C++ that a program of C loads later pass" "$(cat plugged.status plugged.out)" '^0.*caught 7'
	holds "... by probes on return instructions" plugged.json \
		'($last.mechanism.name | endswith(".returns")) and $last.ledger.abandoned == 7'
	like "return probes that would end a program are refused, with what would not" "$(cat unsafe.status unsafe.err)" \
		'^1.*--mechanism=uprobe: an exception through its return probe would end the program \(uprobe\.multi\.returns'
	like "... those that might, too, where return instructions do the same" "$(cat perhaps.status perhaps.err)" \
		'^1.*--mechanism=uprobe: C\+\+ may be loaded later, and an exception .* \(uprobe\.multi\.returns'
	is "a static program that switches stacks, and is position-independent, works" "$(cat pie.status)" 0
	holds "... by probes on return instructions" pie.json '$last.mechanism.name | endswith(".returns")'
	holds "functions of the C library that call back are timed at their return instructions" back.json \
		'$last.mechanism.name | endswith(".returns")'
}
