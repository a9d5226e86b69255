/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* code: functions of x86 that use their return address, by the place on the stack where it is. */
#if defined(__x86_64__)

#include <plumb/user/code.h>

#include <capstone/capstone.h>
#include <stdlib.h>

/* Bytes of a function that are decoded: what uses its return address does so early. */
#define DECODED  (16UL << 10)
#define UNKNOWN  INT32_MIN
#define FARTHEST (1 << 30)

enum { SP = 4, BP = 5, REGISTERS = 16 };

/* How far registers point from the return address; of the first SP does, and it alone. */
struct walk {
	const cs_insn *in;
	int32_t away[REGISTERS];
	int32_t word;
	bool is_reached;    /* by the instruction before it */
	uint64_t retpoline; /* where the call leads that it begins with */
	size_t size;
	/* What is known where jumps lead to; UNKNOWN: nothing. */
	struct {
		int32_t sp, bp;
	} * places;
};

static int number_of(x86_reg reg)
{
	static const x86_reg names[][REGISTERS] = {
		{X86_REG_RAX, X86_REG_RCX, X86_REG_RDX, X86_REG_RBX, X86_REG_RSP, X86_REG_RBP,
		 X86_REG_RSI, X86_REG_RDI, X86_REG_R8, X86_REG_R9, X86_REG_R10, X86_REG_R11,
		 X86_REG_R12, X86_REG_R13, X86_REG_R14, X86_REG_R15},
		{X86_REG_EAX, X86_REG_ECX, X86_REG_EDX, X86_REG_EBX, X86_REG_ESP, X86_REG_EBP,
		 X86_REG_ESI, X86_REG_EDI, X86_REG_R8D, X86_REG_R9D, X86_REG_R10D, X86_REG_R11D,
		 X86_REG_R12D, X86_REG_R13D, X86_REG_R14D, X86_REG_R15D},
	};

	for (int i = 0; i < REGISTERS; i++)
		if (reg == names[0][i] || reg == names[1][i])
			return i;
	return -1;
}

static int32_t moved(int32_t away, int64_t by)
{
	const int64_t to = away + by;

	return away == UNKNOWN || to > FARTHEST || to < -FARTHEST ? UNKNOWN : (int32_t)to;
}

/* Where the operand's address is; UNKNOWN, if it is none or not of the stack. */
static int32_t address_of(const struct walk *w, const cs_x86_op *op)
{
	const int base = op->type == X86_OP_MEM ? number_of(op->mem.base) : -1;

	return base < 0 || op->mem.index != X86_REG_INVALID || op->mem.segment != X86_REG_INVALID
		       ? UNKNOWN
		       : moved(w->away[base], op->mem.disp);
}

static bool uses_return_address(const struct walk *w)
{
	const cs_x86 *x86 = &w->in->detail->x86;

	switch (w->in->id) {
	case X86_INS_LEA: /* no access */
	case X86_INS_NOP:
		return false;
	case X86_INS_POP:
	case X86_INS_POPF:
	case X86_INS_POPFD:
	case X86_INS_POPFQ:
	case X86_INS_POPAL:
		if (!w->away[SP])
			return true;
		break;
	case X86_INS_MOV:
		/* A retpoline's thunk: it is jumped to as well, from places where the stack's top
		 * is no return address. */
		if (w->retpoline && w->in->address == w->retpoline &&
		    x86->operands[0].type == X86_OP_MEM &&
		    number_of(x86->operands[0].mem.base) == SP && !x86->operands[0].mem.disp)
			return true;
		break;
	case X86_INS_PUSH:
		/* A function that aligns its stack copies it, for unwinding only. */
		if (w->away[SP] == UNKNOWN)
			return false;
		break;
	}
	for (int i = 0; i < x86->op_count; i++)
		if (!address_of(w, &x86->operands[i]))
			return true;
	return false;
}

/* --- what an instruction does to registers --- */

static void forget_written(struct walk *w)
{
	const cs_x86 *x86 = &w->in->detail->x86;

	for (int i = 0; i < x86->op_count; i++) {
		const int reg =
			x86->operands[i].type == X86_OP_REG ? number_of(x86->operands[i].reg) : -1;

		if (reg >= 0 && x86->operands[i].access & CS_AC_WRITE)
			w->away[reg] = UNKNOWN;
	}
}

/* The value of a move, an addition, a subtraction or an address. */
static int32_t result_of(const struct walk *w, int to)
{
	const cs_x86_op *source = &w->in->detail->x86.operands[1];
	const int from = source->type == X86_OP_REG ? number_of(source->reg) : -1;

	switch (w->in->id) {
	case X86_INS_MOV:
		return from < 0 ? UNKNOWN : w->away[from];
	case X86_INS_LEA:
		return address_of(w, source);
	case X86_INS_ADD:
		return source->type == X86_OP_IMM ? moved(w->away[to], source->imm) : UNKNOWN;
	case X86_INS_SUB:
		return source->type == X86_OP_IMM ? moved(w->away[to], -source->imm) : UNKNOWN;
	default:
		return UNKNOWN;
	}
}

static void compute(struct walk *w)
{
	const cs_x86 *x86 = &w->in->detail->x86;
	const int to = x86->op_count == 2 && x86->operands[0].type == X86_OP_REG
			       ? number_of(x86->operands[0].reg)
			       : -1;
	const int32_t result = to < 0 ? UNKNOWN : result_of(w, to);

	if (w->in->id == X86_INS_CMP || w->in->id == X86_INS_TEST)
		return;
	forget_written(w);
	if (to >= 0)
		w->away[to] = result;
}

/* What the caller's registers are is not known after it; a call of what follows pushes an address.
 * A 32-bit function that removes its arguments is taken not to: functions may be refused for that.
 */
static void call(struct walk *w)
{
	static const int kept[] = {3, SP, BP, 12, 13, 14, 15};
	const cs_x86_op *to = &w->in->detail->x86.operands[0];
	const bool is_push =
		to->type == X86_OP_IMM && (uint64_t)to->imm == w->in->address + w->in->size;
	int32_t away[REGISTERS];

	if (to->type == X86_OP_IMM && !w->away[SP] && (uint64_t)to->imm < w->size)
		w->retpoline = to->imm;
	for (int i = 0; i < REGISTERS; i++)
		away[i] = UNKNOWN;
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		away[kept[i]] = w->away[kept[i]];
	for (int i = 0; i < REGISTERS && !is_push; i++)
		w->away[i] = away[i];
	if (is_push)
		w->away[SP] = moved(w->away[SP], -w->word);
}

static void jump(struct walk *w)
{
	const cs_x86_op *to = &w->in->detail->x86.operands[0];
	const bool is_inside = to->type == X86_OP_IMM && (uint64_t)to->imm < w->size;

	if (is_inside && (uint64_t)to->imm > w->in->address && w->places[to->imm].sp == UNKNOWN) {
		w->places[to->imm].sp = w->away[SP];
		w->places[to->imm].bp = w->away[BP];
	} else if (is_inside && w->places[to->imm].sp != w->away[SP]) {
		w->away[SP] = UNKNOWN; /* a loop that moves it */
	}
}

static void step(struct walk *w)
{
	const cs_x86 *x86 = &w->in->detail->x86;

	switch (w->in->id) {
	case X86_INS_PUSH:
	case X86_INS_PUSHF:
	case X86_INS_PUSHFD:
	case X86_INS_PUSHFQ:
		w->away[SP] = moved(w->away[SP], -w->word);
		return;
	case X86_INS_PUSHAL:
		w->away[SP] = moved(w->away[SP], -8 * w->word);
		return;
	case X86_INS_POP:
		w->away[SP] = moved(w->away[SP], w->word);
		if (x86->operands[0].type == X86_OP_REG && number_of(x86->operands[0].reg) >= 0)
			w->away[number_of(x86->operands[0].reg)] = UNKNOWN;
		return;
	case X86_INS_POPF:
	case X86_INS_POPFD:
	case X86_INS_POPFQ:
		w->away[SP] = moved(w->away[SP], w->word);
		return;
	case X86_INS_POPAL:
		w->away[SP] = moved(w->away[SP], 8 * w->word);
		w->away[BP] = UNKNOWN;
		return;
	case X86_INS_LEAVE:
		w->away[SP] = moved(w->away[BP], w->word);
		w->away[BP] = UNKNOWN;
		return;
	case X86_INS_CALL:
		call(w);
		return;
	default:
		compute(w);
	}
	for (int i = 0; i < w->in->detail->groups_count; i++) {
		if (w->in->detail->groups[i] == CS_GRP_JUMP)
			jump(w);
		w->is_reached &= w->in->detail->groups[i] != CS_GRP_RET;
	}
	w->is_reached &=
		w->in->id != X86_INS_JMP && w->in->id != X86_INS_UD2 && w->in->id != X86_INS_HLT;
}

/* Takes what the jumps to this instruction know, or those that no jump leads to nothing. */
static void arrive(struct walk *w)
{
	const int32_t sp = w->places[w->in->address].sp, bp = w->places[w->in->address].bp;

	if (!w->is_reached || sp != UNKNOWN)
		for (int i = 0; i < REGISTERS; i++)
			w->away[i] = UNKNOWN;
	if (sp != UNKNOWN) {
		w->away[SP] = sp;
		w->away[BP] = bp;
	}
	w->places[w->in->address].sp = w->away[SP];
	w->is_reached = true;
}

const char *plumb_code_return_obstacle(const void *code, size_t size, bool is_32bit)
{
	struct walk w = {
		.word = is_32bit ? 4 : 8,
		.is_reached = true,
		.size = size < DECODED ? size : DECODED,
	};
	const uint8_t *rest = code;
	size_t left = w.size;
	bool uses = false;
	uint64_t at = 0;
	cs_insn *in;
	csh engine;

	if (cs_open(CS_ARCH_X86, is_32bit ? CS_MODE_32 : CS_MODE_64, &engine))
		return NULL;
	cs_option(engine, CS_OPT_DETAIL, CS_OPT_ON);
	w.in = in = cs_malloc(engine);
	w.places = calloc(w.size + 1, sizeof(*w.places));
	for (size_t i = 0; w.places && i < w.size; i++)
		w.places[i].sp = w.places[i].bp = UNKNOWN;
	for (int i = 0; i < REGISTERS; i++)
		w.away[i] = i == SP ? 0 : UNKNOWN;
	while (in && w.places && !uses && left && cs_disasm_iter(engine, &rest, &left, &at, in)) {
		arrive(&w);
		uses = uses_return_address(&w);
		step(&w);
	}
	free(w.places);
	if (in)
		cs_free(in, 1);
	cs_close(&engine);
	return uses ? PLUMB_CODE_USES_RETURN : NULL;
}

#endif
