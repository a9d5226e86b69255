/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* program: what is read of a BPF program, and written into a copy of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bpf_insn;
struct bpf_object;
struct bpf_prog_load_opts;
struct bpf_program;

/*
 * Returns a copy of P's instructions that loads VALUE where P loads the 64-bit constant UNSET. KIND
 * is that of VALUE, like BPF_PSEUDO_BTF_ID (0: a number).  Owned by the caller; NULL: no memory.
 */
struct bpf_insn *plumb_insns_copy(const struct bpf_program *p, uint64_t unset, uint8_t kind,
				  uint64_t value);

/*
 * From now on notes the types of the functions of programs that may be copied, when they are loaded:
 * those whose section names a kind of program and nothing to attach it to.
 */
void plumb_programs_note(void);
/*
 * Adds them to OPTS, for a copy of P, of OBJECT.  Without them the verifier looks at a global
 * function for each of its callers, and not once.
 */
void plumb_program_functions(const struct bpf_program *p, const struct bpf_object *object,
			     struct bpf_prog_load_opts *opts);

/* Adds the executions that the kernel skipped to MISSED; false: it does not count them. */
bool plumb_program_missed(int program, uint64_t *missed);
