/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dead-code.h"
#include "insn.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define BIT(reg) (1U << (reg))
#define ARGUMENTS                                                                                  \
	(BIT(BPF_REG_1) | BIT(BPF_REG_2) | BIT(BPF_REG_3) | BIT(BPF_REG_4) | BIT(BPF_REG_5))
#define ALL ((1U << MAX_BPF_REG) - 1)

/* What an instruction does: registers that it reads, and that have another value behind it. */
struct effect {
	uint32_t reads, writes;
	bool is_pure; /* nothing but what it writes */
};

/* What is found out about an instruction. */
struct fact {
	uint32_t before, behind; /* registers whose value is needed there */
	bool is_useless, is_reached, is_kept;
	size_t to;    /* where it leads, if it jumps or calls */
	size_t moved; /* its place in what comes out */
};

/* Of the helpers on the path of each event; else it is as if they took all. */
static uint32_t arguments(const struct bpf_insn *call)
{
	if (call->src_reg)
		return ARGUMENTS;
	switch (call->imm) {
	case BPF_FUNC_ktime_get_ns:
	case BPF_FUNC_get_smp_processor_id:
	case BPF_FUNC_get_current_task:
	case BPF_FUNC_get_current_task_btf:
	case BPF_FUNC_get_current_pid_tgid:
		return 0;
	case BPF_FUNC_map_lookup_elem:
		return BIT(BPF_REG_1) | BIT(BPF_REG_2);
	default:
		return ARGUMENTS;
	}
}

static struct effect effect_of(const struct bpf_insn *in)
{
	uint32_t dst = BIT(in->dst_reg), src = BIT(in->src_reg);
	int class = BPF_CLASS(in->code), op = BPF_OP(in->code);
	/* What the bit says of a change of byte order is not a register. */
	bool has_src = BPF_SRC(in->code) == BPF_X && !(insn_is_alu(in) && op == BPF_END);

	if (insn_is_alu(in))
		return (struct effect){(op == BPF_MOV ? 0 : dst) | (has_src ? src : 0), dst, true};
	if (insn_is_wide(in))
		return (struct effect){0, dst, true};
	if (insn_is_call(in))
		return (struct effect){arguments(in), BIT(BPF_REG_0) | ARGUMENTS, false};
	if (insn_is_goto(in))
		return (struct effect){};
	if (insn_is_exit(in))
		return (struct effect){.reads = BIT(BPF_REG_0)};
	if (class == BPF_LDX)
		return (struct effect){src, dst, true};
	if (class == BPF_STX && BPF_MODE(in->code) == BPF_MEM)
		return (struct effect){.reads = dst | src};
	if (class == BPF_ST)
		return (struct effect){.reads = dst};
	if (insn_branches(in))
		return (struct effect){.reads = dst | (has_src ? src : 0)};
	return (struct effect){.reads = ALL}; /* atomics, and old ways to read packets */
}

/* What is needed before an instruction, from what is behind it. */
static uint32_t needed(const struct effect *e, uint32_t behind)
{
	if (e->is_pure && !(e->writes & behind))
		return behind;
	return (behind & ~e->writes) | e->reads;
}

/* From each instruction to those that lead to it, until nothing changes any more. */
static void find_useless(const struct bpf_insn *insns, size_t n, struct fact *facts)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = n; i-- > 0;) {
			struct effect e = effect_of(&insns[i]);
			size_t next = insn_next(insns, i), to = insn_target(insns, i);
			struct fact *f = &facts[i];
			uint32_t before = f->before;

			if (insn_goes_on(&insns[i]) && next < n)
				f->behind |= facts[next].before;
			if (insn_jumps(&insns[i]) && to < n)
				f->behind |= facts[to].before;
			if (insn_calls_own(&insns[i]) && to < n)
				e.reads &= facts[to].before; /* those that it looks at */
			f->before = needed(&e, f->behind);
			f->is_useless = e.is_pure && !(e.writes & f->behind);
			more |= f->before != before;
		}
	}
}

/* Where a jump to instruction AT leads in the end: past what is useless, and along jumps. */
static size_t arrive(const struct bpf_insn *insns, size_t n, const struct fact *facts, size_t at)
{
	for (size_t hops = 0; hops < n && at < n; hops++) {
		if (insn_is_goto(&insns[at]))
			at = insn_target(insns, at);
		else if (facts[at].is_useless)
			at = insn_next(insns, at);
		else
			break;
	}
	return at;
}

/* Marks instruction AT, if there is one; was it not? */
static bool reach(struct fact *facts, size_t n, size_t at)
{
	bool first = at < n && !facts[at].is_reached;

	if (first)
		facts[at].is_reached = true;
	return first;
}

static void find_reached(const struct bpf_insn *insns, size_t n, struct fact *facts)
{
	bool more = reach(facts, n, 0);

	while (more) {
		more = false;
		for (size_t i = 0; i < n; i++) {
			if (!facts[i].is_reached)
				continue;
			if (insn_goes_on(&insns[i]))
				more |= reach(facts, n, insn_next(insns, i));
			if (insn_jumps(&insns[i]) || insn_calls_own(&insns[i]))
				more |= reach(facts, n, facts[i].to);
		}
	}
}

/* What is kept, from the last on: a goto unless it leads to what follows it then. */
static void find_kept(const struct bpf_insn *insns, size_t n, struct fact *facts)
{
	size_t follows = n;

	for (size_t i = n; i-- > 0;) {
		struct fact *f = &facts[i];

		f->is_kept = f->is_reached && !f->is_useless &&
			     !(insn_is_goto(&insns[i]) && f->to == follows);
		if (f->is_kept)
			follows = i;
	}
}

/* Moves together what is kept.  How much is it? */
static size_t close_gaps(struct bpf_insn *insns, size_t n, struct fact *facts)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		facts[i].moved = left;
		if (facts[i].is_kept)
			left += insn_next(insns, i) - i;
	}
	for (size_t i = 0; i < n; i++) {
		struct bpf_insn in = insns[i];
		long distance = (long)facts[facts[i].to].moved - (long)facts[i].moved - 1;

		if (!facts[i].is_kept)
			continue;
		if (insn_jumps(&in))
			in.off = distance;
		else if (insn_calls_own(&in))
			in.imm = distance;
		insns[facts[i].moved] = in;
		if (insn_is_wide(&in))
			insns[facts[i].moved + 1] = insns[i + 1];
	}
	return left;
}

/* Not where an instruction tells a place in a way that is not known here, or one outside. */
static bool can_be_pruned(const struct bpf_insn *insns, size_t n)
{
	for (size_t i = 0; i < n; i = insn_next(insns, i)) {
		const struct bpf_insn *in = &insns[i];

		if (insn_is_wide(in) && (i + 1 == n || in->src_reg == BPF_PSEUDO_FUNC))
			return false;
		if (insn_branches(in) &&
		    (BPF_OP(in->code) == BPF_JA || BPF_OP(in->code) > BPF_JSLE))
			return false;
		if ((insn_jumps(in) || insn_calls_own(in)) && insn_target(insns, i) >= n)
			return false;
	}
	return n <= INT16_MAX; /* the farthest jump */
}

size_t plumb_eliminate_dead_code(struct bpf_insn *insns, size_t n)
{
	struct fact *facts = calloc(n, sizeof(*facts));

	if (facts && can_be_pruned(insns, n)) {
		find_useless(insns, n, facts);
		for (size_t i = 0; i < n; i++)
			if (insn_calls_own(&insns[i]))
				facts[i].to = insn_target(insns, i);
			else if (insn_jumps(&insns[i]))
				facts[i].to = arrive(insns, n, facts, insn_target(insns, i));
		find_reached(insns, n, facts);
		find_kept(insns, n, facts);
		n = close_gaps(insns, n, facts);
	}
	free(facts);
	return n;
}
