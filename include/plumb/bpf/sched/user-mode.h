/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * user-mode: whether a thread has been in user mode since it was last seen, without a program
 * where it enters the kernel or leaves it.
 *
 * The kernel shifts its stack by a random offset, another one for each system call
 * (CONFIG_RANDOMIZE_KSTACK_OFFSET, 5.13).  What the offset is made of changes at each return to
 * user mode; from 7.0 on instead at each system call, before interrupts are enabled.  So a thread
 * that is in a system call now as before is in the same one if that has not changed.  (It has 32
 * bits.  That it comes back to the same value is one in four thousand million.)
 */
#pragma once

/*
 * In place of the variable's BTF ID, where it is no member of task_struct, kstack_offset: that of a
 * variable of each CPU, kstack_offset or, from 7.0 on, kstack_rnd_state.
 */
#define PLUMB_USER_MODE_UNSET 0x706c756d6275736dLL
