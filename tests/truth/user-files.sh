# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# user-func-latency: libraries that are replaced while they are traced, and files of other mount
# namespaces.  The workload loads a library that it is given.

lib() {
	dirname "$(command -v upgrades)"
}

# called WORKLOAD - has it made its calls?
called() {
	[ -e "$1.gates/called" ] || is_over "$(cat "$1.pid")"
}

# calls WORKLOAD - lets it make them
calls() {
	open_gate "$1" go
	await 60 called "$1"
}

# The file of version $2 comes into the place of $1, as package managers put it there.
put_in_place() {
	cp "$(lib)/libupgrade.$2.so" "$1.new"
	mv "$1.new" "$1"
}

# traces_too TOOL - waits until it traces a second build, which it says
traces_too() {
	await 20 grep -q 'was replaced: the new file is traced as well' "$1.err"
}

run_upgrade() {
	put_in_place "$PWD/libup.so.1" 1
	start before upgrades "$PWD/libup.so.1" 1009
	program=func-count
	launch chosen-count -j -d 90 -p "$pid" u:libup.so.1:upgrade_chosen u:libup:upgrade_work
	launch upgrade-count -j -v -d 90 "u:$PWD/libup.so.1:upgrade_work"
	launch upgrade-table -d 90 "u:$PWD/libup.so.1:upgrade_work"
	program=func-stack
	launch upgrade-stack -j -v "u:$PWD/libup.so.1:upgrade_work"
	program=usdt-latency
	launch upgrade-usdt -j -v "$PWD/libup.so.1:upgrade:begin" "$PWD/libup.so.1:upgrade:end"
	launch chosen-usdt -j -p "$pid" libup:upgrade:begin libup:upgrade:end
	program=user-func-latency
	launch chosen -j -p "$pid" libup:upgrade_chosen
	launch upgrade -j -v -b func,file "$PWD/libup.so.1:upgrade_work"
	attaching="upgrade upgrade-usdt chosen-usdt upgrade-count upgrade-table upgrade-stack chosen chosen-count"
	attached
	put_in_place "$PWD/libup.so.1" 2
	for one in upgrade upgrade-usdt upgrade-count upgrade-stack; do
		traces_too "$one"
	done
	start after upgrades "$PWD/libup.so.1" 503
	calls before
	calls after
	# It begins when the old file is gone, and is mapped.
	launch late -j "$PWD/libup.so.1:upgrade_work" -d 0.2
	finish late "$tool"
	detach upgrade upgrade-usdt chosen-usdt upgrade-count upgrade-table upgrade-stack chosen chosen-count
	for one in before after; do
		open_gate "$one" leave
		finish "$one" "$(cat "$one.pid")"
	done
}

# The new file is written piece by piece, as by a linker.
run_written() {
	put_in_place "$PWD/libpart.so" 1
	launch part -j -v "$PWD/libpart.so:upgrade_work"
	await 60 is_tracing part
	rm libpart.so
	{
		head -c 9000 "$(lib)/libupgrade.2.so"
		sleep 0.7
		tail -c +9001 "$(lib)/libupgrade.2.so"
	} >libpart.so
	traces_too part
	start parted upgrades "$PWD/libpart.so" 53
	calls parted
	detach part
	open_gate parted leave
	finish parted "$(cat parted.pid)"
}

run_link() {
	cp "$(lib)/libupgrade.1.so" liblink.so.1.1
	cp "$(lib)/libupgrade.2.so" liblink.so.1.2
	ln -s liblink.so.1.1 liblink.so.1
	start old upgrades "$PWD/liblink.so.1" 101
	launch link -j -v -b file "$PWD/liblink.so.1:upgrade_work"
	await 60 is_tracing link
	ln -s liblink.so.1.2 liblink.so.next
	mv liblink.so.next liblink.so.1
	traces_too link
	start new upgrades "$PWD/liblink.so.1" 211
	calls old
	calls new
	detach link
	for one in old new; do
		open_gate "$one" leave
		finish "$one" "$(cat "$one.pid")"
	done
}

# What the tool waits for, of the kernel's own: for events, and for a time.
run_told() {
	command -v strace >/dev/null || return
	cp "$(lib)/libupgrade.1.so" libtold.so
	strace -o told.calls -s 99 -e trace=ppoll,write user-func-latency --no-calibrate -j -d 90 \
		"$PWD/libtold.so:upgrade_work" </dev/null >told.json 2>told.err &
	echo $! >told.pid
	await 60 is_tracing told
	truncate -s 5000 libtold.so
	await 20 grep -q 'changed in place' told.err
	kill -TERM "$(pgrep -P "$(cat told.pid)")"
	finish told "$(cat told.pid)"
}

run_change() {
	cp "$(lib)/libupgrade.1.so" libchange.so
	cp libchange.so libcut.so
	truncate -s 5000 libcut.so
	start changed upgrades "$PWD/libchange.so" 10000000 100
	launch change -j "$PWD/libchange.so:upgrade_work"
	await 60 is_tracing change
	open_gate changed go
	touch libchange.so
	sleep 0.6 # it is looked at twice
	grep 'changed in place' change.err >change.touched
	truncate -s 5000 libchange.so
	await 20 grep -q 'changed in place' change.err
	is_over "$(cat changed.pid)" || echo alive >change.alive
	detach change
	kill -KILL "$(cat changed.pid)"
	finish changed "$(cat changed.pid)" 2>/dev/null
	run_told
	launch cut -j -d 0.1 "$PWD/libcut.so:upgrade_work"
	finish cut "$tool"
}

# A process of a container, for which the path leads to another file than for the host.
run_namespace() {
	cp "$(lib)/libupgrade.1.so" libspace.so
	cp "$(lib)/libupgrade.2.so" libother.so
	unshare --user --map-root-user --mount true 2>/dev/null || { echo "no user or mount namespace" >space.skip; return; }
	start space unshare --user --map-root-user --mount --pid --fork --kill-child sh -c \
		'mount --bind "$0/libother.so" "$0/libspace.so"; exec upgrades "$0/libspace.so" 307' "$PWD"
	inside=$(pgrep -P "$(cat space.pid)")
	attach inside -b file -p "$inside" "$PWD/libspace.so:upgrade_work"
	attach named -b file -p "$inside" libspace:upgrade_work
	attach host -b file "$PWD/libspace.so:upgrade_work"
	program=func-count
	attach inside-count -d 90 -p "$inside" "u:$PWD/libspace.so:upgrade_work"
	attach named-count -d 90 -p "$inside" u:libspace:upgrade_work
	attach host-count -d 90 "u:$PWD/libspace.so:upgrade_work"
	program=func-stack
	attach named-stack -p "$inside" u:libspace:upgrade_work
	program=user-func-latency
	attached
	calls space
	detach inside named host inside-count named-count host-count named-stack
	open_gate space leave
	finish space "$(cat space.pid)"
}

# Programs that run while their files are attached to, one after the other.
run_several() {
	for number in 1 2 3 4; do
		cp "$(lib)/libupgrade.1.so" "libmany$number.so"
		start "many$number" upgrades "$PWD/libmany$number.so" 10000000 1000
		open_gate "many$number" go
	done
	launch several -j -d 0.5 --mechanism=uprobe.returns "$PWD/libmany1.so:upgrade_work" "$PWD/libmany2.so:upgrade_work" \
		"$PWD/libmany3.so:upgrade_work" "$PWD/libmany4.so:upgrade_work"
	finish several "$tool"
	for number in 1 2 3 4; do
		kill -KILL "$(cat "many$number.pid")"
		finish "many$number" "$(cat "many$number.pid")" 2>/dev/null
	done
}

# A 32-bit program, if this kernel executes it.
run_32() {
	user32=$(lib)/user32
	"$user32" 2>/dev/null || { echo "no 32-bit programs" >32.skip; return; }
	for mech in uprobe.session uprobe.multi uprobe; do
		launch "32-$mech" -j --mechanism="$mech" -b func,ret "$user32:user_32*" -- "$user32"
		finish "32-$mech" "$tool"
	done
	launch 32-arg -j -b arg:0 "$user32:user_32" -- "$user32"
	finish 32-arg "$tool"
	program=usdt-latency launch 32-usdt -b arg:0 "$user32:app:level" "$user32:app:none" -- "$user32"
	finish 32-usdt "$tool"
	program=func-count launch 32-count -j "usdt:$user32:app:level" -- "$user32"
	finish 32-count "$tool"
}

# A name with bytes that are not printable, and not UTF-8.
run_escaped() {
	objcopy --redefine-sym "user_leaf=$(printf 'user_\033[31m\377leaf')" "$(command -v userfuncs)" escaped
	launch escaped -j "$PWD/escaped:user_*leaf" -- ./escaped 1
	finish escaped "$tool"
}

# A symbol that points inside an instruction.
run_inside() {
	userfuncs=$(command -v userfuncs)
	text=$(objdump -h "$userfuncs" | awk '$2 == ".text" {print "0x" $4}')
	inside=$(objdump -d --no-show-raw-insn --disassemble=user_recurses "$userfuncs" | awk -F: '/^ / {print "0x" $1}' | tr -d ' ' | {
		read -r one
		while read -r next && [ $((next - one)) -lt 2 ]; do one=$next; done
		echo $((one + 1))
	})
	objcopy --add-symbol "user_inside=.text:$((inside - text)),function,global" "$userfuncs" misplaced
	launch misplaced -j "$PWD/misplaced:user_inside" -- ./misplaced 1
	finish misplaced "$tool"
	quick='' program=probe-check launch misplaced-check "u:$PWD/misplaced:user_inside"
	finish misplaced-check "$tool"
}

# A file by its name in the mappings of a process, which is replaced.
run_by_name() {
	put_in_place "$PWD/libnamed.so" 1
	start named upgrades "$PWD/libnamed.so" 101
	launch by-name -j -v -p "$pid" libnamed.so:upgrade_work
	await 60 is_tracing by-name
	put_in_place "$PWD/libnamed.so" 2
	traces_too by-name
	calls named
	detach by-name
	open_gate named leave
	finish named "$(cat named.pid)"
	launch unmapped -d 0.1 -p $$ "$PWD/libnamed.so:upgrade_work"
	finish unmapped "$tool"
}

# Exceptions leave functions.  The kernel's return probes would end the program.
run_throws() {
	throws=$(lib)/throws
	for mech in chosen uprobe.multi.returns uprobe.returns; do
		if [ "$mech" = chosen ]; then set --; else set -- --mechanism="$mech"; fi
		launch "throws-$mech" -j "$@" "$throws:throws::Calls::*" -- "$throws" 1009
		finish "throws-$mech" "$tool"
	done
}

# What return probes do not survive: a switch of stacks inside a call, a return address that is kept.
run_stacks() {
	launch contexts -j "$(command -v contexts):context_turn" -- contexts
	finish contexts "$tool"
	for function in _setjmp vfork; do
		launch "keeps-$function" -d 1 -p $$ "libc:$function"
		finish "keeps-$function" "$tool"
	done
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=user-func-latency quick=--no-calibrate
	uname -r >kernel
	run_upgrade
	run_link
	run_written
	run_change
	run_namespace
	run_several
	run_32
	run_throws
	run_stacks
	run_by_name
	run_escaped
	run_inside
}

check_counts() {
	for name in usdt count stack; do
		evidence "upgrade-$name.json" "upgrade-$name.err"
		holds "an upgrade, $name: both files are traced, each with its calls" "upgrade-$name.json" '
			([$last.rows[].count] | add) == 1009 + 503
			and ($last.builds | map([.replaced, .processes, .calls])) == [[true, 1, 1009], [false, 1, 503]]'
	done
	like "... which the table says" "$(tr -s '\n ' ' ' <upgrade-table.json)" \
		'libup\.so\.1 \([0-9a-f]{12}\): 1009 calls, in 1 processes now \(replaced\) .*: 503 calls, in 1 processes now; '
	evidence chosen.json chosen.err chosen-count.json chosen-count.err
	holds "an ifunc and a bare name: the process's own, func-count" chosen-count.json '
		($last.rows | map([(.key.func | sub(".*:"; "")), .count]) | sort) == [["upgrade_chosen", 1009], ["upgrade_work", 1009]]'
	case $(cat kernel) in
	5.* | 6.[0-5].*) ;;
	*) holds "... by one link, which is removed at once" chosen-count.json '$last.mechanism.name == "uprobe.multi"' ;;
	esac
	holds "... user-func-latency" chosen.json '($last.rows | map(.count)) == [1009]'
	holds "... usdt-latency" chosen-usdt.json '($last.rows | map(.count)) == [1009] and $last.ledger.unmatched == 0'
}

check() {
	check_counts
	evidence upgrade.err late.err link.err change.err cut.err notes
	holds "... from when on, and what may be missed, is said" upgrade.json '$last | .start as $start | .builds
		| (map(.missed_before_ns > 0) == [false, true]) and all(.[]; .until == null) and .[1].since > $start
			and all(.[]; .missed_before_ns < 20e9)'
	like "... in the table, too" "$(tr -s '\n ' ' ' <upgrade-table.json)" \
		'503 calls, in 1 processes now; traced from [0-9:.]+ on, calls of up to [0-9.e-]+ s before are not in it'
	holds "an upgrade: both files are traced, each with its calls" upgrade.json '
		($last.rows | map([(.key.func | sub(".*:"; "")), .count]) | sort) == [["upgrade_work", 503], ["upgrade_work", 1009]]
		and ($last.builds | map([.replaced, .processes, .calls])) == [[true, 1, 1009], [false, 1, 503]]
		and ($last.builds | map(.build_id) | unique | length) == 2'
	holds "... and a trace that begins later finds the replaced file by its process" late.json \
		'($last.builds | map([.replaced, .processes])) == [[false, 1], [true, 1]]'
	holds "a symbolic link that is switched: the same" link.json \
		'($last.rows | map(.count) | sort) == [101, 211] and ($last.builds | map(.calls)) == [101, 211]'
	is "a new time of a file is not taken for a change" "$(cat change.touched)" ""
	like "a file that is cut off in place is no longer traced" "$(cat change.err)" 'libchange\.so was changed in place: it is no longer traced'
	like "... with what processes may have computed meanwhile" "$(cat change.err)" \
		'Processes that began from [0-9:.]{12} to [0-9:.]{12} may have computed wrongly'
	holds "... and in JSON until when it was traced" change.json '$last | .end as $end | .builds | length == 1 and (.[0].until | . != null and . < $end)'
	if [[ -e told.status ]]; then
		is "... at once: it is the change that ends the wait before, not the time" \
			"$(sed -n '/write(2.*changed in place/q; /^ppoll/p' told.calls | tail -n 1 | grep -c '= 1 (\[{fd=.*revents=POLLIN')" 1
		is "... and the trace goes on" "$(cat told.status)" 0
	fi
	is "... its process lives" "$(cat change.alive)" alive
	is "... and the trace ends well" "$(cat change.status)" 0
	is "a damaged file is an error" "$(cat cut.status) $(wc -l <cut.err)" "1 1"
	like "... that names it" "$(cat cut.err)" "^user-func-latency: .*libcut\.so"
	holds "files that are attached to one after the other are traced for the same time" several.json \
		'$last.rows | length == 4 and ((map(.count) | max) < 1.5 * (map(.count) | min))'
	if [[ -e 32.skip ]]; then
		skip "32-bit programs" "$(cat 32.skip)"
	else
		for name in uprobe.session uprobe.multi uprobe; do
			holds "a 32-bit program, $name: its calls, 23 deep, and its results" "32-$name.json" '
				($last.rows | map([(.key.func | sub(".*:"; "")), .key.ret, .count]) | sort)
					== [["user_32", -22, 1009], ["user_32_deep", -22, 23]] and $last.ledger.abandoned == 0'
		done
		like "... whose arguments are refused" "$(cat 32-arg.status 32-arg.err)" "^1.*user32 is a 32-bit file: its arguments are on the stack"
		holds "... its USDT probe" 32-count.json '($last.rows | map(.count)) == [23]'
		like "... whose arguments are refused as well" "$(cat 32-usdt.status 32-usdt.err)" "^1.*argument 0 of app:level cannot be read: .*, of a 32-bit program"
	fi
	for name in chosen uprobe.multi.returns uprobe.returns; do
		holds "exceptions, $name: calls that return, and those that an exception leaves" "throws-$name.json" '
			($last.rows | map([(.key.func | sub(".*::"; "")), .count]) | sort) == [["between", 505], ["odd", 505], ["outer", 1009]]
			and $last.ledger.abandoned == 2 * 504 and ($last.mechanism.name | endswith(".returns"))'
		like "... which are caught as ever" "$(cat "throws-$name.err")" 'caught 504'
	done
	evidence part.json part.err
	holds "a new file that is written piece by piece is traced when it is whole" part.json \
		'($last.rows | map(.count)) == [53] and ($last.builds | map(.calls)) == [0, 53]
		and $last.builds[1].missed_before_ns >= 500000000 and $last.builds[1].until == null'
	holds "a file by its name in the mappings, replaced: its calls, and both builds" by-name.json \
		'($last.rows | map(.count)) == [101] and ($last.builds | map([.replaced, .calls])) == [[true, 101], [false, 0]]'
	is "... without a message about that name" "$(grep 'no library or program' by-name.err)" ""
	like "a process that has not mapped the file: a warning" "$(cat unmapped.status unmapped.err)" \
		'^0.*: process [0-9]+ has not mapped /.*/libnamed\.so: it is traced once it does'
	is "... only then" "$(grep -l 'has not mapped' ./*.err)" ./unmapped.err
	holds "bytes of a name that are not printable are escaped" escaped.json \
		'($last.rows | map([(.key.func | sub(".*:"; "")), .count])) == [["user_\\x1b[31m\\xffleaf", 1009]]'
	like "a symbol inside an instruction is refused" "$(cat misplaced.err)" 'user_inside in .*: its symbol points inside an instruction'
	is "... and not probed" "$(cat misplaced.status misplaced-check.status | tr '\n' ' ')" '1 3 '
	like "a program that switches stacks runs as ever" "$(cat contexts.err contexts.json)" '"function":"context_turn","count":100'
	holds "... by probes on return instructions" contexts.json '$last.mechanism.name | endswith(".returns")'
	like "_setjmp has no return probe" "$(cat keeps-_setjmp.status keeps-_setjmp.err)" "^1.*_setjmp in .*: it depends on its return address"
	like "... nor has vfork, whose return instruction is probed" "$(cat keeps-vfork.status keeps-vfork.json)" '^0.*measured by uprobe\.(multi\.)?returns;'
	if [[ -e space.skip ]]; then
		skip "files of a mount namespace" "$(cat space.skip)"
		return
	fi
	for name in inside named; do
		holds "$name: in its mount namespace the path leads to the process's file" "$name.json" \
			'($last.rows | map(.count)) == [307] and ($last.rows[0].key.file | startswith("/proc/"))'
	done
	for name in inside-count named-count named-stack; do
		holds "$name: the same" "$name.json" '([$last.rows[].count] | add) == 307
			and ($last.builds | map([.calls, (.file | startswith("/proc/"))])) == [[307, true]]'
	done
	holds "the host's file of that path, counted" host-count.json '[$last.rows[] | select(.count > 0)] == []'
	holds "the host's file of that path is another one" host.json '$last.rows == []'
}
