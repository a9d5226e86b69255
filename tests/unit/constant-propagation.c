// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* constant propagation: what becomes a number, which branches are decided, and that nothing else
 * changes. */
#include "unit.h"
#include "../../tools/lib/attach/constant-propagation.h"

#define FD       7
#define OTHER_FD 8
#define MAX      32

/* By offset: 4 bytes, 8 that fit in 4, 8 that do not, 8 that just do not, 2, 1 and 1. */
static const struct config {
	uint32_t four;
	uint32_t zero;
	uint64_t small, large, beyond;
	uint16_t two;
	uint8_t one, all_ones;
	int32_t negative;
} config = {
	.four = 0x12345678,
	.small = UINT32_MAX,
	.large = 0x123456789abcdef0,
	.beyond = UINT32_MAX + 1ULL,
	.two = 0xfedc,
	.one = 0x81,
	.all_ones = 0xff,
	.negative = -2,
};

#define AT(field) ((int)offsetof(struct config, field))

/* --- instructions; r0 .. r10 are numbers --- */

#define INSN(code_, dst, src, off_, imm_)                                                          \
	((struct bpf_insn){.code = (code_),                                                        \
			   .dst_reg = (dst),                                                       \
			   .src_reg = (src),                                                       \
			   .off = (off_),                                                          \
			   .imm = (imm_)})
#define LOAD(size, dst, src, off)  INSN(BPF_LDX | BPF_MEM | (size), dst, src, off, 0)
#define STORE(size, dst, src, off) INSN(BPF_STX | BPF_MEM | (size), dst, src, off, 0)
#define MOV(dst, src)              INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define ADD(dst, number)           INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, number)
#define JUMP(to)                   INSN(BPF_JMP | BPF_JA, 0, 0, to, 0)
#define BRANCH(reg, to)            INSN(BPF_JMP | BPF_JEQ | BPF_K, reg, 0, to, 0)
#define CALL                       INSN(BPF_JMP | BPF_CALL, 0, 0, 0, 14)
#define NOTHING                    JUMP(0)
#define EXIT                       INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* What a load of NUMBER becomes. */
#define NUMBER(dst, number) INSN(BPF_ALU | BPF_MOV | BPF_K, dst, 0, 0, (int32_t)(number))
/* Two of them: the address of what is at OFFSET of a map. */
#define WIDE(kind, dst, low, high)                                                                 \
	INSN(BPF_LD | BPF_IMM | BPF_DW, dst, kind, 0, low), INSN(0, 0, 0, 0, high)
#define ADDRESS(dst, offset) WIDE(BPF_PSEUDO_MAP_VALUE, dst, FD, offset)

static void print(const char *what, const struct bpf_insn *in)
{
	print_message("# %s: code %02x, r%d, r%d, off %d, imm %#x\n", what, in->code, in->dst_reg,
		      in->src_reg, in->off, in->imm);
}

/* Folding N instructions changes those at CHANGES, into INTO, and no other. */
static void check_propagation(const struct bpf_insn *before, size_t n, const struct bpf_insn *into,
			      const size_t *changes, size_t n_changes)
{
	struct bpf_insn wanted[MAX], found[MAX];

	assert_true(n <= MAX);
	memcpy(wanted, before, n * sizeof(*before));
	memcpy(found, before, n * sizeof(*before));
	for (size_t i = 0; i < n_changes; i++)
		wanted[changes[i]] = into[i];
	plumb_propagate_constants(found, n, FD, &config, sizeof(config));
	for (size_t i = 0; i < n; i++) {
		if (!memcmp(&found[i], &wanted[i], sizeof(*found)))
			continue;
		print("found", &found[i]);
		print("wanted", &wanted[i]);
		fail_msg("instruction %zu", i);
	}
}

#define PROGRAM(...) static const struct bpf_insn program[] = {__VA_ARGS__}

/* Instruction AT_ becomes this. */
#define becomes(at_, ...)                                                                          \
	check_propagation(program, LENGTH(program), (struct bpf_insn[]){__VA_ARGS__},              \
			  (size_t[]){at_}, 1)
/* So do two. */
#define become(at_, into, at2_, into2)                                                             \
	check_propagation(program, LENGTH(program), (struct bpf_insn[]){into, into2},              \
			  (size_t[]){at_, at2_}, 2)
#define stays() check_propagation(program, LENGTH(program), NULL, NULL, 0)

/* --- what is loaded --- */

/* A load of SIZE from OFFSET becomes NUMBER; -1: it stays. */
static void check_load(int size, int offset, int64_t number)
{
	const struct bpf_insn program[] = {ADDRESS(1, 0), LOAD(size, 2, 1, offset), EXIT};

	if (number < 0)
		stays();
	else
		becomes(2, NUMBER(2, number));
}

static void loads_of_all_sizes(void **state)
{
	(void)state;
	check_load(BPF_W, AT(four), 0x12345678);
	check_load(BPF_W, AT(zero), 0);
	check_load(BPF_DW, AT(small), UINT32_MAX);
	check_load(BPF_H, AT(two), 0xfedc);
	check_load(BPF_B, AT(one), 0x81);
	check_load(BPF_B, AT(all_ones), 0xff);
	/* Not extended by a sign: the upper half is clear. */
	check_load(BPF_W, AT(negative), 0xfffffffe);
	/* Parts of something larger */
	check_load(BPF_W, AT(large), 0x9abcdef0);
	check_load(BPF_W, AT(large) + 4, 0x12345678);
	check_load(BPF_B, AT(four) + 1, 0x56);
}

static void what_does_not_fit_an_instruction_stays(void **state)
{
	(void)state;
	check_load(BPF_DW, AT(large), -1);
	check_load(BPF_DW, AT(beyond), -1);
}

static void what_is_outside_stays(void **state)
{
	const int end = sizeof(config);

	(void)state;
	check_load(BPF_B, -1, -1);
	check_load(BPF_B, end, -1);
	check_load(BPF_H, end - 1, -1);
	check_load(BPF_W, end - 3, -1);
	check_load(BPF_DW, end - 7, -1);
	check_load(BPF_B, INT16_MIN, -1);
	check_load(BPF_B, INT16_MAX, -1);
	/* The last byte that is there: padding */
	check_load(BPF_B, end - 1, ((const uint8_t *)&config)[sizeof(config) - 1]);
}

/* --- where it is loaded from --- */

static void an_address_with_an_offset(void **state)
{
	PROGRAM(ADDRESS(1, AT(two)), LOAD(BPF_H, 2, 1, 0), LOAD(BPF_B, 3, 1, 2),
		LOAD(BPF_B, 4, 1, AT(four) - AT(two)), EXIT);

	(void)state;
	check_propagation(program, LENGTH(program),
			  (struct bpf_insn[]){NUMBER(2, 0xfedc), NUMBER(3, 0x81), NUMBER(4, 0x78)},
			  (size_t[]){2, 3, 4}, 3);
}

static void addresses_that_are_moved_and_added_to(void **state)
{
	PROGRAM(ADDRESS(1, 0), MOV(6, 1), ADD(6, AT(two)), MOV(7, 6), ADD(7, -2),
		LOAD(BPF_H, 2, 7, 2), LOAD(BPF_W, 3, 1, 0), EXIT);

	(void)state;
	become(6, NUMBER(2, 0xfedc), 7, NUMBER(3, 0x12345678));
}

static void other_maps_stay(void **state)
{
	PROGRAM(WIDE(BPF_PSEUDO_MAP_VALUE, 1, OTHER_FD, 0), LOAD(BPF_W, 2, 1, 0), EXIT);

	(void)state;
	stays();
}

/* The same number in another sense: a map itself, a number of 64 bits. */
static void other_wide_numbers_stay(void **state)
{
	PROGRAM(WIDE(BPF_PSEUDO_MAP_FD, 1, FD, 0), LOAD(BPF_W, 2, 1, 0), WIDE(0, 3, FD, 0),
		LOAD(BPF_W, 4, 3, 0), EXIT);

	(void)state;
	stays();
}

static void what_is_known_is_forgotten_by_a_wide_number(void **state)
{
	PROGRAM(ADDRESS(1, 0), WIDE(0, 1, FD, 0), LOAD(BPF_W, 2, 1, 0), EXIT);

	(void)state;
	stays();
}

/* Its second half is no instruction, whatever it looks like: this one would load into r1. */
static void the_second_half_of_a_wide_number_is_skipped(void **state)
{
	PROGRAM(ADDRESS(1, 0), INSN(BPF_LD | BPF_IMM | BPF_DW, 3, 0, 0, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_W, 1, 1, 0, 0), LOAD(BPF_W, 2, 1, 0), EXIT);

	(void)state;
	becomes(4, NUMBER(2, 0x12345678));
}

/* --- what makes an address unknown --- */

/* LOST is done to r1, which has the address: then it has it no more. */
static void check_lost(struct bpf_insn lost)
{
	const struct bpf_insn program[] = {ADDRESS(1, 0), lost, LOAD(BPF_W, 2, 1, 0), EXIT};

	stays();
}

/* DONE is done, and r1 still has the address; a load that is folded is not DONE's. */
static void check_kept(struct bpf_insn done)
{
	const struct bpf_insn program[] = {ADDRESS(1, 0), done, LOAD(BPF_W, 2, 1, 0), EXIT};

	becomes(3, NUMBER(2, 0x12345678));
}

static void what_changes_a_register(void **state)
{
	(void)state;
	check_lost(CALL);
	check_lost(LOAD(BPF_DW, 1, 10, -8));
	check_lost(MOV(1, 3));
	check_lost(INSN(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 0));
	check_lost(INSN(BPF_ALU | BPF_MOV | BPF_X, 1, 1, 0, 0));    /* half of it */
	check_lost(INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 1, 32, 0)); /* with its sign */
	check_lost(INSN(BPF_ALU64 | BPF_ADD | BPF_X, 1, 3, 0, 0));
	check_lost(INSN(BPF_ALU | BPF_ADD | BPF_K, 1, 0, 0, 4));
	check_lost(INSN(BPF_ALU64 | BPF_SUB | BPF_K, 1, 0, 0, 4));
	check_lost(INSN(BPF_ALU64 | BPF_NEG, 1, 0, 0, 0));
	/* r1 gets what was there before. */
	check_lost(INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 10, 1, -8, BPF_ADD | BPF_FETCH));
	/* Old ways to read packets: they may end a program, and change registers. */
	check_lost(INSN(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 0));
}

static void what_does_not(void **state)
{
	(void)state;
	check_kept(ADD(3, 4));
	check_kept(MOV(3, 1));
	check_kept(LOAD(BPF_DW, 3, 10, -8));
	check_kept(STORE(BPF_W, 3, 1, 4));
	check_kept(INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 1, -8, 0));
	check_kept(BRANCH(1, 0));
	check_kept(INSN(BPF_JMP32 | BPF_JEQ | BPF_K, 1, 0, 0, 0));
}

/* Its source is said to be r0, but it has none. */
static void a_number_is_no_register(void **state)
{
	PROGRAM(ADDRESS(0, 0), INSN(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 0), LOAD(BPF_W, 2, 1, 0),
		EXIT);

	(void)state;
	stays();
}

/* A call keeps r6 to r9, and gives r0. */
static void calls_keep_some_registers(void **state)
{
	PROGRAM(ADDRESS(0, 0), MOV(5, 0), MOV(6, 0), MOV(9, 0), CALL, LOAD(BPF_W, 1, 6, 0),
		LOAD(BPF_W, 2, 9, 0), LOAD(BPF_W, 3, 0, 0), LOAD(BPF_W, 4, 5, 0), EXIT);

	(void)state;
	become(6, NUMBER(1, 0x12345678), 7, NUMBER(2, 0x12345678));
}

/* An exchange that compares gives r0 what was there. */
static void a_comparing_exchange_changes_r0(void **state)
{
	PROGRAM(ADDRESS(0, 0), INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 10, 3, -8, BPF_CMPXCHG),
		LOAD(BPF_W, 2, 0, 0), EXIT);

	(void)state;
	stays();
}

/* The register that is loaded to, and from, at once. */
static void a_load_over_its_own_address(void **state)
{
	PROGRAM(ADDRESS(1, 0), LOAD(BPF_W, 1, 1, 0), LOAD(BPF_W, 2, 1, 0), EXIT);

	(void)state;
	becomes(2, NUMBER(1, 0x12345678));
}

static void what_is_not_a_load_of_memory_stays(void **state)
{
	PROGRAM(ADDRESS(1, 0), INSN(BPF_LDX | 0x80 /* BPF_MEMSX */ | BPF_B, 2, 1, 0, 0),
		STORE(BPF_W, 1, 2, 0), EXIT);

	(void)state;
	stays();
}

/* --- ways that meet --- */

static void two_ways_with_the_same_address(void **state)
{
	PROGRAM(BRANCH(3, 3), ADDRESS(1, 0), JUMP(2), ADDRESS(1, 0), LOAD(BPF_W, 2, 1, 0), EXIT);

	(void)state;
	becomes(6, NUMBER(2, 0x12345678));
}

static void two_ways_with_different_addresses(void **state)
{
	PROGRAM(BRANCH(3, 3), ADDRESS(1, 0), JUMP(2), ADDRESS(1, 4), LOAD(BPF_W, 2, 1, 0), EXIT);

	(void)state;
	stays();
}

static void one_way_without_the_address(void **state)
{
	PROGRAM(BRANCH(3, 2), ADDRESS(1, 0), LOAD(BPF_W, 2, 1, 0), EXIT);

	(void)state;
	stays();
}

/* To what is behind it nothing leads from above. */
static void nothing_falls_through_an_exit(void **state)
{
	PROGRAM(ADDRESS(1, 0), BRANCH(3, 2), MOV(1, 4), EXIT, LOAD(BPF_W, 2, 1, 0), EXIT);

	(void)state;
	becomes(5, NUMBER(2, 0x12345678));
}

static void nothing_falls_through_a_jump(void **state)
{
	PROGRAM(ADDRESS(1, 0), BRANCH(3, 2), MOV(1, 4), JUMP(1), LOAD(BPF_W, 2, 1, 0), EXIT);

	(void)state;
	becomes(5, NUMBER(2, 0x12345678));
}

static void a_branch_of_32_bits_is_one(void **state)
{
	PROGRAM(INSN(BPF_JMP32 | BPF_JEQ | BPF_K, 3, 0, 2, 0), ADDRESS(1, 0), LOAD(BPF_W, 2, 1, 0),
		EXIT);

	(void)state;
	stays();
}

/* Of a module's function, the offset says which module. */
static void a_call_is_no_jump(void **state)
{
	PROGRAM(INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 2, 0), ADDRESS(1, 0),
		LOAD(BPF_W, 2, 1, 0), EXIT);

	(void)state;
	becomes(3, NUMBER(2, 0x12345678));
}

static void what_is_only_jumped_back_to(void **state)
{
	PROGRAM(JUMP(3), MOV(2, 1), LOAD(BPF_W, 3, 2, 0), EXIT, ADDRESS(1, 0), JUMP(-6));

	(void)state;
	becomes(2, NUMBER(3, 0x12345678));
}

/* The address is the same each time around. */
static void a_loop_that_keeps_the_address(void **state)
{
	PROGRAM(ADDRESS(6, 0), LOAD(BPF_W, 2, 6, 0), CALL, BRANCH(0, -3), EXIT);

	(void)state;
	becomes(2, NUMBER(2, 0x12345678));
}

/* On the first way to the load the address is known, around the loop it is not: at its end it was
 * lost. */
static void a_loop_that_loses_the_address(void **state)
{
	PROGRAM(ADDRESS(1, 0), LOAD(BPF_W, 2, 1, 0), CALL, BRANCH(0, -3), EXIT);

	(void)state;
	stays();
}

/* Once around and it is another's. It takes more than one round to see what r1 is. */
static void a_loop_that_walks(void **state)
{
	PROGRAM(ADDRESS(1, 0), LOAD(BPF_W, 2, 1, 0), ADD(1, 4), BRANCH(3, -3), EXIT);

	(void)state;
	stays();
}

/* The third time around r9 is what r3 was at first. */
static void a_loop_that_passes_registers_on(void **state)
{
	PROGRAM(ADDRESS(6, 0), MOV(7, 6), MOV(8, 6), MOV(9, 6), LOAD(BPF_W, 2, 9, 0), MOV(9, 8),
		MOV(8, 7), MOV(7, 3), BRANCH(3, -5), EXIT);

	(void)state;
	stays();
}

/* --- what is not reached --- */

#define CALL_OWN(to) INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, to)

/* Of the arguments of a function of the program's own nothing is known, of the rest all. */
static void functions_of_its_own(void **state)
{
	PROGRAM(ADDRESS(1, 0), CALL_OWN(2), LOAD(BPF_W, 2, 1, 0), EXIT, LOAD(BPF_W, 0, 1, 0),
		ADDRESS(3, 0), LOAD(BPF_W, 0, 3, 0), EXIT);

	(void)state;
	becomes(8, NUMBER(0, 0x12345678));
}

/* Nobody calls it. */
static void what_is_not_reached_stays(void **state)
{
	PROGRAM(ADDRESS(1, 0), EXIT, ADDRESS(1, 0), LOAD(BPF_W, 2, 1, 0), EXIT);

	(void)state;
	stays();
}

static void ways_out_of_the_program_are_left_to_the_verifier(void **state)
{
	PROGRAM(BRANCH(3, 30), BRANCH(3, -30), ADDRESS(1, 0), BRANCH(3, 1), JUMP(7),
		LOAD(BPF_W, 2, 1, 0));

	(void)state;
	becomes(6, NUMBER(2, 0x12345678));
}

/* --- numbers --- */

#define ALU64(op, dst, src)     INSN(BPF_ALU64 | (op) | BPF_X, dst, src, 0, 0)
#define ALU32(op, dst, src)     INSN(BPF_ALU | (op) | BPF_X, dst, src, 0, 0)
#define ALU64_K(op, dst, value) INSN(BPF_ALU64 | (op) | BPF_K, dst, 0, 0, value)
#define ALU32_K(op, dst, value) INSN(BPF_ALU | (op) | BPF_K, dst, 0, 0, value)
/* One that is negative. */
#define SIGNED(dst, number) ALU64_K(BPF_MOV, dst, number)

/* A with B, of 64 bits and of 32. */
static void check_alu(int op, int32_t a, int32_t b, struct bpf_insn of_64, struct bpf_insn of_32)
{
	const struct bpf_insn program[] = {SIGNED(1, a), SIGNED(2, b),    ALU64(op, 1, 2),
					   SIGNED(3, a), ALU32(op, 3, 2), EXIT};

	become(2, of_64, 4, of_32);
}

static void numbers_are_computed(void **state)
{
	(void)state;
	check_alu(BPF_MOV, 1, -7, SIGNED(1, -7), NUMBER(3, -7));
	check_alu(BPF_ADD, 3, 4, NUMBER(1, 7), NUMBER(3, 7));
	check_alu(BPF_ADD, -3, 1, SIGNED(1, -2), NUMBER(3, -2));
	check_alu(BPF_ADD, -1, 1, NUMBER(1, 0), NUMBER(3, 0));
	check_alu(BPF_SUB, 3, 4, SIGNED(1, -1), NUMBER(3, -1));
	check_alu(BPF_MUL, -3, 5, SIGNED(1, -15), NUMBER(3, -15));
	check_alu(BPF_AND, 0xff0, 0xff, NUMBER(1, 0xf0), NUMBER(3, 0xf0));
	check_alu(BPF_OR, 0xf0, 0x1f, NUMBER(1, 0xff), NUMBER(3, 0xff));
	check_alu(BPF_XOR, 0xf0, 0xff, NUMBER(1, 0xf), NUMBER(3, 0xf));
	check_alu(BPF_LSH, 1, 31, NUMBER(1, 1U << 31), NUMBER(3, 1U << 31));
	check_alu(BPF_RSH, 0x100, 4, NUMBER(1, 0x10), NUMBER(3, 0x10));
	check_alu(BPF_ARSH, -16, 2, SIGNED(1, -4), NUMBER(3, -4));
	/* Shifts count modulo the number of bits. */
	check_alu(BPF_LSH, 3, 64, NUMBER(1, 3), NUMBER(3, 3));
	check_alu(BPF_RSH, -1, 63, NUMBER(1, 1), NUMBER(3, 1));
	check_alu(BPF_NEG, 5, 0, SIGNED(1, -5), NUMBER(3, -5));
}

/* Half of a number: the upper half of what comes out is clear, and of what goes in is not seen. */
static void halves(void **state)
{
	PROGRAM(WIDE(0, 1, 0x10, 0x7), ALU32_K(BPF_RSH, 1, 4), NUMBER(2, 0x80000000),
		ALU32_K(BPF_ARSH, 2, 4), NUMBER(3, 0x80000000), ALU64_K(BPF_ARSH, 3, 4), EXIT);

	(void)state;
	check_propagation(
		program, LENGTH(program),
		(struct bpf_insn[]){NUMBER(1, 1), NUMBER(2, 0xf8000000), NUMBER(3, 0x8000000)},
		(size_t[]){2, 4, 6}, 3);
}

static void numbers_that_do_not_fit_stay(void **state)
{
	PROGRAM(WIDE(0, 1, 0, 1), ALU64_K(BPF_ADD, 1, 1), ALU64_K(BPF_RSH, 1, 32), EXIT);

	(void)state;
	becomes(3, NUMBER(1, 1));
}

static void what_is_not_computed_here(void **state)
{
	PROGRAM(NUMBER(1, 8), NUMBER(2, 0), ALU64(BPF_DIV, 1, 2), ALU64_K(BPF_DIV, 1, 2),
		ALU64(BPF_MOD, 1, 2), NUMBER(1, 8), INSN(BPF_ALU | BPF_END | BPF_X, 1, 0, 0, 16),
		NUMBER(1, 8), INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 2, 8, 0), ADD(1, 3), EXIT);

	(void)state;
	stays();
}

static void a_known_operand_needs_no_register(void **state)
{
	PROGRAM(NUMBER(2, 40), ALU64(BPF_ADD, 1, 2), ALU64(BPF_LSH, 1, 2), ALU32(BPF_LSH, 1, 2),
		INSN(BPF_JMP | BPF_JGT | BPF_X, 1, 2, 0, 0),
		INSN(BPF_JMP32 | BPF_JSLT | BPF_X, 1, 2, 0, 0), EXIT);

	(void)state;
	check_propagation(program, LENGTH(program),
			  (struct bpf_insn[]){ALU64_K(BPF_ADD, 1, 40), ALU64_K(BPF_LSH, 1, 40),
					      ALU32_K(BPF_LSH, 1, 8),
					      INSN(BPF_JMP | BPF_JGT | BPF_K, 1, 0, 0, 40),
					      INSN(BPF_JMP32 | BPF_JSLT | BPF_K, 1, 0, 0, 40)},
			  (size_t[]){1, 2, 3, 4, 5}, 5);
}

/* An instruction extends its number by the sign, if it is of 64 bits. */
static void an_operand_that_does_not_fit_stays(void **state)
{
	PROGRAM(NUMBER(2, 0x80000000), ALU64(BPF_ADD, 1, 2), ALU32(BPF_ADD, 3, 2),
		INSN(BPF_JMP | BPF_JEQ | BPF_X, 1, 2, 0, 0),
		INSN(BPF_JMP32 | BPF_JEQ | BPF_X, 1, 2, 0, 0), EXIT);

	(void)state;
	become(2, ALU32_K(BPF_ADD, 3, 0x80000000), 4,
	       INSN(BPF_JMP32 | BPF_JEQ | BPF_K, 1, 0, 0, 0x80000000));
}

static void what_changes_nothing_is_nothing(void **state)
{
	PROGRAM(NUMBER(2, 0), ALU64(BPF_LSH, 1, 2), ADD(1, 0), ALU32(BPF_LSH, 1, 2),
		ALU64(BPF_AND, 1, 2), EXIT);

	(void)state;
	/* Of 32 bits it clears the upper half. */
	check_propagation(program, LENGTH(program),
			  (struct bpf_insn[]){NOTHING, NOTHING, ALU32_K(BPF_LSH, 1, 0),
					      ALU64_K(BPF_AND, 1, 0)},
			  (size_t[]){1, 2, 3, 4}, 4);
}

/* --- branches --- */

/* A compared with B, both known, of 64 bits, and of 32. */
static void check_branch(int op, int32_t a, int32_t b, bool of_64, bool of_32)
{
	const struct bpf_insn program[] = {SIGNED(1, a), SIGNED(2, b),
					   INSN(BPF_JMP | BPF_X | op, 1, 2, 1, 0),
					   INSN(BPF_JMP32 | BPF_X | op, 1, 2, 0, 0), EXIT};
	/* Of 32 bits with a number: its upper half is clear. */
	const struct bpf_insn half[] = {ALU32_K(BPF_MOV, 1, a),
					INSN(BPF_JMP32 | BPF_K | op, 1, 0, 1, b), EXIT, EXIT};

	if (of_64)
		check_propagation(program, LENGTH(program), (struct bpf_insn[]){JUMP(1)},
				  (size_t[]){2}, 1);
	else
		check_propagation(program, LENGTH(program), (struct bpf_insn[]){NOTHING, NOTHING},
				  (size_t[]){2, 3}, 2);
	check_propagation(half, LENGTH(half), (struct bpf_insn[]){of_32 ? JUMP(1) : NOTHING},
			  (size_t[]){1}, 1);
}

static void branches_are_decided(void **state)
{
	(void)state;
	check_branch(BPF_JEQ, 3, 3, true, true);
	check_branch(BPF_JEQ, 3, 4, false, false);
	check_branch(BPF_JNE, 3, 4, true, true);
	check_branch(BPF_JNE, 3, 3, false, false);
	check_branch(BPF_JSET, 6, 2, true, true);
	check_branch(BPF_JSET, 6, 1, false, false);
	check_branch(BPF_JGT, 4, 3, true, true);
	check_branch(BPF_JGT, 3, 3, false, false);
	check_branch(BPF_JGT, -1, 3, true, true);
	check_branch(BPF_JGE, 3, 3, true, true);
	check_branch(BPF_JGE, 3, -1, false, false);
	check_branch(BPF_JLT, 3, -1, true, true);
	check_branch(BPF_JLT, 3, 3, false, false);
	check_branch(BPF_JLE, 3, 3, true, true);
	check_branch(BPF_JLE, -1, 3, false, false);
	check_branch(BPF_JSGT, 3, -1, true, true);
	check_branch(BPF_JSGT, -1, 3, false, false);
	check_branch(BPF_JSGE, 3, 3, true, true);
	check_branch(BPF_JSGE, -1, 3, false, false);
	check_branch(BPF_JSLT, -1, 3, true, true);
	check_branch(BPF_JSLT, 3, 3, false, false);
	check_branch(BPF_JSLE, 3, 3, true, true);
	check_branch(BPF_JSLE, 3, -1, false, false);
}

/* What differs in the upper half only is the same to a branch of 32 bits. */
static void a_branch_of_32_bits_looks_at_half(void **state)
{
	PROGRAM(NUMBER(1, -5), SIGNED(2, -5), INSN(BPF_JMP | BPF_JEQ | BPF_X, 1, 2, 0, 0),
		INSN(BPF_JMP32 | BPF_JNE | BPF_X, 1, 2, 0, 0),
		INSN(BPF_JMP32 | BPF_JNE | BPF_X, 2, 1, 0, 0),
		INSN(BPF_JMP32 | BPF_JSGT | BPF_K, 1, 0, 0, -4),
		INSN(BPF_JMP32 | BPF_JEQ | BPF_X, 1, 2, 1, 0), EXIT, EXIT);

	(void)state;
	check_propagation(program, LENGTH(program),
			  (struct bpf_insn[]){NOTHING, NOTHING, NOTHING, NOTHING, JUMP(1)},
			  (size_t[]){2, 3, 4, 5, 6}, 5);
}

static void an_unknown_branch_is_not_decided(void **state)
{
	PROGRAM(NUMBER(0, 0), INSN(BPF_JMP | 0xe0, 0, 0, 0, 0), EXIT);

	(void)state;
	stays();
}

/* The way that is not taken does not count: neither what it would change nor what it would need. */
static void a_way_that_is_not_taken(void **state)
{
	PROGRAM(ADDRESS(1, 0), LOAD(BPF_W, 2, 1, AT(zero)), BRANCH(2, 1), MOV(1, 3),
		LOAD(BPF_W, 4, 1, 0), EXIT);

	(void)state;
	check_propagation(program, LENGTH(program),
			  (struct bpf_insn[]){NUMBER(2, 0), JUMP(1), NUMBER(4, 0x12345678)},
			  (size_t[]){2, 3, 5}, 3);
}

static void a_jump_that_is_not_made(void **state)
{
	PROGRAM(ADDRESS(1, 0), NUMBER(2, 1), BRANCH(2, 1), JUMP(1), MOV(1, 3), LOAD(BPF_W, 4, 1, 0),
		EXIT);

	(void)state;
	become(3, NOTHING, 6, NUMBER(4, 0x12345678));
}

/* It is 0 at first, but not always. */
static void a_branch_in_a_loop_is_not_decided_too_early(void **state)
{
	PROGRAM(NUMBER(6, 0), BRANCH(6, 1), EXIT, MOV(6, 3), BRANCH(3, -4), EXIT);

	(void)state;
	stays();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_of_all_sizes),
		cmocka_unit_test(what_does_not_fit_an_instruction_stays),
		cmocka_unit_test(what_is_outside_stays),
		cmocka_unit_test(an_address_with_an_offset),
		cmocka_unit_test(addresses_that_are_moved_and_added_to),
		cmocka_unit_test(other_maps_stay),
		cmocka_unit_test(other_wide_numbers_stay),
		cmocka_unit_test(what_is_known_is_forgotten_by_a_wide_number),
		cmocka_unit_test(the_second_half_of_a_wide_number_is_skipped),
		cmocka_unit_test(what_changes_a_register),
		cmocka_unit_test(what_does_not),
		cmocka_unit_test(a_number_is_no_register),
		cmocka_unit_test(calls_keep_some_registers),
		cmocka_unit_test(a_comparing_exchange_changes_r0),
		cmocka_unit_test(a_load_over_its_own_address),
		cmocka_unit_test(what_is_not_a_load_of_memory_stays),
		cmocka_unit_test(two_ways_with_the_same_address),
		cmocka_unit_test(two_ways_with_different_addresses),
		cmocka_unit_test(one_way_without_the_address),
		cmocka_unit_test(nothing_falls_through_an_exit),
		cmocka_unit_test(nothing_falls_through_a_jump),
		cmocka_unit_test(a_branch_of_32_bits_is_one),
		cmocka_unit_test(a_call_is_no_jump),
		cmocka_unit_test(what_is_only_jumped_back_to),
		cmocka_unit_test(a_loop_that_keeps_the_address),
		cmocka_unit_test(a_loop_that_loses_the_address),
		cmocka_unit_test(a_loop_that_walks),
		cmocka_unit_test(a_loop_that_passes_registers_on),
		cmocka_unit_test(functions_of_its_own),
		cmocka_unit_test(what_is_not_reached_stays),
		cmocka_unit_test(ways_out_of_the_program_are_left_to_the_verifier),
		cmocka_unit_test(numbers_are_computed),
		cmocka_unit_test(halves),
		cmocka_unit_test(numbers_that_do_not_fit_stay),
		cmocka_unit_test(what_is_not_computed_here),
		cmocka_unit_test(a_known_operand_needs_no_register),
		cmocka_unit_test(an_operand_that_does_not_fit_stays),
		cmocka_unit_test(what_changes_nothing_is_nothing),
		cmocka_unit_test(branches_are_decided),
		cmocka_unit_test(a_branch_of_32_bits_looks_at_half),
		cmocka_unit_test(an_unknown_branch_is_not_decided),
		cmocka_unit_test(a_way_that_is_not_taken),
		cmocka_unit_test(a_jump_that_is_not_made),
		cmocka_unit_test(a_branch_in_a_loop_is_not_decided_too_early),
	};

	return run_all(tests);
}
