/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* insn: what constant propagation and dead code elimination ask of one instruction of a BPF
 * program. */
#ifndef PLUMB_INSN_H
#define PLUMB_INSN_H

#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf.h>

/* A number of 64 bits: two instructions long. */
static inline bool insn_is_wide(const struct bpf_insn *in)
{
	return in->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static inline bool insn_is_call(const struct bpf_insn *in)
{
	return in->code == (BPF_JMP | BPF_CALL);
}

static inline bool insn_is_exit(const struct bpf_insn *in)
{
	return in->code == (BPF_JMP | BPF_EXIT);
}

static inline bool insn_is_goto(const struct bpf_insn *in)
{
	return in->code == (BPF_JMP | BPF_JA);
}

static inline bool insn_is_alu(const struct bpf_insn *in)
{
	return BPF_CLASS(in->code) == BPF_ALU || BPF_CLASS(in->code) == BPF_ALU64;
}

/* With a condition, or a goto: to where it leads if not on, by insn_target(). */
static inline bool insn_jumps(const struct bpf_insn *in)
{
	return (BPF_CLASS(in->code) == BPF_JMP || BPF_CLASS(in->code) == BPF_JMP32) &&
	       !insn_is_call(in) && !insn_is_exit(in);
}

static inline bool insn_branches(const struct bpf_insn *in)
{
	return insn_jumps(in) && !insn_is_goto(in);
}

/* Does it also, or only, lead to the next one? */
static inline bool insn_goes_on(const struct bpf_insn *in)
{
	return !insn_is_goto(in) && !insn_is_exit(in);
}

/* Of the program's own functions one is called. */
static inline bool insn_calls_own(const struct bpf_insn *in)
{
	return insn_is_call(in) && in->src_reg == BPF_PSEUDO_CALL;
}

static inline size_t insn_next(const struct bpf_insn *insns, size_t i)
{
	return i + 1 + insn_is_wide(&insns[i]);
}

/* Where a jump, or a call of a function of its own, leads. */
static inline size_t insn_target(const struct bpf_insn *insns, size_t i)
{
	return i + 1 + (insn_is_call(&insns[i]) ? insns[i].imm : insns[i].off);
}

#endif
