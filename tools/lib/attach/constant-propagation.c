/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "constant-propagation.h"
#include "insn.h"

#include <stdlib.h>
#include <string.h>

/* What a register has, the same on every path to an instruction: a number, or a place in CONFIG. */
struct value {
	enum { ANYTHING, NUMBER, PLACE } kind;
	uint64_t number; /* PLACE: the offset */
};

struct known {
	struct value in[MAX_BPF_REG];
};

struct config {
	int fd;
	const char *bytes;
	size_t size;
};

static const struct value anything = {ANYTHING, 0};

static bool is_same(struct value a, struct value b)
{
	return a.kind == b.kind && a.number == b.number;
}

static void forget(struct known *k, int from, int to)
{
	for (int r = from; r <= to; r++)
		k->in[r] = anything;
}

/* The number with which an instruction calculates or compares, if it is one. */
static struct value operand(const struct bpf_insn *in, const struct known *k)
{
	if (BPF_SRC(in->code) == BPF_X)
		return k->in[in->src_reg];
	return (struct value){NUMBER, (int64_t)in->imm};
}

static struct value load(const struct bpf_insn *in, struct value from, const struct config *c)
{
	static const size_t sizes[] = {
		[BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8};
	size_t bytes = sizes[BPF_SIZE(in->code) >> 3];
	struct value v = {NUMBER, 0};
	int64_t at = from.number + in->off;

	if (BPF_MODE(in->code) != BPF_MEM || from.kind != PLACE || at < 0 ||
	    (uint64_t)at + bytes > c->size)
		return anything;
	memcpy(&v.number, c->bytes + at, bytes); /* little-endian, as x86_64 and arm64 are */
	return v;
}

/* A with B, of BITS each; false: not known here. */
static bool calculate(int op, int bits, uint64_t a, uint64_t b, uint64_t *result)
{
	int64_t s = bits == 32 ? (int32_t)a : (int64_t)a;
	int shift = b & (bits - 1);

	if (bits == 32)
		a = (uint32_t)a;
	switch (op) {
	case BPF_MOV:
		*result = b;
		break;
	case BPF_ADD:
		*result = a + b;
		break;
	case BPF_SUB:
		*result = a - b;
		break;
	case BPF_MUL:
		*result = a * b;
		break;
	case BPF_AND:
		*result = a & b;
		break;
	case BPF_OR:
		*result = a | b;
		break;
	case BPF_XOR:
		*result = a ^ b;
		break;
	case BPF_LSH:
		*result = a << shift;
		break;
	case BPF_RSH:
		*result = a >> shift;
		break;
	case BPF_ARSH:
		*result = s >> shift;
		break;
	case BPF_NEG:
		*result = -a;
		break;
	default:
		return false;
	}
	if (bits == 32)
		*result = (uint32_t)*result;
	return true;
}

static struct value alu(const struct bpf_insn *in, const struct known *k)
{
	int op = BPF_OP(in->code), bits = BPF_CLASS(in->code) == BPF_ALU ? 32 : 64;
	struct value a = k->in[in->dst_reg], b = operand(in, k), v = {NUMBER, 0};

	if (in->off) /* with a sign, in newer instructions */
		return anything;
	if (bits == 64 && op == BPF_MOV)
		return b;
	if (bits == 64 && op == BPF_ADD && a.kind == PLACE && b.kind == NUMBER)
		return (struct value){PLACE, a.number + b.number};
	if ((op != BPF_MOV && a.kind != NUMBER) || b.kind != NUMBER ||
	    !calculate(op, bits, a.number, b.number, &v.number))
		return anything;
	return v;
}

static struct value wide(const struct bpf_insn *in, const struct config *c)
{
	if (!in->src_reg)
		return (struct value){NUMBER,
				      (uint64_t)(uint32_t)in[1].imm << 32 | (uint32_t)in->imm};
	if (in->src_reg == BPF_PSEUDO_MAP_VALUE && in->imm == c->fd)
		return (struct value){PLACE, (uint32_t)in[1].imm};
	return anything;
}

/* What is known behind an instruction, from what is known before it. */
static void step(const struct bpf_insn *in, struct known *k, const struct config *c)
{
	switch (BPF_CLASS(in->code)) {
	case BPF_LDX:
		k->in[in->dst_reg] = load(in, k->in[in->src_reg], c);
		break;
	case BPF_ALU:
	case BPF_ALU64:
		k->in[in->dst_reg] = alu(in, k);
		break;
	case BPF_STX:
		if (BPF_MODE(in->code) == BPF_ATOMIC) {
			k->in[in->src_reg] = anything;
			k->in[BPF_REG_0] = anything;
		}
		break;
	case BPF_JMP:
		if (insn_is_call(in))
			forget(k, BPF_REG_0, BPF_REG_5);
		break;
	case BPF_LD:
		if (insn_is_wide(in))
			k->in[in->dst_reg] = wide(in, c);
		else
			forget(k, BPF_REG_0, BPF_REG_10);
		break;
	default:
		break;
	}
}

/* Does a branch branch?  False: not known here. */
static bool decide(const struct bpf_insn *in, const struct known *k, bool *branches)
{
	struct value va = k->in[in->dst_reg], vb = operand(in, k);
	uint64_t a = va.number, b = vb.number;

	if (va.kind != NUMBER || vb.kind != NUMBER)
		return false;
	if (BPF_CLASS(in->code) == BPF_JMP32) {
		/* Extended by their signs they compare the same, with and without. */
		a = (int64_t)(int32_t)a;
		b = (int64_t)(int32_t)b;
	}
	switch (BPF_OP(in->code)) {
	case BPF_JEQ:
		*branches = a == b;
		return true;
	case BPF_JNE:
		*branches = a != b;
		return true;
	case BPF_JSET:
		*branches = a & b;
		return true;
	case BPF_JGT:
		*branches = a > b;
		return true;
	case BPF_JGE:
		*branches = a >= b;
		return true;
	case BPF_JLT:
		*branches = a < b;
		return true;
	case BPF_JLE:
		*branches = a <= b;
		return true;
	case BPF_JSGT:
		*branches = (int64_t)a > (int64_t)b;
		return true;
	case BPF_JSGE:
		*branches = (int64_t)a >= (int64_t)b;
		return true;
	case BPF_JSLT:
		*branches = (int64_t)a < (int64_t)b;
		return true;
	case BPF_JSLE:
		*branches = (int64_t)a <= (int64_t)b;
		return true;
	default:
		return false;
	}
}

/* K is a path to an instruction where INTO is known so far; is less known by it? */
static bool merge(struct known *into, bool *reached, const struct known *k)
{
	bool less = !*reached;

	if (!*reached)
		*into = *k;
	*reached = true;
	for (int r = BPF_REG_0; r < MAX_BPF_REG; r++)
		if (into->in[r].kind != ANYTHING && !is_same(into->in[r], k->in[r])) {
			into->in[r] = anything;
			less = true;
		}
	return less;
}

/* From instruction I to where it can lead; is less known there than before? */
static bool spread(const struct bpf_insn *insns, size_t n, size_t i, const struct config *c,
		   struct known *known, bool *reached)
{
	const struct bpf_insn *in = &insns[i];
	size_t next = insn_next(insns, i), to = insn_target(insns, i);
	bool jumps = insn_jumps(in), goes_on = insn_goes_on(in), less = false, branches;
	struct known k = known[i], none = {};

	if (insn_branches(in) && decide(in, &k, &branches)) {
		jumps = branches;
		goes_on = !branches;
	}
	step(in, &k, c);
	if (insn_calls_own(in) && to < n) /* of its arguments nothing is known */
		less |= merge(&known[to], &reached[to], &none);
	if (jumps && to < n)
		less |= merge(&known[to], &reached[to], &k);
	if (goes_on && next < n)
		less |= merge(&known[next], &reached[next], &k);
	return less;
}

/* A number that an instruction can hold, which extends it by its sign, if BITS are 64. */
static bool fits(uint64_t number, int bits)
{
	return bits == 32 || (int64_t)number == (int32_t)number;
}

/* In place of what computes or loads it. */
static void become_number(struct bpf_insn *in, uint64_t number)
{
	bool is_short = number <= UINT32_MAX; /* then the upper half is cleared */

	if (BPF_OP(in->code) == BPF_MOV && BPF_SRC(in->code) == BPF_K && insn_is_alu(in))
		return; /* it is one */
	if (is_short || fits(number, 64))
		*in = (struct bpf_insn){
			.code = (is_short ? BPF_ALU : BPF_ALU64) | BPF_MOV | BPF_K,
			.dst_reg = in->dst_reg,
			.imm = number,
		};
}

/* The second register of an instruction is a number: then it need not have one. */
static void take_number(struct bpf_insn *in, const struct known *k)
{
	int class = BPF_CLASS(in->code), op = BPF_OP(in->code);
	int bits = class == BPF_ALU || class == BPF_JMP32 ? 32 : 64;
	struct value v = k->in[in->src_reg];
	bool shifts = op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH;

	if (BPF_SRC(in->code) != BPF_X || v.kind != NUMBER || !fits(v.number, bits))
		return;
	if (insn_is_alu(in) && (op == BPF_DIV || op == BPF_MOD || op == BPF_END || in->off))
		return; /* a zero, which would be refused; no register; another sense */
	in->imm = insn_is_alu(in) && shifts ? v.number & (bits - 1) : v.number;
	in->code = (in->code & ~BPF_X) | BPF_K;
	in->src_reg = 0;
}

static bool changes_nothing(const struct bpf_insn *in)
{
	switch (in->code) {
	case BPF_ALU64 | BPF_K | BPF_ADD:
	case BPF_ALU64 | BPF_K | BPF_SUB:
	case BPF_ALU64 | BPF_K | BPF_OR:
	case BPF_ALU64 | BPF_K | BPF_XOR:
	case BPF_ALU64 | BPF_K | BPF_LSH:
	case BPF_ALU64 | BPF_K | BPF_RSH:
	case BPF_ALU64 | BPF_K | BPF_ARSH:
		return !in->imm;
	default:
		return false;
	}
}

static void rewrite(struct bpf_insn *in, const struct known *before, const struct config *c)
{
	static const struct bpf_insn nothing = {.code = BPF_JMP | BPF_JA};
	struct known after = *before;
	bool branches;

	step(in, &after, c);
	if (insn_branches(in)) {
		if (decide(in, before, &branches))
			*in = (struct bpf_insn){.code = nothing.code,
						.off = branches ? in->off : 0};
		else
			take_number(in, before);
	} else if (insn_is_alu(in) || BPF_CLASS(in->code) == BPF_LDX) {
		if (after.in[in->dst_reg].kind == NUMBER)
			become_number(in, after.in[in->dst_reg].number);
		else if (insn_is_alu(in))
			take_number(in, before);
		if (changes_nothing(in))
			*in = nothing;
	}
}

void plumb_propagate_constants(struct bpf_insn *insns, size_t n, int fd, const void *config,
			       size_t size)
{
	struct known *known = calloc(n, sizeof(*known));
	bool *reached = calloc(n, sizeof(*reached));
	struct config c = {fd, config, size};
	bool less = known && reached;

	if (less)
		reached[0] = true;
	while (less) {
		less = false;
		for (size_t i = 0; i < n; i++)
			if (reached[i])
				less |= spread(insns, n, i, &c, known, reached);
	}
	for (size_t i = 0; known && reached && i < n; i++)
		if (reached[i])
			rewrite(&insns[i], &known[i], &c);
	free(known);
	free(reached);
}
