# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# User stacks of programs without frame pointers, by their unwind tables: known callers, as the debugger's walk has them.

# shellcheck source=lib/unwound.sh
. "$truth/lib/unwound.sh"
# shellcheck source=lib/go.sh
. "$truth/lib/go.sh"
# shellcheck source=lib/apart.sh
. "$truth/lib/apart.sh"

kinds='plain variable aligned callback signal thread deep forked bare'

# steps FUNCTION - a target for each of its instructions
steps() {
	# shellcheck disable=SC2046 # words
	set -- "$1" $(nm -S "$(command -v unwound)" | awk -v name="$1" '$4 == name { print $1, $2 }')
	objdump -d --no-show-raw-insn --disassemble="$1" "$(command -v unwound)" | awk '$1 ~ /^[0-9a-f]+:$/ { sub(/:/, "", $1); print $1 }' |
		while read -r address; do
			step=$((0x$address - 0x$2))
			[ $step -lt $((0x$3)) ] || break
			[ $step = 0 ] && echo "u:$(command -v unwound):$1" || printf 'u:%s:%s+0x%x\n' "$(command -v unwound)" "$1" $step
		done
}

# Each instruction of CALLER is stopped at once while it runs.
single_steps() {
	program=func-stack
	for caller in plain variable aligned; do
		steps "call_$caller" >steps.$caller
		start "step-$caller" unwound "$caller" 20
		# shellcheck disable=SC2046 # targets
		attach "steps-$caller" -p "$pid" -b func $(cat steps.$caller)
		go "step-$caller"
		detach "steps-$caller"
	done
	program=cpu-profile
}

# library NAME BYTES - whose functions have frames of that many bytes, and take a CPU time
library() {
	sed "s/NAME/$1/; s/BYTES/$2/" <<-'END' | gcc -O1 -fomit-frame-pointer -shared -fPIC -x c -o "lib$1.so" -
	#include <time.h>
	static long now(void)
	{
		struct timespec t;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		return t.tv_sec * 1000000000 + t.tv_nsec;
	}
	void NAME_library_loop(long end)
	{
		volatile char frame[BYTES];

		while (now() < end)
			for (int i = 0; i < 100000; i++)
				frame[i % BYTES] = i;
	}
	void NAME_library(long ns)
	{
		volatile char frame[3 * BYTES];

		frame[0] = 0;
		NAME_library_loop(now() + ns);
		frame[0] = 1;
	}
	END
}

# Two libraries that are loaded at one address, one after the other.
reused() {
	echo "no compiler of programs that load libraries" >reused.skip
	case $(uname -r) in *cloud*) return ;; esac
	command -v gcc >/dev/null || return
	library one 64 && library two 512 || return
	cat >loads.c <<-'END'
	#include <dlfcn.h>
	#include <stdlib.h>
	static void use(const char *file, const char *name, long ns)
	{
		void *library = dlopen(file, RTLD_NOW);

		((void (*)(long))dlsym(library, name))(ns);
		dlclose(library);
	}
	int main(int argc, char **argv)
	{
		for (int i = 0; i < atoi(argv[1]); i++) {
			use("./libone.so", "one_library", atol(argv[2]));
			use("./libtwo.so", "two_library", atol(argv[2]));
		}
		return 0;
	}
	END
	gcc -o loads loads.c -ldl || return
	rm reused.skip
	traced reused -F 499 -b comm -- ./loads 2 100000000
	traced turns -F 499 -b comm -- ./loads 40 20000000
}

# A stripped program of Go, whose innermost function makes no frame.
of_go() {
	echo "no compiler of Go" >go.skip
	if [ -e "$truth/chain" ]; then # this machine has no compiler
		cp "$truth/chain" chain
	else
		case $(uname -r) in *cloud*) return ;; esac
		go_chain "$truth/../.." "" chain 2>go.skip || return
	fi
	rm go.skip
	traced go -F 499 -b comm -- ./chain
}

# python SUITE - the interpreter of that system, whose functions call one another
python() {
	system=$("$truth/../../scripts/chroots.sh" "$1" 2>python-$1.skip | cut -f 2)
	[ -x "$system/usr/bin/python3" ] || return
	rm python-$1.skip
	cat >python.program <<-'END'
	import time
	def innermost():
	    return sum(i * i for i in range(1000))
	def between():
	    return innermost()
	def outermost():
	    return between()
	while time.process_time() < 1.2:
	    outermost()
	END
	traced "python-$1" -F 499 -b comm -- unshare -m sh -c 'mount -t tmpfs none "$1/tmp" && cp "$2" "$1/tmp" &&
		exec chroot "$1" /usr/bin/python3 -X perf /tmp/python.program' sh "$system" "$PWD/python.program"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=cpu-profile quick=--no-calibrate

	for kind in $kinds; do
		start "$kind" unwound "$kind" 400
		attach "of-$kind" -F 499 --follow -p "$pid" -b comm
		go "$kind"
		detach "of-$kind"
	done

	# Each is gone before anything of it can be read in /proc.
	traced brief -F 999 -b comm -- sh -c 'i=0; while [ $i -lt 100 ]; do "$0" plain 2 >brief.truth; i=$((i + 1)); done' "$(command -v unwound)"

	traced tables --user-stacks=tables -F 999 -b comm -- unwound plain 100

	reused
	of_go
	command -v objdump >/dev/null && single_steps
	case $(uname -r) in *cloud*) ;; *) python trixie; python sid ;; esac
	unwound_programs
	unwound_apart

	# It executes, and maps its libraries, while the trace runs.
	case $(uname -r) in *cloud*) return ;; esac # busybox's own has no table for all of it
	if command -v sort >/dev/null; then
		seq 1500000 -1 1 >numbers
		traced command -F 499 -b comm -- sort -n numbers -o sorted
	fi
}

# walked KIND CALLER... - at least 99 of 100 samples in compute_known() are below these, up to the program's start
walked() {
	kind=$1
	shift
	evidence "of-$kind.json" "of-$kind.err"
	holds "$kind: compute_known() is below $*, to the start of the program or thread" "of-$kind.json" '
		[$last.rows[] | select(any(.stack[]; .frame == "compute_known"))
			| {count, frames: [.stack[] | select(.kernel | not).frame]}] as $all
		| def such: .frames[(.frames | index("compute_known")) + 1:] as $f | ($callers | split(" ")) as $c
			| $f[:$c | length] == $c and ($f[-1] | test("^(_start|__clone|clone|__clone3|clone3|thread_start)$"));
		($all | map(.count) | add) as $n | ($all | map(select(such).count) | add) as $right
		| $n >= 12 and $right >= 0.99 * $n and $last.user_stacks.frame_pointers == 0' --arg callers "$*"
}

check() {
	walked plain call_plain begin_known main
	walked variable call_plain call_variable begin_known main
	walked aligned call_plain call_aligned begin_known main
	walked callback call_plain compare
	case $(jq -r .arch of-signal.json) in
	aarch64) walked signal call_plain handle __kernel_rt_sigreturn ;;
	*) walked signal call_plain handle __restore_rt ;;
	esac
	walked thread call_plain call_thread start_thread
	walked deep $(yes call_deep | head -60) begin_known main
	walked forked call_plain call_forked begin_known main
	holds "... processes of 2 ms, too" of-forked.json '
		[$last.rows[] | select(.key.comm == "c-forked" and any(.stack[]; .frame == "compute_known"))] as $all
		| ($all | map(.count) | add) >= 30'
	evidence of-bare.json of-bare.err
	holds "code that no table has: its caller is not guessed" of-bare.json '
		[$last.rows[] | [.stack[] | select(.kernel | not).frame] | select(.[0] == "bare_known")] as $all
		| ($all | length) > 0 and all($all[]; . == ["bare_known", "[cut: no unwind table]"])'
	evidence tables.json tables.err
	holds "--user-stacks=tables: none is by frame pointers" tables.json '$last.ledger.recorded >= 10
		and ($last.user_stacks | .frame_pointers == 0 and .mixed == 0 and .whole + .no_table > 0)'
	if [ -e go.skip ]; then
		skip "a stripped program of Go" "$(cat go.skip)"
	else
		evidence go.json go.err
		holds "functions of a stripped program of Go have names, and their direct callers" go.json '
			[$last.rows[] | {count, frames: [.stack[] | select(.kernel | not).frame]} | select(.frames[0] == "main.leaf")] as $all
			| ($all | map(.count) | add) as $n
			| def of($caller): $all | map(select(.frames[1:] == [$caller, "main.main", "runtime.main", "runtime.goexit"]).count) | add // 0;
			of("main.middle") as $middle | of("main.other") as $other
			| $n >= 30 and $middle > $n / 4 and $other > $n / 4 and $middle + $other >= 0.9 * $n'
	fi
	if [ -e reused.skip ]; then
		skip "addresses that were another library's" "$(cat reused.skip)"
	else
		evidence reused.json reused.err
		holds "addresses that were another library's are marked" reused.json '
			[$last.rows[].stack[] | .frame | select(test("_library"))] as $all
			| ($all | length) > 0 and all($all[]; endswith(" [address reused]"))'
		evidence turns.json turns.err
		# The tool learns of it a while after the kernel: before that, there is the other one's table.
		holds "libraries that take turns of 20 ms at one address: 17 of 20 stacks are whole" turns.json '
			[$last.rows[] | {count, frames: [.stack[] | select(.kernel | not).frame]}
				| select(any(.frames[]; test("_library_loop")))] as $all
			| ($all | map(.count) | add) as $n
			| ($all | map(select((.frames | map(test("_library_loop")) | index(true)) as $i
				| (.frames[$i + 1] | test("_library")) and .frames[$i + 2:$i + 4] == ["use", "main"]
				and .frames[-1] == "_start").count) | add) as $right
			| $n >= 300 and $right >= 0.85 * $n'
	fi
	# The vDSO of who has ended has no name; emulated, reading the clock takes a while.
	named=0.99
	[ "$(jq -r .arch brief.json)" = x86_64 ] || named=0.85
	evidence brief.json brief.err brief.truth
	holds "functions of processes of 2 ms have their names" brief.json '
		[$last.rows[] | select(.key.comm == "unwound" and all(.stack[]; .frame | test("execve") | not))
			| {count, frames: [.stack[] | select(.kernel | not).frame]} | select(.frames | length > 0)] as $all
		| ($all | map(.count) | add) as $n | ($all | map(select(.frames[0] != "[unknown]").count) | add) as $named
		| ($all | map(select(.frames[0] == "compute_known").count) | add) as $known
		| $known >= 30 and $named >= $least * $n' --argjson least $named
	for caller in plain variable aligned; do
		[ -e steps.$caller ] || continue
		evidence "steps-$caller.json" "steps-$caller.err" steps.$caller
		holds "at each instruction of call_$caller() its callers are known" "steps-$caller.json" '
			([$last.rows[] | .key.func as $at | [.stack[].frame] | select(.[0] == $name and .[1] == "begin_known" and .[2] == "main"
				and .[-1] == "_start") | $at] | unique | length) as $right
			| ($last.rows | map(.key.func) | unique | length) == $right
			and $right >= $steps - 2' --arg name "call_$caller" --argjson steps "$(wc -l <steps.$caller)"
	done
	for suite in trixie sid; do
		[ -e python-$suite.skip ] || [ -e python-$suite.json ] || continue
		if [ -e python-$suite.skip ]; then
			skip "Python of $suite" "$(cat python-$suite.skip)"
			continue
		fi
		evidence "python-$suite.json" "python-$suite.err"
		holds "functions of Python, of $suite, are in the stack" "python-$suite.json" '
			[$last.rows[] | {count, frames: [.stack[] | select(.kernel | not).frame]} | select(any(.frames[]; startswith("py::innermost:")))] as $all
			| ($all | map(.count) | add) as $n
			| ($all | map(select(.frames[-1] == "_start" and ([.frames[] | select(startswith("py::")) | split(":")[2]]
				| index("innermost") as $i | .[$i:] == ["innermost", "between", "outermost", "<module>"])).count) | add) as $right
			| $n >= 30 and $right >= 0.9 * $n'
	done
	evidence command.json command.err
	if [ -e command.json ]; then
		holds "who executes a program while it is traced is walked to its start" command.json '
			[$last.rows[] | select(.key.comm == "sort") | {count, frames: [.stack[] | select(.kernel | not).frame]}
				| select(.frames | length > 0)] as $all
			| ($all | map(.count) | add) as $n
			| ($all | map(select((.frames | length > 2) and (.frames[-1] | test("^sort\\+|^_start$|^clone3?$"))).count) | add) as $right
			| $n >= 20 and $right >= 0.8 * $n'
	fi
	check_unwound_programs
	check_apart
}
