#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# probe-check on what is compiled here so that it is known what became of each function; on the running
# kernel; on images of others; and what it says of two kernels.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

top=$PWD
bin=${PLUMB_BIN:-build/bin}
[[ $bin == /* ]] || bin=$top/$bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/out err=$work/err
evidence "$out" "$err"
cd "$work" || exit 1

# STATUS ARG... - its output as JSON
checks() {
	local wanted=$1 status=0
	shift
	timeout 60 "$bin/probe-check" -j "$@" </dev/null >"$out" 2>"$err" || status=$?
	is "probe-check $* ends with $wanted" "$status" "$wanted"
}

# TARGET VERDICT [INLINED CALLS] - of what is in the output
verdict() {
	is "$1 is $2${3:+, inlined $3, called $4}" \
		"$(jq -r --arg t "$1" '.checks[] | select(.target == $t) | "\(.verdict) \(.inlined) \(.calls)"' "$out" |
			{ if (($# > 2)); then cat; else sed 's/ [^ ]* [^ ]*$//'; fi; })" "$2${3:+ $3 $4}"
}

why() {
	like "$1: $2" "$(jq -r --arg t "$1" '.checks[] | select(.target == $t).why' "$out")" "$2"
}

# Wrong usage, or what cannot run: STATUS WORD ARG...
refused() {
	local status=0
	timeout 60 "$bin/probe-check" "${@:3}" </dev/null >"$out" 2>"$err" || status=$?
	is "probe-check ${*:3} ends with $1, one line and no output" "$status $(wc -l <"$err") $(wc -c <"$out")" "$1 1 0"
	like "probe-check ${*:3} names $2" "$(<"$err")" "^probe-check: .*$2"
}

# --- what is typed ---

refused 2 'TARGET'
refused 2 'r:y' r:y
refused 2 'k:' k:
refused 2 'u:libc' u:libc
refused 2 '--tool.*nonsense.*tcp-sendmsg-lat' --tool nonsense
refused 2 '--live' --live 1
refused 2 '--live.*0' --live 0 s:read
refused 2 '--live.*--image' --live 1 --image x s:read
refused 1 '/nonexistent' --image /nonexistent k:x
refused 1 '/etc/passwd' --image /etc/passwd k:x
refused 1 '/nonexistent: No such file' --btf /nonexistent k:x
refused 1 '/etc/passwd: neither BTF' --btf /etc/passwd k:x
refused 1 '/bin/sh: neither BTF' --btf /bin/sh k:x
refused 1 '/dev/zero is not a regular file' --btf /dev/zero k:x
refused 1 '--against.*/nonexistent' --against /nonexistent
refused 1 '--against.*/dev/zero' --against /dev/zero
# shellcheck disable=SC2046 # words
refused 2 'at most 256' $(printf 's:x%d ' {1..257})

# --- programs and libraries ---

cat >one.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int both(int), third(int);
static inline __attribute__((always_inline)) int small(int x) { return x * 31 ^ x >> 3; }
__attribute__((noinline)) int called(int x) { __asm__ volatile(""); return x + 1; }
__attribute__((noinline)) static int twin(int x) { __asm__ volatile(""); return x + 2; }
int both(int x) { return x ^ 5; }
static volatile int sink;
static int pieces[64];
/* Its beginning is worth inlining, the rest is not. */
static int split(int x)
{
	if (x < 3)
		return x;
	for (int i = 0; i < 64; i++) {
		pieces[i] = pieces[(i * 7 + x) & 63] * x + sink;
		printf("%d %d %d\n", pieces[i], i, x);
	}
	return pieces[x & 63];
}
/* What is seldom done is elsewhere: chilly.cold. */
__attribute__((noinline)) int chilly(int x)
{
	if (__builtin_expect(x > 1000000, 0)) {
		fprintf(stderr, "%d\n", x);
		abort();
	}
	return x * 3;
}
__attribute__((noinline)) int a(int x) { return small(x) + called(x) + both(x) + split(x); }
__attribute__((noinline)) int b(int x) { return small(x) + called(x) * both(x) + called(x + 1) + split(x + 1); }
__attribute__((noinline)) int c(int x) { return small(x) + called(x) + twin(x) + split(x + 2); }
__attribute__((noinline)) static int shut(int x) { __asm__ volatile(""); return x; }
int (*pointer)(int) = shut;
static int pick(int x) { return x; }
static void *resolve(void) { return pick; }
int chosen(int x) __attribute__((ifunc("resolve")));
int all(int n) { return sink = a(n) + b(n) + c(n) + third(n) + chilly(n) + called(n) + pointer(n) + chosen(n); }
END
cat >two.c <<'END'
int both(int);
__attribute__((noinline)) static int twin(int x) { __asm__ volatile(""); return x + 3; }
int third(int x) { return both(x) + twin(x); }
END
echo 'int all(int); int main(int n, char **v) { (void)v; return all(n); }' >main.c
gcc -O2 -g -Wl,--build-id -o program one.c two.c main.c
gcc -O0 -g -o lazy one.c two.c main.c
gcc -O2 -o plain one.c two.c main.c
gcc -O2 -g -shared -fPIC -fno-semantic-interposition -Wl,--build-id -o library.so one.c two.c

checks 3 u:./program:{small,both,called,twin,split,chilly,shut,chosen,absent,main} u:./program:called+1 u:./program:called+4096
verdict u:./program:small inlined 3 null
verdict u:./program:both 'partly inlined' 2 1
verdict u:./program:called ok 0 5
verdict u:./program:twin duplicated
verdict u:./program:split 'partly inlined'
why u:./program:split 'split\.part\.0'
verdict u:./program:chilly ok
verdict u:./program:shut ok 0 0
why u:./program:shut 'by pointer'
verdict u:./program:chosen gone
why u:./program:chosen ifunc
verdict u:./program:absent gone
verdict u:./program:main ok
verdict u:./program:called+1 ok
why u:./program:called+1 'whether an instruction begins at \+1 is not known'
verdict u:./program:called+4096 gone
why u:./program:called+4096 'behind its end'
is "objdump counts the same calls" "$(objdump -d program | grep -c 'call.*<called>')" 5

checks 3 u:./program:a 'u:./program:?' 'u:./program:*'
verdict u:./program:a ok
verdict 'u:./program:?' gone
verdict 'u:./program:*' gone
why 'u:./program:*' 'wildcard'
# A name may have them in it, as Go's do.
objcopy --redefine-sym 'called=called.(*T).f[int]' program named
checks 0 'u:./named:called.(*T).f[int]'
verdict 'u:./named:called.(*T).f[int]' ok

checks 0 u:./lazy:both u:./lazy:split u:./lazy:called
verdict u:./lazy:both ok 0 3
verdict u:./lazy:split ok 0 3
checks 3 u:./plain:{small,both,called,split}
verdict u:./plain:small gone
verdict u:./plain:both ok null 1
why u:./plain:both 'no debugging information'
verdict u:./plain:split 'partly inlined'

# Stripped: its debugging information is elsewhere.
objcopy --only-keep-debug library.so library.debug
objcopy --strip-all library.so stripped.so
checks 0 u:./stripped.so:both u:./stripped.so:called
verdict u:./stripped.so:both ok null 1
checks 3 u:./library.so:both
verdict u:./library.so:both 'partly inlined' 2 1
why u:./library.so:both '1 direct call that is left, and those of other files'
objcopy --add-gnu-debuglink=library.debug stripped.so linked.so
checks 3 u:./linked.so:both u:./linked.so:called
verdict u:./linked.so:both 'partly inlined' 2 1
verdict u:./linked.so:called ok 0 5
checks 3 u:./linked.so:small u:./linked.so:split u:./linked.so:twin
verdict u:./linked.so:small inlined 3 null
verdict u:./linked.so:split 'partly inlined' 3 null
why u:./linked.so:split 'what is left has no symbol'
verdict u:./linked.so:twin gone
why u:./linked.so:twin 'debugging information has it, but the file no symbol'
id=$(readelf -n stripped.so | sed -n 's/.*Build ID: //p')
mkdir -p "debug/.build-id/${id:0:2}"
mv library.debug "debug/.build-id/${id:0:2}/${id:2}.debug"
if unshare --mount mount --bind debug /usr/lib/debug 2>/dev/null; then
	unshare --mount sh -c 'mount --bind debug /usr/lib/debug && exec "$@"' sh \
		"$bin/probe-check" -j u:./stripped.so:both >"$out" 2>"$err"
	verdict u:./stripped.so:both 'partly inlined' 2 1
else
	skip "a separate debug file is found by its build id" "no mount namespace, or no /usr/lib/debug"
fi

# An old version of the name is a function, but not the one that is called.
libc=$(ldd program | sed -n 's/.*libc[.]so.* => \([^ ]*\).*/\1/p')
if [[ $(readelf -W --dyn-syms "$libc" | grep -E ' memcpy@') == *' FUNC '*' IFUNC '* ]]; then
	checks 3 u:libc:memcpy
	verdict u:libc:memcpy gone
	why u:libc:memcpy ifunc
else
	skip "a function that is chosen at run time, whose old version is not" "there is none in $libc"
fi

# Files of other kinds.
cp program foreign
printf '\363\000' | dd of=foreign bs=1 seek=18 conv=notrunc status=none # EM_RISCV
head -c 3000 program >./cut
mkfifo fifo
refused 1 './fifo is not a regular file' --btf ./fifo k:x
checks 1 u:./foreign:both u:/etc/passwd:x u:./fifo:x u:./:x
verdict u:./foreign:both unknown
why u:./foreign:both 'another machine'
why u:/etc/passwd:x 'not a program or library'
checks 3 u:/nonexistent:x u:no-such-library:x u:./cut:both usdt:./program:a:b
for target in u:/nonexistent:x u:no-such-library:x usdt:./program:a:b; do
	verdict "$target" gone
done
claim "a damaged file is judged, somehow" jq -e '.checks[2].ok == false' "$out"
if printf 'int f(int x) { return x; } int main(int n) { return f(n); }' | gcc -m32 -O0 -x c - -o narrow 2>/dev/null; then
	checks 0 u:./narrow:f
	why u:./narrow:f '32-bit'
else
	skip "a 32-bit program is said to be one" "gcc -m32 cannot link"
fi
# As sys/sdt.h does it: a place in the code, and a note that leads to it.
cat >traced.c <<'END'
#include <unistd.h>
#define PROBE __asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n" \
	".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n" \
	"993: .8byte 990b, 0, 0\n.asciz \"mine\"\n.asciz \"here\"\n.asciz \"\"\n994: .balign 4\n.popsection")
int main(void) { for (;;) { PROBE; PROBE; usleep(1000); } }
END
gcc -o traced traced.c
checks 3 usdt:./traced:mine:here usdt:./traced:mine:hree usdt:./traced:yours:here
verdict usdt:./traced:mine:here ok
why usdt:./traced:mine:here '2 places'
verdict usdt:./traced:mine:hree gone
why usdt:./traced:mine:hree 'did you mean here'
verdict usdt:./traced:yours:here gone

# --- the running kernel ---

((EUID == 0)) || { skip "the kernel" "tracefs is for root"; done_testing; }

checks 3 k:tcp_sendmsg k:tcp_sendmgs k:kmem_cache_alloc_nosuch t:sched:sched_switch t:sched:sched_swicht t:shced:x \
	t:net:sched_switch s:openat s:openta s:stat
verdict k:tcp_sendmsg ok
verdict k:tcp_sendmgs gone
why k:tcp_sendmgs 'did you mean tcp_sendmsg'
verdict t:sched:sched_switch ok
why t:sched:sched_swicht 'did you mean sched_switch'
verdict t:shced:x gone
verdict t:net:sched_switch renamed
why t:net:sched_switch 't:sched:sched_switch'
verdict s:openat ok
verdict s:openta gone
why s:openta 'did you mean openat'
verdict s:stat ok
holds "the summary counts what fails" "$out" '$last.summary == {checked: 10, failed: 6, unknown: 0, differences: null}'

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
	mechanisms=$("$bin/$tool" --mechanism '' 2>&1 | sed -n 's/.*there is: //p')
	claim "$tool: each of its mechanisms is in its list, and no other" jq -e --arg all "$mechanisms" '
		.tools[0] | .users_choice or
		([.mechanisms[].mechanisms | select(. != "all") | split(", ")[]] | sort) == ($all | split(" ") - ["perf_event"] | sort)' "$out"
	[[ -s ran || $status != 0 ]] || continue
	if [[ $status == 77 ]]; then
		skip "$tool hooks what its list says" "it cannot trace here"
		continue
	fi
	is "$tool hooks what its list says" \
		"$(jq -r '.mechanism.hooks[] | select(. != "cpu-clock")' ran | sort)" \
		"$(jq -r --arg mechanism "$(jq -r .mechanism.name ran)" '.tools[0].mechanisms[]
			| select((.mechanisms | split(", ") | index($mechanism))) | .targets | split(" ")[] | split(":")[-1]' "$out" | sort)"
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
checks 3 --live 1 u:./busy:often u:./busy:never usdt:./traced:mine:here s:getpgid t:raw_syscalls:sys_enter k:vfs_read
verdict u:./busy:often ok
verdict u:./busy:never 'attached but silent'
verdict usdt:./traced:mine:here ok
verdict s:getpgid ok
verdict t:raw_syscalls:sys_enter ok
holds "fires are counted" "$out" '[$last.checks[].fires] | .[0] > 100 and .[1] == 0 and .[2] > 200 and .[3] >= 100 and .[4] > .[3]'
checks 3 --live 0.2 u:./busy:often+5 u:./busy:often+4096 u:./busy:often
why u:./busy:often+5 'cannot be tried here: .*inside an instruction'
holds "nothing is attached to what is gone, or inside a function" "$out" '[$last.checks[].fires | . != null] == [false, false, true]'
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

# --- two kernels ---

"$bin/probe-check" --save now >"$out" 2>"$err"
is "a snapshot is saved" "$? $(wc -c <"$out") $(ls)" "0 0 $(ls)"
claim "it has all tracepoints" test "$(jq '.tracepoints | length' now)" -ge 500
claim "and our tools' functions" jq -e '.functions.tcp_sendmsg.arguments == ["struct sock *sk", "struct msghdr *msg", "size_t size"]' now
"$bin/probe-check" --save again k:vfs_read >/dev/null 2>&1
claim "and those that are named" jq -e '.functions.vfs_read.returns == "ssize_t"' again
claim "else it is the same each time" cmp <(jq -S 'del(.functions.vfs_read)' again) <(jq -S . now)
checks 0 --against now
holds "nothing differs from itself" "$out" '$last.differences == [] and $last.summary.differences == 0'
jq '.tracepoints["sched:sched_switch"][1].offset += 8
	| .functions.tcp_sendmsg |= (.arguments[2] = "int size" | .types[2] = "int")
	| .functions.lost = {} | .tracepoints["no:such"] = []' now >edited
checks 3 --against edited
is "each difference is said once" "$(jq -r '.differences[] | "\(.target) \(.what)"' "$out" | sort | sed 's/from offset.*//')" \
	"k:lost gone
k:tcp_sendmsg argument 2 was int size, is size_t size
t:no:such gone
t:sched:sched_switch field $(jq -r '.tracepoints["sched:sched_switch"][1].name' now) moved "
"$bin/probe-check" --against edited >"$out" 2>"$err"
is "a table is no wider than a terminal" "$(awk 'length > 80' "$out")" ""
jq 'del(.tracepoints, .prototypes)' now >few
checks 0 --against few
holds "what is missing in a snapshot is said" "$out" '$last.not_compared == {prototypes: "the snapshot has none",
	tracepoints: "the snapshot has none, as its kernel did not run"} and ($last.compared | keys) == ["by_name", "functions", "records"]'
jq '.functions = {} | .tracepoints = {} | .records = {} | .prototypes = {}' now >empty
refused 1 'empty: there is nothing in it' --against empty
jq '.kernel = "\u001b[2Jx"' now >hostile
"$bin/probe-check" --against hostile >"$out" 2>"$err"
is "what a snapshot says has no control characters" "$(tail -n 1 "$out")" "0 differences between ?[2Jx and $(uname -r)"
ln -s now link
"$bin/probe-check" --save link
claim "a link stays one" test -L link
cat fifo >through &
reader=$!
"$bin/probe-check" --save ./fifo >"$out" 2>"$err"
is "a snapshot goes through a pipe" "$?" 0
wait "$reader"
claim "as it goes to a file" cmp now through
claim "and the pipe stays one" test -p fifo

# --- kernels that do not run ---

image() {
	local line
	line=$("$top/scripts/kernels.sh" "$@" 2>/dev/null) || return
	echo "${line##*$'\t'}"
}
for kernel in 5.10 6.1 6.12 7; do
	if ! path=$(image "$kernel"); then
		skip "an image of $kernel" "the archive has no such kernel"
		continue
	fi
	"$bin/probe-check" --image "$path" --save "of-$kernel" k:tcp_recvmsg >/dev/null 2>&1
	is "prototypes of an image of $kernel are saved" "$?" 0
	checks 3 --image "$path" k:tcp_sendmsg k:vfs_llseek k:null_lseek k:finish_task_switch k:do_int3 k:notify_die k:trace_clock_local \
		k:start_kernel k:no_such_function k:migrate_disable s:openat s:cachestat t:sched:sched_switch t:no:such
	verdict k:tcp_sendmsg ok
	why k:tcp_sendmsg 'more may be inlined [(]no debugging information[)]'
	verdict k:null_lseek ok null 0
	verdict k:do_int3 blacklisted
	verdict k:notify_die blacklisted
	verdict k:trace_clock_local notrace
	verdict k:start_kernel gone
	verdict k:no_such_function gone
	verdict s:openat ok
	verdict t:sched:sched_switch ok
	verdict t:no:such gone
	case $kernel in
	5.10) verdict k:vfs_llseek inlined null 0; verdict k:finish_task_switch ok ;;
	*)
		verdict k:vfs_llseek 'maybe inlined' null 1
		why k:vfs_llseek 'ksys_lseek has the same instructions and does not call it'
		verdict k:finish_task_switch renamed
		;;
	esac
	[[ $kernel != 6.* ]] || why k:migrate_disable 'kprobes take it; fentry is refused'
	case $kernel in
	5.10 | 6.1) verdict s:cachestat gone ;;
	*) verdict s:cachestat ok ;;
	esac
	for tool in skb-alloc tcp-sendmsg-lat; do
		checks 0 --image "$path" --tool "$tool"
	done
done
if [[ -e of-5.10 ]] && path=$(image 6.12); then
	checks 3 --image "$path" --against of-5.10
	is "tcp_recvmsg took another argument on 5.10 than on 6.12" \
		"$(jq -r '.differences[] | select(.target | startswith("k:")) | "\(.class) \(.target) \(.what)"' "$out")" \
		"breaking k:tcp_recvmsg argument 3, int nonblock, is gone"
fi
# What the kernels' sources say of their tracepoints; Debian's 5.10 gives block_rq_issue no queue either.
if [[ -e of-5.10 ]] && path=$(image 7); then
	checks 3 --image "$path" --against of-5.10
	for difference in "added raw_tp:sched_switch argument 3 is new: unsigned int" \
		"breaking raw_tp:block_bio_queue argument 0, struct request_queue *, is gone" \
		"breaking raw_tp:block_getrq argument 2, int, is gone" "breaking raw_tp:block_sleeprq gone" \
		"added raw_tp:kfree_skb argument 2 is new: enum skb_drop_reason" \
		"breaking record:block_rq field rwbs had 8 bytes, has 10, and is char[10]" \
		"moved record:block_rq field comm moved from offset 40 to 44" "added record:block_rq field ioprio is new"; do
		claim "from 5.10 to 7: $difference" jq -e --arg text "$difference" \
			'.differences | map("\(.class) \(.target) \(.what)") | index($text)' "$out"
	done
	holds "and nothing is said of what is the same" "$out" \
		'[$last.differences[] | select(.target | IN("raw_tp:block_rq_issue", "raw_tp:sched_process_fork", "raw_tp:sys_enter"))] == []'
	holds "what was compared is counted" "$out" '$last.compared.prototypes == $n and $last.compared.records > 300
		and $last.not_compared == {tracepoints: "only a running kernel has them"}' --argjson n "$(jq '.prototypes | length' of-5.10)"
	holds "so are the classes" "$out" '$last | .summary as $sum | .differences
		| all("breaking", "moved", "added", "noise"; . as $class | $sum[$class] == ([$last.differences[] | select(.class == $class)] | length))'
	checks 0 --image "$path" --against of-7
	holds "a kernel does not differ from itself" "$out" '$last.differences == []'
	jq '.records.sched_switch[0].offset += 8' of-7 >edited
	checks 4 --image "$path" --against edited
	jq '.records.sched_switch[0].signed |= not | del(.prototypes.sched_switch[3])' of-7 >edited
	checks 0 --image "$path" --against edited
	holds "noise and what is new break nothing" "$out" '[$last.differences[].class] == ["added", "noise"]'
	jq '.records.sched_switch[1].size = 8' of-7 >edited
	checks 3 --image "$path" --against edited
fi
if path=$(image --arch=arm64 6.12); then
	"$bin/probe-check" --image "$path" --save of-arm64 >/dev/null 2>&1
	is "a snapshot names the architecture of its kernel" "$? $(jq -r .arch of-arm64)" "0 aarch64"
	if [[ $(uname -m) != aarch64 && -e of-6.12 ]]; then
		checks 3 --image "$path" --against of-6.12
		is "which may differ, and no function" \
			"$(jq -r '.differences[] | select(.target | test("^(arch$|k:)")) | "\(.class) \(.target) \(.what)"' "$out")" \
			"breaking arch was $(uname -m), is aarch64"
		checks 1 --image "$path" s:read
		verdict s:read unknown
		why s:read "of this machine's architecture"
	fi
else
	skip "an image of another architecture" "the archive has no such kernel"
fi
done_testing
