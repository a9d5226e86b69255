/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * constant propagation: writes a program's configuration into it.
 *
 * The verifier knows the value of everything in .rodata and drops the branches
 * that depend on it, but not what computes their conditions: each probe that fires
 * would still make some forty loads.  Here what is the same on every path to an
 * instruction is computed beforehand: constant propagation over the registers, where
 * a branch that is decided has one path only.  All else stays as it is; dead-code.h
 * removes what is left without a use, and the verifier checks what comes out.
 */
#ifndef CONSTANT_PROPAGATION_H
#define CONSTANT_PROPAGATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>

/* FD is the map that holds the SIZE bytes of CONFIG, in the N instructions of a loaded program. */
void plumb_propagate_constants(struct bpf_insn *insns, size_t n, int fd, const void *config,
			       size_t size);

#endif
