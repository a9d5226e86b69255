#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# No program of any object reads the memory of processes, but those of a list that says what for:
# by the numbers of the helpers that their instructions call, and the names of kfuncs.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

disassemble=$(compgen -c llvm-objdump | sort -V | head -n 1)
[[ $disassemble ]] || { echo "1..0 # SKIP there is no llvm-objdump"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# include/uapi/linux/bpf.h: what reads or writes user memory, or may (probe_read, before 5.5).
declare -A reads=([4]=probe_read [36]=probe_write_user [45]=probe_read_str [67]=get_stack [112]=probe_read_user
	[114]=probe_read_user_str [148]=copy_from_user [191]=copy_from_user_task [209]=user_ringbuf_drain)
# bpf_copy_from_user_str, bpf_probe_read_user_dynptr, ...
kfuncs='[a-z_]*(_from_user|_read_user|_user_str|_user_task|_user_dynptr)[a-z_]*'

# OBJECT, helper: what for.
allowed=$(sed 's/:.*//' <<-'END' | sort
cache-hit probe_read_user: where in its file a call of sendfile or splice begins, 8 bytes
cpu-profile probe_read_user: words of the user stack: return addresses and saved registers, at which its walk goes on
cpu-profile get_stack: addresses of the user stack (-U), named by the loader
file-io-breakdown get_stack: addresses of the kernel stack: places that wait
file-io-breakdown probe_read_user: the code before a thread's next instruction, 7 bytes: which call it returns from
file-latency probe_read_user: the code before a thread's next instruction, 7 bytes: which call it returns from
file-latency-raw probe_read_user: the code before a thread's next instruction, 7 bytes: which call it returns from
file-latency-session-610 probe_read_user: the code before a thread's next instruction, 7 bytes: which call it returns from
file-latency-session-700 probe_read_user: the code before a thread's next instruction, 7 bytes: which call it returns from
func-stack get_stack: addresses of the user stack
func-stack probe_read_user: the return address at the entry of a user function: its caller
futex-latency probe_read_user: words of the user stack, as cpu-profile (-b stack); the first of the words that futex_waitv names: its address
futex-latency get_stack: addresses of the user stack
lock-latency get_stack: addresses of the kernel stack: places that wait
lock-latency-stacks probe_read_user: words of the user stack: return addresses and saved registers, at which its walk goes on
lock-latency-stacks get_stack: addresses of the stacks of waiters, and of the kernel stacks of owners
offcpu-time probe_read_user: words of the user stack: return addresses and saved registers, at which its walk goes on
offcpu-time get_stack: addresses of the user stack
process-life probe_read_user: the arguments of a program, 200 bytes, if they are asked for (--arguments)
skb-alloc-stacks probe_read_user: words of the user stack: return addresses and saved registers, at which its walk goes on
skb-alloc-stacks get_stack: addresses of the kernel stack
stack-twice probe_read_user: a test's
stack-twice get_stack: a test's: what the kernel says beside again.bpf.h
syscall-breakdown get_stack: addresses of the kernel stack: places that wait
syscall-breakdown probe_read_user: the code before a thread's next instruction, 7 bytes: which call it returns from
syscall-latency probe_read_user: the code before a thread's next instruction, 7 bytes: which call it returns from
syscall-latency-tail probe_read_user: the first words of a signal handler's frame, 4 bytes: whether registers are its
syscall-slower get_stack: addresses of the kernel stack: places that wait
syscall-slower probe_read_user: words of the user stack (--stacks), as cpu-profile; the code before a thread's next instruction, 7 bytes: which call it returns from; the time that a call asks for, 16 bytes
syscall-slower-tail get_stack: addresses of the kernel stack: places that wait
syscall-slower-tail probe_read_user: words of the user stack (--stacks), as cpu-profile; the first words of a signal handler's frame, 4 bytes: whether registers are its
tcp-sendmsg-lat probe_read_user: the code before a thread's next instruction, 7 bytes: which call it returns from
tcp-sendmsg-lat-raw probe_read_user: the code before a thread's next instruction, 7 bytes: which call it returns from
tcp-sendmsg-lat-session-610 probe_read_user: the code before a thread's next instruction, 7 bytes: which call it returns from
tcp-sendmsg-lat-session-700 probe_read_user: the code before a thread's next instruction, 7 bytes: which call it returns from
usdt-latency probe_read_user: arguments of USDT probes in memory: numbers of at most 8 bytes, by which calls are paired
user-func-latency probe_read_user: return addresses on the stack: which calls longjmp left
user-func-latency-go probe_read_user: the end of a goroutine's stack: where its calls are
user-func-latency-session-610 probe_read_user: as user-func-latency
user-func-latency-session-700 probe_read_user: as user-func-latency
wall-time probe_read_user: words of the user stack: return addresses and saved registers, at which its walk goes on
wall-time get_stack: addresses of the user stack
END
)

# Calls of helpers have no source register (85 00); 85 10 are calls of functions, 85 20 of kfuncs.
helpers_of() {
	"$disassemble" -d "$1" | awk '
		$2 == "85" && $3 == "00" && $4 $5 == "0000" { print $9 $8 $7 $6 }' | sort -u | while read -r number; do
		echo "${reads[$((16#$number))]-}"
	done
	"$disassemble" -r "$1" | grep -oE "\b$kfuncs\$" | sort -u
}

# found OBJECT...: what they read with, "OBJECT HELPER"
found() {
	local object helper
	for object; do
		while read -r helper; do
			[[ ! $helper ]] || echo "$(basename "$object" .bpf.o) $helper"
		done < <(helpers_of "$object")
	done | sort -u
}

objects=(build/bpf/*.bpf.o)
claim "objects are there" test "${#objects[@]}" -ge 40
claim "and their calls are seen" test "$("$disassemble" -d "${objects[@]}" | awk '$2 == "85" && $3 == "00"' | wc -l)" -ge 1000
found "${objects[@]}" >"$work/found"
is "no object reads user memory but for a reason" "$(comm -23 "$work/found" - <<<"$allowed")" ""
is "and no reason is left over" "$(comm -13 "$work/found" - <<<"$allowed")" ""

# It would be seen.
cat >"$work/reader.bpf.c" <<-'END'
typedef unsigned int __u32;
typedef unsigned long long __u64;
static long (*const read_user)(void *to, __u32 size, const void *from) = (void *)112;
static long (*const read_user_str)(void *to, __u32 size, const void *from) = (void *)114;
static long (*const any)(void *to, __u32 size, const void *from) = (void *)4;
static long (*const write_user)(void *to, const void *from, __u32 size) = (void *)36;
extern int bpf_copy_from_user_str(void *to, __u32 size, const void *from, __u64 flags) __attribute__((section(".ksyms")));
__attribute__((section("raw_tp/sys_enter"), used)) int reader(__u64 *ctx)
{
	char text[16];

	read_user(text, sizeof(text), (void *)ctx[1]);
	read_user_str(text, sizeof(text), (void *)ctx[1]);
	any(text, sizeof(text), (void *)ctx[1]);
	write_user((void *)ctx[1], text, sizeof(text));
	return bpf_copy_from_user_str(text, sizeof(text), (void *)ctx[1], 0);
}
END
claim "a program that reads is built" "${CLANG:-clang}" -target bpf -O2 -g -c "$work/reader.bpf.c" -o "$work/reader.bpf.o"
is "and found" "$(found "$work/reader.bpf.o" | paste -sd ,)" \
	"reader bpf_copy_from_user_str,reader probe_read,reader probe_read_user,reader probe_read_user_str,reader probe_write_user"
done_testing
