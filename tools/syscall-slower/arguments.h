/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arguments: how many a system call has. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include <stdint.h>

#define MAX_ARGUMENTS 6

/*
 * As the tracepoint at its entry declares them.  MAX_ARGUMENTS, and all of the registers
 * are to be shown, where that is not known: of 32-bit calls, which divide a 64-bit
 * argument among two, of calls whose tracepoint has another name, and without tracefs.
 */
int arguments_of(uint32_t nr, uint32_t abi);

#endif
