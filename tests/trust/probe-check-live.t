#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# probe-check on the running kernel: verdicts, what our tools hook, and whether it fires.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/trust/probe-check.sh

((EUID == 0)) || { skip "the kernel" "tracefs is for root"; done_testing; }

make_traced
# Where there are no kprobes, fentry is refused too on the machines that this runs on.
function=ok failed=8
[[ -e /sys/bus/event_source/devices/kprobe/type ]] || function=refused failed=9
checks 3 k:tcp_sendmsg k:tcp_sendmgs k:kmem_cache_alloc_nosuch t:sched:sched_switch t:sched:sched_swicht t:shced:x \
	t:net:sched_switch r:sched_switch r:sched_swicht r:sys_enter_openat s:openat s:openta s:stat
verdict k:tcp_sendmsg "$function"
verdict k:tcp_sendmgs gone
why k:tcp_sendmgs 'did you mean tcp_sendmsg'
verdict t:sched:sched_switch ok
why t:sched:sched_swicht 'did you mean sched_switch'
verdict t:shced:x gone
verdict t:net:sched_switch renamed
why t:net:sched_switch 't:sched:sched_switch'
verdict r:sched_switch ok
why r:sched_swicht 'did you mean sched_switch'
verdict r:sys_enter_openat renamed
why r:sys_enter_openat 't:syscalls:sys_enter_openat'
verdict s:openat ok
verdict s:openta gone
why s:openta 'did you mean openat'
verdict s:stat ok
holds "the summary counts what fails" "$out" '$last.summary == {checked: 13, failed: $failed, unknown: 0, differences: null}' --argjson failed "$failed"

# Configured away, but in the table: its function says ENOSYS.
none=$(sed -n 's/.* W __[a-z0-9]*_sys_\(uselib\|kexec_load\|kexec_file_load\|lookup_dcookie\|init_module\|nfsservctl\)$/\1/p' \
	/proc/kallsyms | head -n 1)
if [[ -n $none ]]; then
	checks 3 "s:$none"
	verdict "s:$none" gone
else
	skip "a system call that is configured away is gone" "none is, of those that are known"
fi

# Others than root are not told of tracepoints: all else is judged.
install -m 755 "$bin/probe-check" probe-check
chmod 755 .
setpriv --reuid=65534 --regid=65534 --clear-groups ./probe-check -j k:tcp_sendmsg u:libc:malloc t:sched:sched_switch s:openat \
	--tool skb-alloc >"$out" 2>"$err"
is "as nobody it ends with 1" "$?" 1
verdict k:tcp_sendmsg ok
verdict u:libc:malloc ok
verdict t:sched:sched_switch unknown
verdict s:openat unknown
claim "and says that it does not know of code for boot only" jq -e '.not_judged | test("boot only")' "$out"
holds "a tool is neither ok nor a failure" "$out" '$last.summary | .failed == 0 and .unknown == 3'

# Each tool that attaches programs of its own to something has a list, and that is what it truly hooks.
for tool in "$top"/tools/*/*.bpf.c; do
	tool=${tool%/*}
	tool=${tool##*/}
	[[ $tool == probe-* ]] || claim "$tool has a list" test -s "$top/tools/$tool/$tool.targets"
done
declare -A operand=([syscall-slower]=1ms)
for tool in "$top"/tools/*/*.targets; do
	tool=${tool##*/}
	tool=${tool%.targets}
	status=0
	if ! grep -q '\*$' "$top/tools/$tool/$tool.targets" || [[ $tool == syscall-latency ]]; then
		timeout 20 "$bin/$tool" --no-calibrate -d 0.1 -j -p $$ ${operand[$tool]:+"${operand[$tool]}"} >ran 2>ran.err || status=$?
	else
		: >ran
	fi
	checks "$((status == 77 ? 3 : 0))" --tool "$tool"
	holds "$tool is ok here if it can trace" "$out" '[$last.tools[] | .tool, .ok] == [$tool, $status != 77]' \
		--arg tool "$tool" --argjson status "$status"
	refused=$(jq -r '.mechanism.refused[] | select(.why | test("preempted") | not).name' ran
		sed -n "s/^$tool: \([a-z._]*\) refused: .*/\1/p" ran.err)
	holds "$tool: no mechanism that it was refused is told" "$out" '[$last.tools[0].mechanisms[] | select(.ok)
		| (.mechanisms | split(", ")) - (.refused | split(", ")) | .[]] | . - ($refused | split("\n")) == .' --arg refused "$refused"
	mechanisms=$("$bin/$tool" --mechanism '' 2>&1 | sed -n 's/.*known: //p')
	claim "$tool: each of its mechanisms is in its list, and no other" jq -e --arg all "$mechanisms" '
		.tools[0] | .users_choice or
		([.mechanisms[].mechanisms | select(. != "all") | split(", ")[]] | unique - ["perf_event"]) == ($all | split(" ") - ["perf_event"] | sort)' "$out"
	[[ -s ran || $status != 0 ]] || continue
	if [[ $status == 77 ]]; then
		skip "$tool hooks what its list says" "it cannot trace here"
		continue
	fi
	# Software events are no targets.  A mechanism can have a line for each of several kernels.
	holds "$tool hooks what its list says" ran '$last.mechanism as $m | $m.name == "perf_event" or ($list[0].tools[0].mechanisms
		| map(select(.mechanisms | split(", ") | index($m.name)) | .targets | split(" ") | map(split(":")[-1]) | sort)
		| index([$m.hooks - ["cpu-clock"] | sort]) != null)' --slurpfile list "$out"
done

# --- does it fire ---

cat >busy.c <<'END'
#include <unistd.h>
#include <sys/syscall.h>
volatile int kept;
__attribute__((noinline)) void often(void) { kept = 5; } /* x86: +5 is inside an address */
__attribute__((noinline)) void never(void) { __asm__ volatile(""); }
int main(int n, char **v) { (void)v; for (;;) { often(); syscall(SYS_getpgid, 0); if (n > 1) never(); usleep(1000); } }
END
gcc -O2 -o busy busy.c
./busy &
busy=$!
./traced &
traced=$!
trap 'kill "$busy" "$traced"; rm -rf "$work"' EXIT
checks 3 --live 1 u:./busy:often u:./busy:never usdt:./traced:mine:here s:getpgid t:raw_syscalls:sys_enter k:vfs_read r:sys_enter
verdict u:./busy:often ok
verdict u:./busy:never 'attached but silent'
verdict usdt:./traced:mine:here ok
verdict s:getpgid ok
verdict t:raw_syscalls:sys_enter ok
holds "fires are counted" "$out" '[$last.checks[].fires] | .[0] > 100 and .[1] == 0 and .[2] > 200 and .[3] >= 100 and .[4] > .[3]
	and .[6] > .[3]'
checks 3 --live 0.5 u:./busy:often+5 u:./busy:often+4096 u:./busy:often+10
why u:./busy:often+5 'is inside an instruction; the nearest are often\+0x0 and often\+0xa'
holds "nothing is attached to what is gone, or inside an instruction" "$out" '[$last.checks[].fires | . != null] == [false, false, true]'
if [[ $(uname -m) == x86_64 ]]; then
	holds "a place between instructions is tried" "$out" '$last.checks[2] | .fires > 50 and .verdict == "ok"'
	why u:./busy:often+10 'there is no return probe at a place inside a function'
fi
claim "and the program lives" kill -0 "$busy"
like "it says when it is ready" "$(<"$err")" 'probe-check: tracing …'
start=$SECONDS
timeout -s INT 2 "$bin/probe-check" --live 60 u:./busy:often >"$out" 2>"$err"
claim "an interrupt ends it early" test $((SECONDS - start)) -lt 20
like "and it still reports" "$(<"$out")" 'u:./busy:often +ok'
if [[ -e /sys/bus/event_source/devices/kprobe ]]; then
	skip "where functions cannot be tried it is said" "they can"
else
	checks 77 --live 0.1 k:vfs_read
	why k:vfs_read 'cannot be tried here: .+'
fi
kill "$busy" "$traced"
trap 'rm -rf "$work"' EXIT
done_testing
