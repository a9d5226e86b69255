# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Calls that do not just begin and end.

# of_process TOOL 'TOOL-ARGS' WORKLOAD ARG... - trace a running workload by its pid
of_process() {
	of=$1 options=$2
	shift 2
	start "under-$of" "$@"
	# shellcheck disable=SC2086 # words
	attach "$of" $options -p "$pid"
	go "under-$of"
	detach "$of"
}

nameless() {
	launch empty-text -s getppid -b comm -- calls -t 2 -n ,other 23 getppid
	finish empty-text "$tool"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	quick=--no-calibrate
	of_process exec '-s execve -b pid,syscall' processes 23 exec
	also of_process exec-thread '-s execve -b pid,syscall' processes 7 exec-thread
	forks='-s fork,vfork,clone,clone3,getppid -b syscall'
	[ "$(uname -m)" = x86_64 ] || forks='-s clone,clone3,getppid -b syscall'
	children='fork vfork clone3'
	everything || children=clone3
	for call in $children; do
		of_process "$call-parent" "$forks" processes 23 "$call"
		# shellcheck disable=SC2086 # words
		traced "$call-children" $forks -- processes 23 "$call"
	done
	of_process self '-s tgkill,rt_sigreturn -b syscall' signals 101 self
	also of_process suspend '-s rt_sigsuspend,rt_sigreturn -b syscall,errno' signals 23 suspend
	of_process preempted '-s rt_sigsuspend,rt_sigreturn -b syscall,errno' signals 5000 preempted
	also of_process read-eintr '-s read,rt_sigreturn -b syscall,errno' signals 7 read-eintr
	of_process read-restart '-s read,rt_sigreturn -b syscall,errno' signals 7 read-restart
	also of_process nanosleep '-s nanosleep,rt_sigreturn -b syscall,errno' signals 7 nanosleep
	also of_process stop '-s nanosleep,restart_syscall -b syscall,errno' signals 2 stop
	also of_process refused '-s getppid' refused 1009 23

	also traced nosys -s syscall_1000 -b syscall -- calls 23 nosys
	escape=$(printf 'a\033b\\c')
	traced escape -s getppid -b comm -- calls -t 1 -n "$escape" 23 getppid
	also traced escaped -s getppid -b comm -c 'a\x1bb\\c' -- calls -t 2 -n "$escape,other" 23 getppid
	also nameless
	also traced empty -s getppid -b comm -- calls -t 2 -n ,other 23 getppid
	traced ia32-hint --mechanism=raw_tracepoint -s getppid -- ia32 23 0
	traced ia32-fentry --mechanism=fentry -s getppid -- ia32 23 0

	start under-ia32 ia32 211 1009 || :
	if is_over "$pid"; then
		finish under-ia32 "$pid"
		[ "$(cat under-ia32.status)" != 77 ] || cp under-ia32.err ia32.skip
	else
		attach ia32 -b syscall -p "$pid"
		attach ia32-named -b syscall -s getppid -p "$pid"
		# Their number is that of this native call.
		number=semget
		[ "$(uname -m)" = x86_64 ] || number=write
		also attach ia32-number -b syscall -s "$number" -p "$pid"
		go under-ia32
		detach ia32 ia32-named ia32-number
	fi

	# Who changes its name by a call made that call under the old name.
	start under-renamed renamer alpha:23 beta:1009
	attach renamed -c beta -b comm,syscall -p "$pid"
	go under-renamed
	detach renamed
}

nothing={}

# has CLAIM TOOL ROWS LEDGER - rows [SYSCALL, ERRNO or null, COUNT, ERRORS] and no other
has() {
	everything || [[ -e $2.status ]] || return 0
	evidence "$2.json" "$2.err" "under-$2.truth" notes
	holds "$1" "$2.json" \
		'($last.rows | map([.key.syscall, (if .errors > 0 then .key.errno else null end), .count, .errors]) | sort)
			== ($rows | sort)' --argjson rows "$3"
	holds "... and so the ledger: $2" "$2.json" '{unmatched: 0, in_flight: 0, abandoned: 0, no_state: 0} + $wanted
		| to_entries | map(select($last.ledger[.key] != .value))
		| if length > 0 then error("differs from: \(.)") else true end' --argjson wanted "${4-$nothing}"
	sound "of $2" "$2.json"
}

check() {
	has "23 execve are 23 calls" exec '[["execve", null, 23, 0]]'
	has "7 execve by other threads than the leader are 7 calls" exec-thread '[["execve", null, 7, 0]]'
	for call in fork vfork clone3; do
		everything || [[ $call == clone3 ]] || continue
		name=$(jq -r '.calls[0].syscall' "under-$call-parent.truth")
		children=$(jq '.calls[1].count // 0' "under-$call-parent.truth")
		has "23 children by $call are 23 calls of the parent" "$call-parent" "[[\"$name\", null, 23, 0]]"
		rows="[[\"$name\", null, 23, 0], [\"getppid\", null, 23, 0]]"
		[ "$children" != 0 ] || rows="[[\"$name\", null, 23, 0]]"
		has "23 children by $call: the child's way out of it is no call" "$call-children" "$rows"
	done
	has "101 signals to itself are 101 tgkill and as many rt_sigreturn" self \
		'[["tgkill", null, 101, 0], ["rt_sigreturn", null, 101, 0]]'
	has "an EINTR that rt_sigreturn restores is not its error" suspend \
		'[["rt_sigsuspend", "ERESTARTNOHAND", 23, 23], ["rt_sigreturn", null, 23, 0]]'
	has "... also if its thread loses the CPU when its handler is about to run" preempted \
		'[["rt_sigsuspend", "ERESTARTNOHAND", 5000, 5000], ["rt_sigreturn", null, 5000, 0]]'
	has "a read that a signal ends is one call that failed" read-eintr \
		'[["read", "ERESTARTSYS", 7, 7], ["rt_sigreturn", null, 7, 0]]'
	has "a read that is restarted is two, the first of which failed" read-restart \
		'[["read", "ERESTARTSYS", 7, 7], ["read", null, 7, 0], ["rt_sigreturn", null, 7, 0]]'
	has "a sleep that a signal ends is one call that failed" nanosleep \
		'[["nanosleep", "ERESTART_RESTARTBLOCK", 7, 7], ["rt_sigreturn", null, 7, 0]]'
	has "a sleep that is stopped goes on as restart_syscall" stop \
		'[["nanosleep", "ERESTART_RESTARTBLOCK", 2, 2], ["restart_syscall", null, 2, 0]]'
	# fentry does not see them at all: they do not reach the call's function.
	unmatched=23
	[ "$(jq -s -r '.[-1].mechanism.name' refused.json)" != fentry ] || unmatched=0
	has "calls that seccomp refuses never began: they are not recorded" refused \
		'[["getppid", null, 1009, 0]]' "{\"unmatched\": $unmatched}"

	evidence nosys.json nosys.err
	also holds "-s takes a number that has no name as the row prints it" nosys.json \
		'$last.rows | map([.key.syscall, .count, .errors]) == [["syscall_1000", 23, 23]]'
	evidence escape.json escaped.json escaped.err
	holds "a name is printed so that none looks like it" escape.json \
		'$last.rows | map([.key.comm, .count]) == [["a\\x1bb\\\\c", 23]]'
	also holds "... and -c takes it as it is printed" escaped.json \
		'$last.rows | map([.key.comm, .count]) == [["a\\x1bb\\\\c", 23]]'
	evidence empty-text.json empty.json empty.err
	also claim "a thread without a name has a cell all the same" grep -qE '^\\x00 +23 ' empty-text.json
	also holds "... and no name in JSON" empty.json '$last.rows | map([.key.comm, .count]) | sort == [["", 23], ["other", 23]]'
	if [ -e ia32.skip ]; then
		skip "32-bit calls are kept apart" "$(cat ia32.skip)"
	else
		evidence ia32.json ia32.err under-ia32.truth
		holds "1009 native calls are not mixed with 211 32-bit ones" ia32.json \
			'$last.rows | map(select(.key.syscall == "getppid").count) == [1009]'
		holds "211 32-bit calls are under the 32-bit call's name" ia32.json \
			'$last.rows | map(select(.count == 211)) | length == 1
				and (.[0].key.syscall | test("getppid") and . != "getppid")'
		holds "a 32-bit call is not taken for the native one of its number" ia32.json \
			'$last.rows | map(select(.key.syscall | IN("semget", "write"))) == []'
		evidence ia32-hint.err ia32-hint.json
		like "-s of the native call sees no 32-bit one, and says that they are there" "$(cat ia32-hint.err)" \
			'-s: none of these calls, but 23 32-bit ones .*-s (ia32|arm):NAME'
		evidence ia32-fentry.json ia32-fentry.err
		[[ $(<ia32-fentry.status) == 77 ]] ||
			holds "nor does fentry, by whatever function they run" ia32-fentry.json '$last.ledger.recorded == 0 and $last.rows == []'
		evidence ia32-number.json
		also holds "-s of the native call of its number does not capture it" ia32-number.json \
			'$last.ledger.recorded == 0 and $last.rows == []'
	fi

	evidence renamed.json renamed.err
	holds "calls under another name are not captured" renamed.json \
		'$last.rows | map(select(.key.syscall == "getppid")) | length == 1 and .[0].count == 1009'
	holds "the call that gave the name is not taken for one that began before the trace" renamed.json \
		'$last.ledger.unmatched == 0'
}
