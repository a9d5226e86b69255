/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* user32: a 32-bit program that calls user_32 1009 times and user_32_deep 23 levels deep, once,
 * each of which passes the USDT probe app:level; ends with 3 if it is not told where it is. */
.globl _start
.type user_32, @function
user_32: push %ebx; mov $-22, %eax; pop %ebx; ret
.size user_32, .-user_32
.type user_32_deep, @function
user_32_deep: push %ebx; mov 8(%esp), %ebx
2: nop
dec %ebx; jz 1f; push %ebx; call user_32_deep; add $4, %esp
1: pop %ebx; ret
.size user_32_deep, .-user_32_deep
.type __x86.get_pc_thunk.bx, @function
__x86.get_pc_thunk.bx: mov (%esp), %ebx; ret
.size __x86.get_pc_thunk.bx, .-__x86.get_pc_thunk.bx
_start: call __x86.get_pc_thunk.bx
7: mov $1, %eax
cmp $7b, %ebx
mov $3, %ebx
jne 8f
mov $1009, %esi
1: call user_32
dec %esi
jnz 1b
push $23
call user_32_deep
mov $1, %eax
xor %ebx, %ebx
8: int $0x80
.section .note.stapsdt, "", "note"
.4byte 4f - 3f, 6f - 5f, 3
3: .asciz "stapsdt"
4: .balign 4
5: .4byte 2b, 0, 0
.asciz "app"
.asciz "level"
.asciz "-4@%ebx"
6: .balign 4
.section .note.GNU-stack,"",%progbits
