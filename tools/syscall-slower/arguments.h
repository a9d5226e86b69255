/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arguments: the number of arguments of a system call. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include <stdint.h>

#define MAX_ARGUMENTS 6

/* Before the tool is confined: opens tracefs, which may have to be mounted. */
void arguments_begin(void);

/*
 * The number that the call's tracepoint (sys_enter_NAME) declares.  MAX_ARGUMENTS if that is not
 * known, so that all registers are shown: for 32-bit calls, which pass a 64-bit argument in two
 * registers, for calls whose tracepoint has another name, and without tracefs.
 */
int arguments_of(uint32_t nr, uint32_t abi);

#endif
