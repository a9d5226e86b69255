# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Stripped programs, whose names and tables are in debug files of their own; and such that are deleted while they run.

# split NAME FLAG... - NAME without names, of the source on stdin, and NAME.debug; writes its build id to NAME.id
split() {
	split=$1
	shift
	gcc -g -O1 -fomit-frame-pointer -fno-optimize-sibling-calls "$@" -x c -o "$split.whole" - &&
		objcopy --only-keep-debug "$split.whole" "$split.debug" && objcopy -S "$split.whole" "$split" &&
		readelf -n "$split.whole" | awk '/Build ID/ { print $3 }' >"$split.id"
}

# debug_directory NAME - as /usr/lib/debug/.build-id has it
debug_directory() {
	read -r id <"$1.id"
	mkdir -p "debug/.build-id/${id%"${id#??}"}"
	cp "$1.debug" "debug/.build-id/${id%"${id#??}"}/${id#??}.debug"
}

unwound_apart() {
	case $(uname -r) in *cloud*) return ;; esac
	echo "no compiler" >apart.skip
	command -v gcc >/dev/null && command -v objcopy >/dev/null && command -v readelf >/dev/null || return
	split tableless -fno-asynchronous-unwind-tables -fno-unwind-tables 2>apart.skip <<-'END' || return
	#include <time.h>
	#define KNOWN __attribute__((noipa))
	static volatile long sink;
	KNOWN void leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
	KNOWN void middle(int n) { volatile char fill[100]; fill[n % 64] = 1; leaf(n); sink += fill[n % 64]; }
	KNOWN void outer(int n) { middle(n); sink++; }
	int main(void)
	{
		while (clock() < CLOCKS_PER_SEC)
			outer(100000);
	}
	END
	split ended 2>apart.skip <<-'END' || return
	#include <stdio.h>
	#include <time.h>
	#include <unistd.h>
	static volatile long sink;
	__attribute__((noipa)) static long now(clockid_t clock)
	{
		struct timespec t;

		clock_gettime(clock, &t);
		return t.tv_sec * 1000000000L + t.tv_nsec;
	}
	__attribute__((noipa)) static void compute_ended(long end)
	{
		do
			for (int i = 0; i < 200000; i++)
				sink += i;
		while (now(CLOCK_MONOTONIC) < end);
	}
	int main(int argc, char **argv)
	{
		long used;

		unlink(argv[0]);
		used = now(CLOCK_PROCESS_CPUTIME_ID);
		compute_ended(now(CLOCK_MONOTONIC) + (argc > 1 ? 50 : 3) * 1000000L);
		printf("%ld\n", now(CLOCK_PROCESS_CPUTIME_ID) - used);
		return 0;
	}
	END
	rm apart.skip
	debug_directory tableless
	debug_directory ended
	traced tableless -F 499 -b comm -- unshare -m sh -c 'mount --bind debug /usr/lib/debug && exec ./tableless'

	# Of each the file is another one, which it deletes. It has ended before anything of it can be read in /proc.
	echo 'i=0; while [ $i -lt $1 ]; do cp ended-file ended; ./ended $3; i=$((i + 1)); done >ended-$2.used' >ended.script
	mv ended ended-file
	read -r id <ended.id
	mkdir -p "cache/$id"
	cp ended.debug "cache/$id/debuginfo"
	export DEBUGINFOD_CACHE_PATH="$PWD/cache"
	traced ended-fetched -F 999 -b comm -- sh ended.script 60 fetched
	traced ended-later -F 999 -b comm -- sh ended.script 5 later long
	unset DEBUGINFOD_CACHE_PATH
	# While the tool is stopped, the kernel has no room for its reports of so many programs.
	"$program" --no-calibrate -F 99 -b comm -- sh -c 'kill -STOP $PPID; i=0; while [ $i -lt 1500 ]; do /bin/true; i=$((i + 1)); done
		kill -CONT $PPID; sleep 0.2; /bin/true' >stopped.txt 2>stopped.err
	traced ended-kept -F 999 -b comm -- unshare -m sh -c \
		'mount --bind debug /usr/lib/debug && set -- 60 kept && . ./ended.script && sleep 0.5'
}

check_apart() {
	[ -e apart.skip ] || [ -e tableless.json ] || return 0
	if [ -e apart.skip ]; then
		skip "stripped programs" "$(cat apart.skip)"
		return
	fi
	evidence tableless.json tableless.err
	holds "the unwind table of a program is in its debug file: leaf() is below middle outer main, to the program's start" tableless.json '
		[$last.rows[] | select(.key.comm == "tableless") | {count, frames: [.stack[] | select(.kernel | not).frame]}
			| select(.frames[0] == "leaf")] as $all
		| ($all | map(.count) | add) as $n
		| ($all | map(select(.frames[1:4] == ["middle", "outer", "main"] and .frames[-1] == "_start").count) | add) as $right
		| $n >= 100 and $right >= 0.8 * $n'
	evidence stopped.txt stopped.err
	claim "reports of mapped files that are lost are told" \
		grep -q '^symbols: [0-9]* reports of what processes mapped were lost' stopped.txt
	for how in fetched later kept; do
		evidence "ended-$how.json" "ended-$how.err" "ended-$how.used"
		used=$(awk '{ sum += $1 } END { printf "%d", sum / 1000000 }' "ended-$how.used")
		holds "processes that have ended, of deleted files, have names by their debug file ($how)" "ended-$how.json" '
			[$last.rows[] | select(.key.comm == "ended") | {count, frame: [.stack[] | select(.kernel | not).frame][0]}] as $all
			| ($all | map(select(.frame == "compute_ended").count) | add) as $named
			# Its PLT has no names.
			| ($all | map(select(.frame // "" | startswith("ended+")).count) | add // 0) as $not
			| $named >= 0.5 * '"${used:-0}"' and $named > 0 and $not <= 1 + 0.02 * $named'
	done
}
