#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# probe-check on what is compiled here so that it is known what became of each function.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/trust/probe-check.sh

# --- what is typed ---

refused 2 'TARGET'
refused 2 'r:NAME' r:sched:y
refused 2 'k:' k:
refused 2 'u:libc' u:libc
refused 2 '--tool.*nonsense.*tcp-sendmsg-lat' --tool nonsense
refused 2 '--live' --live 1
refused 2 '--live.*0' --live 0 s:read
refused 2 '--live.*--image' --live 1 --image x s:read
refused 1 '/nonexistent' --image /nonexistent k:x
refused 1 '/etc/passwd' --image /etc/passwd k:x
refused 1 '/nonexistent: No such file' --btf /nonexistent k:x
refused 1 '/etc/passwd: it is neither BTF' --btf /etc/passwd k:x
refused 1 '/bin/sh: it is neither BTF' --btf /bin/sh k:x
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

checks 3 u:./program:{small,both,called,twin,split,chilly,shut,chosen,absent,main} u:./program:called+{0,1,4096}
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
verdict u:./program:called+1 gone
why u:./program:called+1 'called\+0x1 in .* is inside an instruction'
verdict u:./program:called+0 ok
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
verdict u:./linked.so:twin duplicated
why u:./linked.so:twin "symbols that are not in the file's sections"
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
# Bytes inside an instruction that look like a call.
cat >bytes.c <<'END'
__attribute__((noinline)) void called(void) { __asm__ volatile(""); }
__attribute__((noinline)) void looks(void)
{
	__asm__ volatile(".byte 0x48, 0xb8, 0xe8\n.long called - . - 4\n.byte 0, 0, 0" ::: "rax");
}
int main(void) { called(); looks(); called(); return 0; }
END
if [[ $(uname -m) == x86_64 ]] && gcc -O2 -o bytes bytes.c; then
	checks 0 u:./bytes:called
	verdict u:./bytes:called ok null "$(objdump -d bytes | grep -c 'call.*<called>')"
fi

# Returns, by what is known of the program.
cat >throws.cc <<'END'
#include <cstdio>
__attribute__((noinline)) int thrower(int x) { if (x > 3) throw x; return x; }
__attribute__((noinline)) int passes(int x) { return thrower(x) + 1; }
int main(int n, char **) { try { return passes(n); } catch (int) { return 9; } }
END
g++ -O2 -o throws throws.cc
checks 0 'u:./throws:passes(int)' 'u:./throws:thrower(int)'
why 'u:./throws:passes(int)' 'a return probe .uretprobe. ends a program that throws an exception through it: its return instructions can be probed'
why 'u:./throws:thrower(int)' 'its return instructions (can be probed|cannot be probed either: it ends in a jump to another function)'
# A name of C++ as in the source is judged as its symbol is.
cat >spelt.cc <<'END'
int spelt(int a, int b) { return a + b; }
__attribute__((noinline)) int kept(int a) { __asm__ volatile(""); return a * 3; }
int main(int n, char **) { return spelt(n, 2) + kept(n); }
END
g++ -O2 -g -o spelt spelt.cc
for name in _Z5speltii spelt 'spelt(int, int)'; do
	checks 3 "u:./spelt:$name"
	why "u:./spelt:$name" 'inlined at 1 place, and no call is left'
done
checks 0 'u:./spelt:kept(int)'
why 'u:./spelt:kept(int)' 'uprobes take it; 1 direct call; inlined nowhere'

# ... also where no symbol is left.  Of a static function g++ describes but the plain name.
cat >static.cc <<'END'
static inline int only(int a, int b) { return a * b; }
inline int shared(int a, int b) { return a ^ b; }
int main(int n, char **) { return only(n, 2) + shared(n, 5); }
END
g++ -O2 -g -o static static.cc
for name in _Z6sharedii shared 'shared(int, int)' only; do
	checks 3 "u:./static:$name"
	why "u:./static:$name" 'inlined at 1 place, and no function is left to probe'
done
for name in _ZL4onlyii 'only(int, int)'; do
	checks 1 "u:./static:$name"
	why "u:./static:$name" 'no function of that name is left to probe; only, of which debugging information has no other name, is inlined at 1 place'
done
checks 3 'u:./static:other(int, int)'
why 'u:./static:other(int, int)' 'no function other\(int, int\) in'
# Symbols that only .gnu_debugdata has, too.
g++ -O2 -o symbols spelt.cc
objcopy --only-keep-debug symbols mini
xz -f mini
objcopy --strip-all --add-section .gnu_debugdata=mini.xz symbols packed
for name in _Z5speltii 'spelt(int, int)'; do
	checks 3 "u:./packed:$name"
	why "u:./packed:$name" 'no call of it is left in the code of the file'
done
checks 0 'u:./packed:kept(int)'
why 'u:./packed:kept(int)' 'uprobes take it; 1 direct call; whether it is inlined'
# What only a debug file has is not looked for in the code.
objcopy --only-keep-debug symbols apart.debug
objcopy --strip-all --add-gnu-debuglink=apart.debug symbols apart
checks 1 'u:./apart:kept(int)'
why 'u:./apart:kept(int)' 'uprobes take it; whether calls of it are left is not known'
cat >ends.c <<'END'
#include <stdlib.h>
__attribute__((noinline, noreturn)) void leaves(int x) { exit(x); }
__attribute__((noinline)) int returns(int x) { __asm__ volatile(""); return x + 1; }
int main(int n, char **v) { (void)v; leaves(returns(n)); }
END
gcc -O2 -o ends ends.c
checks 0 u:./ends:leaves u:./ends:returns
why u:./ends:leaves 'of probes on return instructions: it has no return'
checks 0 u:libc:vfork u:libc:dlsym u:libc:swapcontext
why u:libc:vfork 'its return instructions can be probed'
checks 0 u:libc:vfork u:libc:dlsym u:libc:swapcontext
for function in vfork dlsym swapcontext; do
	why "u:libc:$function" 'no return probe .uretprobe.: it depends on its return address'
done
strip -g -o undescribed ends
checks 0 u:./undescribed:returns
is "that inlining is not known is said once" "$(jq -r '.checks[].why' "$out" | grep -o 'inlin[a-z]*\|no debugging information')" \
	$'inlined\nno debugging information'
checks 0 u:./ends:leaves u:./ends:returns
is "of others nothing is said" "$(jq -r '.checks[1].why' "$out" | grep -c 'return')" 0
cat >asks.c <<'END'
#include <dlfcn.h>
__attribute__((noinline)) void *who(void) { return __builtin_return_address(0); }
__attribute__((noinline)) int plain(int x) { __asm__ volatile(""); return x + 1; }
int main(int n, char **v) { return dlopen(v[0], 1) == who() || plain(n); }
END
gcc -O2 -o asks asks.c -ldl
checks 0 u:./asks:who u:./asks:plain
why u:./asks:who 'no return probe .uretprobe.: it depends on its return address'
why u:./asks:plain 'a return probe .uretprobe. ends the program if it loads C\+\+ later, and an exception passes through it'
if printf 'int f(int x) { return x; } int main(int n) { return f(n); }' | gcc -m32 -O0 -x c - -o narrow 2>/dev/null; then
	checks 0 u:./narrow:f
	why u:./narrow:f '32-bit'
else
	skip "a 32-bit program is said to be one" "gcc -m32 cannot link"
fi
make_traced
sed 's/\.asciz \\"\\"/.asciz \\"-4@%eax 8@%xmm0\\"/; s/mine/args/' traced.c >arguments.c
if [[ $(uname -m) == x86_64 ]] && gcc -o arguments arguments.c; then
	checks 0 usdt:./arguments:args:here
	why usdt:./arguments:args:here 'argument 1 .8@%xmm0. is not read: '
fi
# Where this kernel's probe damages what is at a 5-byte nop, it is refused, and not tried either; at an entry it is behind the nop.
cp "$top/build/tests/nops" .
if [[ $(uname -m) == x86_64 ]]; then
	intact=$("$bin/func-count" --no-calibrate u:./nops:nops_leaf+5 -- ./nops 2>&1 >/dev/null | grep -c 'damaged 0')
	((intact)) && wanted=ok || wanted=refused
	"$bin/probe-check" -j u:./nops:nops_leaf+5 usdt:./nops:app:leaf u:./nops:nops_leaf u:./nops:nops_entry \
		u:./nops:nops_long >"$out" 2>"$err"
	verdict u:./nops:nops_leaf+5 "$wanted"
	verdict usdt:./nops:app:leaf "$wanted"
	verdict u:./nops:nops_leaf ok
	verdict u:./nops:nops_entry ok
	verdict u:./nops:nops_long ok
fi
checks 3 usdt:./traced:mine:here usdt:./traced:mine:hree usdt:./traced:yours:here
verdict usdt:./traced:mine:here ok
why usdt:./traced:mine:here '2 places'
verdict usdt:./traced:mine:hree gone
why usdt:./traced:mine:hree 'did you mean here'
verdict usdt:./traced:yours:here gone
done_testing
