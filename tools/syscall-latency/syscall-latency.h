/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the loader and the programs of syscall-latency agree on. */
#ifndef SYSCALL_LATENCY_H
#define SYSCALL_LATENCY_H

/* Calls that the fentry mechanism can take: each has its own pair of programs. */
#define SYSCALL_LATENCY_FUNCTIONS 4

#endif
