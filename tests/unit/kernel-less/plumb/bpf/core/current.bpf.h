/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* current, for unit tests: what frames need of the kernel's headers. */
#pragma once

#define barrier_var(x)             asm volatile("" : "+r"(x))
#define BPF_CORE_READ(p, one)      ((p)->one)
#define PLUMB_LEDGERS              512
#define ledger_index(cpu, n, bits) ((cpu) << (bits) | (n))
struct task_struct {
	void *stack;
};
static struct {
	unsigned int cpus;
} plumb_config = {1};
