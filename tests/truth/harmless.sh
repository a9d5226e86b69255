# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# user-func-latency: all functions of ordinary libraries, by glob, under ordinary programs, which have to
# work as they do without it.  The libraries are copies, so that no other process is traced.

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

# traced_programs NAME TARGET... - the tool's output and the programs' get this name
traced_programs() {
	as=$1
	shift
	# shellcheck disable=SC2086 # words
	launch "$as" -j "$@" -- sh "$truth/lib/programs.sh" "$as" "$libraries" $folders
	finish "$as" "$tool"
}

# By return probes, and by return instructions, since of the second exceptions may leave functions.
all_functions() {
	# shellcheck disable=SC2086 # words
	sh "$truth/lib/programs.sh" untraced "$libraries" $folders
	set -- "$PWD/lib/$loader:*" "$PWD/lib/libc.so.6:*"
	[ ! -e lib/libpthread.so.0 ] || set -- "$@" "$PWD/lib/libpthread.so.0:*"
	[ ! -e user32 ] || set -- "$@" "$PWD/user32:*"
	traced_programs probed "$@"
	set --
	for one in libgcc_s.so.1 libstdc++.so.6 libssl.so.3; do
		[ ! -e "lib/$one" ] || set -- "$@" "$PWD/lib/$one:*"
	done
	traced_programs returned "$@"
	for one in probed returned; do
		diff -r untraced "$one" >"$one.differs" 2>&1
	done
}

# The libraries of a system that is not this one, whose programs run with them; 32-bit ones throw, too.
other_system() {
	root=${2#*"	"} # what follows the tab is its directory
	for folder in "$root"/usr/lib/*-linux-gnu; do
		[ -e "$folder/libc.so.6" ] || return
	done
	case $1 in
	*-i386)
		if ! "$folder/ld-linux.so.2" --version >/dev/null 2>&1; then
			echo "this kernel runs no 32-bit programs" >"$1.err"
			return
		fi
		;;
	esac
	mkdir -p "$1/lib/.debug"
	cp "$folder"/ld-linux*.so.2 "$1/lib/$loader"
	for one in libc.so.6 libpthread.so.0 libgcc_s.so.1 libstdc++.so.6 libssl.so.3; do
		cp "$folder/$one" "$1/lib"
	done
	cp "$root"/usr/lib/debug/.build-id/*/*.debug "$1/lib/.debug"
	libraries=$PWD/$1/lib:$folder folders="$root/usr/bin $own"
	case $1 in
	*-i386)
		folders="$root/usr/bin $PWD/$1"
		"${CXX:-g++}" -m32 -O2 -fno-pic -no-pie -nostdlib -Wl,--allow-shlib-undefined -o "$1/throws" \
			"$truth/../workloads/library/throws32.cc" "$folder/libstdc++.so.6" "$folder/libgcc_s.so.1" "$folder/libc.so.6" || return
		;;
	esac
	cd "$1" && all_functions && cd ..
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=user-func-latency quick=--no-calibrate
	loader=ld-copy.so
	copy_libraries
	[ -e lib/libc.so.6 ] || { echo "no libc" >harmless.skip; return; }
	own=$(dirname "$(command -v upgrades)")
	libraries=$PWD/lib folders="/usr/bin $own"
	all_functions
	everything && systems='trixie-programs trixie-i386 bookworm-i386' || systems=
	for system in $systems; do
		other_system $system "$("$truth/../../scripts/chroots.sh" $system 2>$system.err)"
	done
	libraries=$PWD/lib folders="/usr/bin $own"

	# By name: by what may be, or refused.
	traced_programs resolve "$PWD/lib/$loader:_dl_runtime_resolve*"
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
	if [ -e "$own/thunks" ]; then
		launch thunks -j "$own/thunks:*" -- "$own/thunks"
		finish thunks "$tool"
	fi
	# A static program that is position-independent, and what switches stacks inside it.
	pie=$(dirname "$(command -v plugs)")/contexts-pie
	launch pie -j "$pie:*" -- sh -c '"$0" >pie.out' "$pie"
	finish pie "$tool"
	launch back -j "$PWD/lib/libc.so.6:lfind" -d 0.1
	finish back "$tool"
	launch cancelled "$PWD/lib/libc.so.6:nanosleep" -d 0.1
	finish cancelled "$tool"
	launch kept --mechanism=uprobe.multi.returns "$PWD/lib/libc.so.6:nanosleep" -d 0.1
	finish kept "$tool"
}

# judge_functions DIRECTORY/ SYSTEM
judge_functions() {
	local name
	evidence "$1"{probed,returned}.{err,differs} notes
	like "programs were run, $2" "$(find "$1untraced" -name '*.out' | wc -l)" '^1[0-9]$'
	for name in probed returned; do
		is "all functions, $2, $name: outputs and exit statuses are as without" "$(cat "$1$name.differs")" ""
		is "... and the tool ends well" "$(cat "$1$name.status")" 0
	done
	holds "... by return probes, of very many calls" "$1probed.json" \
		'($last.mechanism.name | endswith(".returns") | not) and $last.ledger.recorded > 20000 and ($last.rows | length) > 200'
	holds "... by return instructions" "$1returned.json" '($last.mechanism.name | endswith(".returns")) and $last.ledger.recorded > 20'
}

check() {
	if [[ -e harmless.skip ]]; then
		skip "functions of ordinary libraries" "$(cat harmless.skip)"
		return
	fi
	judge_functions ./ "this system"
	for name in trixie-programs trixie-i386 bookworm-i386; do
		everything || break
		if [[ -d $name ]]; then
			judge_functions "$name/" "$name"
		else
			skip "functions of $name" "$(tail -n 1 "$name.err")"
		fi
	done
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
	if [[ -e thunks.err ]]; then
		is "thunks that are jumped to, with something else on the stack's top: the program works" "$(cat thunks.status)" 0
		holds "... and only what is called is timed, by return probes" thunks.json \
			'($last.mechanism.name | endswith(".returns") | not) and ($last.rows | map(.count)) == [1009]'
	fi
	is "a static program that switches stacks, and is position-independent, works" "$(cat pie.status)" 0
	holds "... by probes on return instructions" pie.json '$last.mechanism.name | endswith(".returns")'
	holds "functions of the C library that call back are timed at their return instructions" back.json \
		'$last.mechanism.name | endswith(".returns")'
	like "what a cancellation in a function of the C library leaves undone is said" "$(cat cancelled.err)" \
		'nanosleep in .*: threads of C\+\+ that are cancelled there do not run their destructors; with --mechanism=uprobe'
	is "... but not where it leaves nothing undone" "$(grep -c destructors kept.err)" 0
}
