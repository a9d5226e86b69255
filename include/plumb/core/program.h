/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* program: what is read of a BPF program, and written into a copy of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct bpf_insn;
struct bpf_program;

/*
 * Returns a copy of P's instructions that loads VALUE where P loads the 64-bit constant UNSET. KIND
 * is that of VALUE, like BPF_PSEUDO_BTF_ID (0: a number).  Owned by the caller; NULL: no memory.
 */
struct bpf_insn *plumb_insns_copy(const struct bpf_program *p, uint64_t unset, uint8_t kind,
				  uint64_t value);

/* Whether P calls the helper UNSET, in functions that are inlined. */
bool plumb_insns_calls(const struct bpf_program *p, int32_t unset);

/* Has P call the kernel's function of that BTF ID there instead; 0 or -errno. */
int plumb_insns_call(struct bpf_program *p, int32_t unset, uint32_t function);

/* Whether NAME is in NAMES, ended by NULL; NULL: there is none. */
static inline bool plumb_is_one_of(const char *const *names, const char *name)
{
	while (names && *names && strcmp(*names, name) != 0)
		names++;
	return names && *names;
}

/* Adds the executions that the kernel skipped to MISSED; false: it does not count them. */
bool plumb_program_missed(int program, uint64_t *missed);
