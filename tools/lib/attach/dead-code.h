/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * dead code elimination: takes out of a program what is of no use: instructions that are never
 * reached, those whose result nobody needs, jumps to jumps.
 *
 * Liveness of the registers; stores, calls, and branches that are not decided
 * stay.  What constant-propagation.h leaves is full of it, and each such instruction would be
 * executed whenever the probe fires.
 */
#ifndef DEAD_CODE_H
#define DEAD_CODE_H

#include <stddef.h>

#include <bpf/bpf.h>

/* How many of the N instructions are left. */
size_t plumb_eliminate_dead_code(struct bpf_insn *insns, size_t n);

#endif
