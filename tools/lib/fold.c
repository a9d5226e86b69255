/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fold.h"

#include <stdlib.h>
#include <string.h>

#define NONE (-1L)

/* Where the configuration is known to be, by register, as an offset in it; NONE: elsewhere. */
struct known {
	long at[MAX_BPF_REG];
};

static void forget(struct known *k, int from, int to)
{
	for (int r = from; r <= to; r++)
		k->at[r] = NONE;
}

static bool is_wide(const struct bpf_insn *i)
{
	return i->code == (BPF_LD | BPF_IMM | BPF_DW);
}

/* The load becomes the number that it loads, if that fits into an instruction. */
static void fold_load(struct bpf_insn *in, const char *config, size_t size, long at)
{
	static const size_t sizes[] = {
		[BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8};
	size_t bytes = sizes[BPF_SIZE(in->code) >> 3];
	uint64_t value = 0;

	at += in->off;
	if (at < 0 || (size_t)at + bytes > size)
		return;
	memcpy(&value, config + at, bytes); /* little-endian, as x86_64 and arm64 are */
	if (value > UINT32_MAX)
		return;
	*in = (struct bpf_insn){
		.code = BPF_ALU | BPF_MOV | BPF_K, /* clears the upper half */
		.dst_reg = in->dst_reg,
		.imm = value,
	};
}

/* What is known behind an instruction, from what is known before it. */
static void step(const struct bpf_insn *in, struct known *k, int fd)
{
	int class = BPF_CLASS(in->code), op = BPF_OP(in->code);

	switch (class) {
	case BPF_LDX:
		k->at[in->dst_reg] = NONE;
		break;
	case BPF_ALU:
	case BPF_ALU64:
		if (class == BPF_ALU64 && op == BPF_MOV && BPF_SRC(in->code) == BPF_X && !in->off)
			k->at[in->dst_reg] = k->at[in->src_reg];
		else if (class == BPF_ALU64 && op == BPF_ADD && BPF_SRC(in->code) == BPF_K &&
			 k->at[in->dst_reg] != NONE)
			k->at[in->dst_reg] += in->imm;
		else
			k->at[in->dst_reg] = NONE;
		break;
	case BPF_STX:
		if (BPF_MODE(in->code) == BPF_ATOMIC) {
			k->at[in->src_reg] = NONE;
			k->at[BPF_REG_0] = NONE;
		}
		break;
	case BPF_JMP:
		if (op == BPF_CALL)
			forget(k, BPF_REG_0, BPF_REG_5);
		break;
	case BPF_LD:
		if (is_wide(in) && in->src_reg == BPF_PSEUDO_MAP_VALUE && in->imm == fd)
			k->at[in->dst_reg] = in[1].imm;
		else if (is_wide(in))
			k->at[in->dst_reg] = NONE;
		else
			forget(k, BPF_REG_0, BPF_REG_10);
		break;
	default:
		break;
	}
}

/* K is a way to get to an instruction where INTO is known so far; is less known by it? */
static bool merge(struct known *into, bool *reached, const struct known *k)
{
	bool less = false;

	if (!*reached) {
		*reached = true;
		*into = *k;
		return true;
	}
	for (int r = BPF_REG_0; r < MAX_BPF_REG; r++)
		if (into->at[r] != NONE && into->at[r] != k->at[r]) {
			into->at[r] = NONE;
			less = true;
		}
	return less;
}

/* From everywhere to where it can lead, until nothing changes any more. */
static void spread(const struct bpf_insn *insns, size_t n, int fd, struct known *known,
		   bool *reached)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < n; i++) {
			const struct bpf_insn *in = &insns[i];
			int class = BPF_CLASS(in->code), op = BPF_OP(in->code);
			bool jumps = (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL;
			size_t next = i + 1 + is_wide(in), to = i + 1 + in->off;
			struct known k = known[i];

			if (!reached[i])
				continue;
			step(in, &k, fd);
			if (jumps && op != BPF_EXIT && to < n)
				more |= merge(&known[to], &reached[to], &k);
			if (!(jumps && (op == BPF_EXIT || op == BPF_JA)) && next < n)
				more |= merge(&known[next], &reached[next], &k);
		}
	}
}

void plumb_fold(struct bpf_insn *insns, size_t n, int fd, const void *config, size_t size)
{
	struct known *known = calloc(n, sizeof(*known));
	bool *reached = calloc(n, sizeof(*reached));

	if (known && reached) {
		/* Functions of its own, if it has any, are not reached: their loads stay. */
		reached[0] = true;
		forget(&known[0], BPF_REG_0, BPF_REG_10);
		spread(insns, n, fd, known, reached);
		for (size_t i = 0; i < n; i++)
			if (reached[i] && BPF_CLASS(insns[i].code) == BPF_LDX &&
			    BPF_MODE(insns[i].code) == BPF_MEM &&
			    known[i].at[insns[i].src_reg] != NONE)
				fold_load(&insns[i], config, size, known[i].at[insns[i].src_reg]);
	}
	free(known);
	free(reached);
}
