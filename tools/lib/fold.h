/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fold: writes a program's configuration into it.
 *
 * The verifier knows the value of everything in .rodata and drops the branches
 * that depend on it, but not the loads: each probe that fires would still make
 * some forty of them.  Here each load whose address is the same on every way to it
 * becomes a move of the number.  (Constant propagation, for these addresses only.)
 * All else stays as it is; the verifier checks what comes out.
 */
#ifndef PLUMB_FOLD_H
#define PLUMB_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>

/* FD is the map that holds the SIZE bytes of CONFIG, in the N instructions of a loaded program. */
void plumb_fold(struct bpf_insn *insns, size_t n, int fd, const void *config, size_t size);

#endif
