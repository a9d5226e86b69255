/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* thunks: a program that jumps through thunks, 1009 times each, with a number of its own on the stack;
 * ends with 3 if it is another afterwards. */
.globl _start
.type thunk, @function
thunk: call 2f
1: pause; lfence; jmp 1b
2: mov %rax, (%rsp); ret
.size thunk, .-thunk
.type __x86_indirect_thunk_rax, @function
__x86_indirect_thunk_rax: lfence; jmp *%rax
.size __x86_indirect_thunk_rax, .-__x86_indirect_thunk_rax
.type jumps, @function
jumps: push %rsi
lea 1f(%rip), %rax
jmp thunk
1: lea 2f(%rip), %rax
jmp __x86_indirect_thunk_rax
2: pop %rdi; sub %rsi, %rdi; ret
.size jumps, .-jumps
_start: mov $1009, %esi
1: call jumps
test %rdi, %rdi
jnz 2f
dec %esi
jnz 1b
mov $60, %eax
xor %edi, %edi
syscall
2: mov $60, %eax
mov $3, %edi
syscall
.section .note.GNU-stack,"",%progbits
