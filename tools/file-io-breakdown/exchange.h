/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* exchange: programs with compare-and-exchange on kernels whose BPF has none (before 5.12). */
#ifndef IO_EXCHANGE_H
#define IO_EXCHANGE_H

struct bpf_object;

/*
 * If the kernel refuses compare-and-exchange, replaces it by a store in the opened OBJECT, whose
 * programs then always see it succeed; not in functions that are not inlined.  Of the programs
 * ONLY_WITH and ONLY_WITHOUT, loads the one for this kernel.  0 or -errno.
 */
int exchange_prepare(struct bpf_object *object, const char *only_with, const char *only_without);

#endif
