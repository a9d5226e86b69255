/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Instructions of x86, 64-bit and 32-bit. */
#if defined(__x86_64__)

#include <plumb/user/code.h>

#include <capstone/capstone.h>
#include <string.h>

#define REFUSED PLUMB_CODE_REFUSED

/* The bytes of an instruction after its legacy prefixes and REX. */
struct opcode {
	const unsigned char *bytes; /* of the opcode itself */
	size_t size;                /* to the end of the instruction */
	bool is_locked, has_segment, has_short;
	bool is_vector; /* VEX or EVEX, where the opcode follows the prefix */
};

static struct opcode find_opcode(const unsigned char *bytes, size_t size, bool is_32bit)
{
	static const char prefixes[] = "\xf0\x26\x2e\x36\x3e\x64\x65\x66\x67\xf2\xf3";
	struct opcode o = {.bytes = bytes, .size = size};
	size_t vector = 0;

	for (; o.size && memchr(prefixes, *o.bytes, sizeof(prefixes) - 1); o.bytes++, o.size--) {
		o.is_locked |= *o.bytes == 0xf0;
		o.has_segment |= (*o.bytes & 0xe7) == 0x26;
		o.has_short |= *o.bytes == 0x66;
	}
	if (!is_32bit && o.size && (*o.bytes & 0xf0) == 0x40) { /* REX */
		o.bytes++;
		o.size--;
	}
	/* In 32-bit code the bytes of these prefixes begin other instructions, with memory. */
	if (o.size > 1 && (!is_32bit || o.bytes[1] >= 0xc0))
		vector = *o.bytes == 0xc5 ? 2 : *o.bytes == 0xc4 ? 3 : *o.bytes == 0x62 ? 4 : 0;
	if (vector && vector < o.size) {
		o.is_vector = true;
		o.bytes += vector;
		o.size -= vector;
	}
	return o;
}

/* --- what the kernel refuses --- */

/* Opcodes for which arch/x86/kernel/uprobes.c refuses a probe, of 64-bit and of 32-bit code. */
static bool is_refused(unsigned char op, bool is_32bit)
{
	switch (op) {
	case 0x07: /* pop of a segment register */
	case 0x17:
	case 0x1f:
	case 0x6c ... 0x6f: /* ins, outs */
	case 0xcc ... 0xcf: /* int3, int, into, iret */
	case 0xd6:
	case 0xe4 ... 0xe7: /* in, out */
	case 0xec ... 0xef:
	case 0xf1: /* int1 */
	case 0xf4: /* hlt */
	case 0xfa: /* cli, sti */
	case 0xfb:
		return true;
	case 0x06: /* no instructions of 64-bit code, but opcodes of vector instructions */
	case 0x0e:
	case 0x16:
	case 0x1e:
	case 0x27:
	case 0x2f:
	case 0x37:
	case 0x3f:
	case 0x60 ... 0x62:
	case 0x82:
	case 0x9a:
	case 0xd4:
	case 0xea:
		return !is_32bit;
	default:
		return false;
	}
}

static bool is_branch(const struct opcode *o)
{
	switch (*o->bytes) {
	case 0x70 ... 0x7f:
	case 0xe8:
	case 0xe9:
	case 0xeb:
		return true;
	case 0x0f:
		return o->size > 1 && (o->bytes[1] & 0xf0) == 0x80;
	default:
		return false;
	}
}

/*
 * Whether the kernel (5.10 to 7.x) takes a vector instruction for a branch or a nop, since it looks
 * at the opcode without the prefix that says which table it is of: it would emulate that, and not
 * execute the instruction.
 */
static bool is_misread(const struct opcode *o)
{
	return o->is_vector && *o->bytes != 0x0f && (is_branch(o) || *o->bytes == 0x90);
}

const char *plumb_code_obstacle(const void *code, size_t size, bool is_32bit)
{
	struct opcode o = find_opcode(code, size, is_32bit);

	if (o.is_locked)
		return REFUSED " (lock prefix)";
	if (o.has_segment)
		return REFUSED " (segment prefix)";
	if (o.has_short && o.size && !o.is_vector && is_branch(&o))
		return REFUSED " (16-bit branch)";
	/* For vector instructions kernels look the opcode up in the table for all others. */
	if (o.size &&
	    (is_refused(*o.bytes, is_32bit) || (o.is_vector && *o.bytes == 0xd5 && !is_32bit)))
		return o.is_vector ? REFUSED " (vector instruction)" : REFUSED;
	if (o.size && is_misread(&o))
		return "at a uprobe the kernel would not execute its first instruction, a vector "
		       "one";
	return NULL;
}

static bool is_nop(const struct opcode *o)
{
	return *o->bytes == 0x90 || (o->size > 1 && o->bytes[0] == 0x0f && o->bytes[1] == 0x1f);
}

bool plumb_code_is_stepped(const void *code, size_t size, bool is_32bit)
{
	struct opcode o = find_opcode(code, size, is_32bit);

	return o.size && (o.is_vector ||
			  !(is_nop(&o) || is_branch(&o) || (*o.bytes >= 0x50 && *o.bytes <= 0x57)));
}

/* --- kinds --- */

/* With an index.  In position-dependent code the table's address needs no base. */
static bool is_table(const cs_x86_op *op)
{
	return op->type == X86_OP_MEM && op->mem.index != X86_REG_INVALID &&
	       op->mem.index != X86_REG_RIZ && op->mem.index != X86_REG_EIZ;
}

static void classify(struct plumb_instruction *in, csh engine, const cs_insn *decoded,
		     bool is_32bit)
{
	const cs_x86_op *to = decoded->detail->x86.operands;
	const bool is_direct = decoded->detail->x86.op_count == 1 && to->type == X86_OP_IMM;

	switch (decoded->id) {
	case X86_INS_RET:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
		in->kind = PLUMB_INSTRUCTION_RETURN;
		return;
	case X86_INS_CALL:
		if (is_direct)
			in->kind = PLUMB_INSTRUCTION_CALL;
		break;
	case X86_INS_JMP:
	case X86_INS_LJMP:
		if (!is_direct)
			in->kind = is_table(to) ? PLUMB_INSTRUCTION_JUMP_TABLE
						: PLUMB_INSTRUCTION_JUMP_INDIRECT;
		/* fall through */
	default:
		if (is_direct && cs_insn_group(engine, decoded, CS_GRP_JUMP))
			in->kind = PLUMB_INSTRUCTION_JUMP;
	}
	/* Of 32-bit code capstone leaves the upper half of a negative one 0. */
	if (in->kind == PLUMB_INSTRUCTION_CALL || in->kind == PLUMB_INSTRUCTION_JUMP)
		in->target = is_32bit ? (int32_t)to->imm : to->imm;
}

size_t plumb_code_visit(const void *code, size_t size, bool is_32bit,
			plumb_instruction_visitor *visit, void *context)
{
	const uint8_t *rest = code;
	struct plumb_instruction in;
	size_t left = size;
	uint64_t at = 0;
	cs_insn *decoded;
	csh engine;

	if (cs_open(CS_ARCH_X86, is_32bit ? CS_MODE_32 : CS_MODE_64, &engine))
		return 0;
	cs_option(engine, CS_OPT_DETAIL, CS_OPT_ON);
	decoded = cs_malloc(engine);
	while (decoded && left && cs_disasm_iter(engine, &rest, &left, &at, decoded)) {
		in = (struct plumb_instruction){
			.at = size - left - decoded->size,
			.length = decoded->size,
		};
		classify(&in, engine, decoded, is_32bit);
		if (!visit(&in, context))
			break;
	}
	if (decoded)
		cs_free(decoded, 1);
	cs_close(&engine);
	return size - left;
}

static bool take_first(const struct plumb_instruction *in, void *length)
{
	*(size_t *)length = in->length;
	return false;
}

size_t plumb_code_long_nop(const void *code, size_t size, bool is_32bit)
{
	struct opcode o = find_opcode(code, size, is_32bit);
	size_t length = 0;

	if (!is_32bit && o.size && !o.is_vector && is_nop(&o))
		plumb_code_visit(code, size, is_32bit, take_first, &length);
	return length > 1 ? length : 0;
}

struct jump {
	int64_t target;
	bool is_found;
};

static bool look_for_jump(const struct plumb_instruction *in, void *context)
{
	struct jump *j = context;

	j->is_found |= in->kind == PLUMB_INSTRUCTION_JUMP && in->target == j->target;
	return true;
}

bool plumb_code_jumps_to(size_t target, const void *code, size_t size, bool is_32bit)
{
	struct jump j = {.target = target};

	return plumb_code_visit(code, size, is_32bit, look_for_jump, &j) < size || j.is_found;
}

#endif
