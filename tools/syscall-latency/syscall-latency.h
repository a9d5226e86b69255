/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of syscall-latency. */
#ifndef SYSCALL_LATENCY_H
#define SYSCALL_LATENCY_H

/* Maximum number of system calls of mechanism fentry: each has its own pair of programs. */
#define SYSCALL_LATENCY_FUNCTIONS 4

#endif
