// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* dead code elimination: what is taken out of a program, what is left, and that jumps still lead
 * where they did. */
#include "unit.h"
#include "../../tools/lib/attach/dead-code.h"

#define MAX 32

/* --- instructions; r0 .. r10 are numbers --- */

#define INSN(code_, dst, src, off_, imm_)                                                          \
	((struct bpf_insn){.code = (code_),                                                        \
			   .dst_reg = (dst),                                                       \
			   .src_reg = (src),                                                       \
			   .off = (off_),                                                          \
			   .imm = (imm_)})
#define LOAD(dst, src, off)  INSN(BPF_LDX | BPF_MEM | BPF_DW, dst, src, off, 0)
#define STORE(dst, src, off) INSN(BPF_STX | BPF_MEM | BPF_DW, dst, src, off, 0)
#define ATOMIC(dst, src, op) INSN(BPF_STX | BPF_ATOMIC | BPF_DW, dst, src, -8, op)
#define MOV(dst, src)        INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define NUMBER(dst, number)  INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, number)
#define ADD(dst, src)        INSN(BPF_ALU64 | BPF_ADD | BPF_X, dst, src, 0, 0)
#define ADD_K(dst, number)   INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, number)
#define JUMP(to)             INSN(BPF_JMP | BPF_JA, 0, 0, to, 0)
#define BRANCH(reg, to)      INSN(BPF_JMP | BPF_JEQ | BPF_K, reg, 0, to, 0)
#define BRANCH_X(a, b, to)   INSN(BPF_JMP | BPF_JEQ | BPF_X, a, b, to, 0)
#define CALL(helper)         INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define CALL_OWN(to)         INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, to)
#define CLOCK                CALL(BPF_FUNC_ktime_get_ns)
#define EXIT                 INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define WIDE(dst, kind)      INSN(BPF_LD | BPF_IMM | BPF_DW, dst, kind, 0, 1), INSN(0, 0, 0, 0, 2)

static void print(const char *what, const struct bpf_insn *insns, size_t n)
{
	print_message("# %s:\n", what);
	for (size_t i = 0; i < n; i++)
		print_message("#   %zu: code %02x, r%d, r%d, off %d, imm %#x\n", i, insns[i].code,
			      insns[i].dst_reg, insns[i].src_reg, insns[i].off, insns[i].imm);
}

static void check_elimination(const struct bpf_insn *before, size_t n,
			      const struct bpf_insn *wanted, size_t n_wanted)
{
	struct bpf_insn found[MAX];
	size_t left;

	assert_true(n <= MAX);
	memcpy(found, before, n * sizeof(*before));
	left = plumb_eliminate_dead_code(found, n);
	if (left == n_wanted && !memcmp(found, wanted, left * sizeof(*found)))
		return;
	print("found", found, left);
	print("wanted", wanted, n_wanted);
	fail_msg("another program");
}

#define PROGRAM(...) static const struct bpf_insn program[] = {__VA_ARGS__}
#define becomes(...)                                                                               \
	do {                                                                                       \
		static const struct bpf_insn wanted[] = {__VA_ARGS__};                             \
                                                                                                   \
		check_elimination(program, LENGTH(program), wanted, LENGTH(wanted));               \
	} while (0)
#define stays() check_elimination(program, LENGTH(program), program, LENGTH(program))

/* --- what nobody needs --- */

static void results_that_nobody_needs(void **state)
{
	PROGRAM(NUMBER(1, 1), MOV(2, 10), ADD_K(2, -8), WIDE(3, 0), LOAD(4, 10, -8), NUMBER(0, 0),
		EXIT);

	(void)state;
	becomes(NUMBER(0, 0), EXIT);
}

/* Nor what is needed for nothing else. */
static void chains_of_them(void **state)
{
	PROGRAM(LOAD(1, 10, -8), MOV(2, 1), ADD(3, 2), MOV(4, 3), NUMBER(0, 0), EXIT);

	(void)state;
	becomes(NUMBER(0, 0), EXIT);
}

static void what_is_overwritten(void **state)
{
	PROGRAM(NUMBER(0, 1), NUMBER(0, 2), EXIT);

	(void)state;
	becomes(NUMBER(0, 2), EXIT);
}

/* A loop that only feeds itself. */
static void what_a_loop_passes_to_itself(void **state)
{
	PROGRAM(NUMBER(6, 0), NUMBER(7, 0), ADD_K(6, 1), ADD_K(7, 1), BRANCH(7, -3), NUMBER(0, 0),
		EXIT);

	(void)state;
	becomes(NUMBER(7, 0), ADD_K(7, 1), BRANCH(7, -2), NUMBER(0, 0), EXIT);
}

/* --- what is needed --- */

/* USES needs r1 and, but for one, r2; r6 to r9 it does not. */
static void check_used(struct bpf_insn uses, bool both)
{
	const struct bpf_insn program[] = {NUMBER(1, 0), NUMBER(2, 0), NUMBER(6, 0), uses, EXIT};
	const struct bpf_insn wanted[] = {NUMBER(1, 0), NUMBER(2, 0), uses, EXIT};
	const struct bpf_insn one[] = {NUMBER(1, 0), uses, EXIT};

	if (both)
		check_elimination(program, LENGTH(program), wanted, LENGTH(wanted));
	else
		check_elimination(program, LENGTH(program), one, LENGTH(one));
}

static void what_instructions_need(void **state)
{
	(void)state;
	check_used(STORE(1, 2, 0), true);
	check_used(INSN(BPF_ST | BPF_MEM | BPF_DW, 1, 0, 0, 0), false);
	check_used(BRANCH_X(1, 2, 0), true);
	check_used(BRANCH_X(2, 1, 0), true);
	check_used(BRANCH(1, 0), false);
	check_used(INSN(BPF_JMP32 | BPF_JEQ | BPF_X, 1, 2, 0, 0), true);
	check_used(INSN(BPF_JMP | BPF_JSLE | BPF_X, 1, 2, 0, 0), true);
	check_used(LOAD(0, 1, 0), false);
	check_used(MOV(0, 1), false);
	check_used(CALL(BPF_FUNC_map_lookup_elem), true);
}

/* What is calculated with is needed, what is only written to is not. */
static void operands(void **state)
{
	PROGRAM(NUMBER(0, 1), NUMBER(1, 2), ADD(0, 1), INSN(BPF_ALU | BPF_END | BPF_X, 0, 1, 0, 16),
		EXIT);

	(void)state;
	stays();
}

/* Its bit says big-endian, and its source is no register. */
static void a_change_of_byte_order_has_no_second_register(void **state)
{
	PROGRAM(NUMBER(0, 1), NUMBER(1, 2), INSN(BPF_ALU | BPF_END | BPF_X, 0, 1, 0, 16), EXIT);

	(void)state;
	becomes(NUMBER(0, 1), INSN(BPF_ALU | BPF_END | BPF_X, 0, 1, 0, 16), EXIT);
}

static void atomics_stay_with_all_they_need(void **state)
{
	PROGRAM(NUMBER(0, 1), NUMBER(3, 2), ATOMIC(10, 3, BPF_CMPXCHG), NUMBER(0, 0), EXIT);

	(void)state;
	stays();
}

static void old_ways_to_read_packets_stay(void **state)
{
	PROGRAM(NUMBER(6, 1), NUMBER(3, 2), INSN(BPF_LD | BPF_IND | BPF_W, 0, 3, 0, 0), EXIT);

	(void)state;
	stays();
}

static void a_result_is_needed(void **state)
{
	PROGRAM(NUMBER(1, 1), NUMBER(0, 1), EXIT);

	(void)state;
	becomes(NUMBER(0, 1), EXIT);
}

/* On one of two ways. */
static void what_is_needed_on_one_way(void **state)
{
	PROGRAM(NUMBER(6, 1), NUMBER(7, 1), NUMBER(0, 0), BRANCH(1, 1), STORE(10, 6, -8), EXIT);

	(void)state;
	becomes(NUMBER(6, 1), NUMBER(0, 0), BRANCH(1, 1), STORE(10, 6, -8), EXIT);
}

/* Only the next time around. */
static void what_is_needed_around_a_loop(void **state)
{
	PROGRAM(NUMBER(6, 0), STORE(10, 6, -8), NUMBER(6, 1), BRANCH(7, -3), NUMBER(0, 0), EXIT);

	(void)state;
	stays();
}

/* --- calls --- */

/* A helper may take up to five arguments, gives r0, and leaves r6 to r9 alone. */
static void helpers_take_what_they_may_take(void **state)
{
	PROGRAM(NUMBER(0, 1), NUMBER(1, 1), NUMBER(2, 1), NUMBER(3, 1), NUMBER(4, 1), NUMBER(5, 1),
		NUMBER(6, 1), CALL(BPF_FUNC_perf_event_output), EXIT);

	(void)state;
	becomes(NUMBER(1, 1), NUMBER(2, 1), NUMBER(3, 1), NUMBER(4, 1), NUMBER(5, 1),
		CALL(BPF_FUNC_perf_event_output), EXIT);
}

static void some_helpers_take_less(void **state)
{
	PROGRAM(NUMBER(1, 1), CLOCK, NUMBER(1, 1), CALL(BPF_FUNC_get_smp_processor_id),
		NUMBER(5, 1), CALL(BPF_FUNC_get_current_task), NUMBER(5, 1),
		CALL(BPF_FUNC_get_current_task_btf), NUMBER(5, 1),
		CALL(BPF_FUNC_get_current_pid_tgid), NUMBER(1, 1), NUMBER(2, 1), NUMBER(3, 1),
		CALL(BPF_FUNC_map_lookup_elem), EXIT);

	(void)state;
	becomes(CLOCK, CALL(BPF_FUNC_get_smp_processor_id), CALL(BPF_FUNC_get_current_task),
		CALL(BPF_FUNC_get_current_task_btf), CALL(BPF_FUNC_get_current_pid_tgid),
		NUMBER(1, 1), NUMBER(2, 1), CALL(BPF_FUNC_map_lookup_elem), EXIT);
}

/* A function of a kernel or a module has numbers of its own: this one is not the clock. */
static void kernel_functions_take_what_they_may_take(void **state)
{
	PROGRAM(NUMBER(1, 1),
		INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, BPF_FUNC_ktime_get_ns), EXIT);

	(void)state;
	stays();
}

static void what_is_kept_over_a_call(void **state)
{
	PROGRAM(NUMBER(6, 1), NUMBER(9, 1), CLOCK, STORE(10, 6, -8), STORE(10, 9, -16), EXIT);

	(void)state;
	stays();
}

/* What a function of the program's own looks at is known; it moves with all else. */
static void functions_of_its_own(void **state)
{
	PROGRAM(NUMBER(1, 1), NUMBER(2, 1), NUMBER(3, 1), CALL_OWN(3), NUMBER(4, 1), NUMBER(0, 0),
		EXIT, NUMBER(5, 1), MOV(0, 2), EXIT);

	(void)state;
	becomes(NUMBER(2, 1), CALL_OWN(2), NUMBER(0, 0), EXIT, MOV(0, 2), EXIT);
}

static void a_function_that_nobody_calls_any_more(void **state)
{
	PROGRAM(NUMBER(0, 0), JUMP(1), CALL_OWN(1), EXIT, NUMBER(0, 1), EXIT);

	(void)state;
	becomes(NUMBER(0, 0), EXIT);
}

/* A function's first instruction is called even if it jumps. */
static void a_function_that_begins_with_a_jump(void **state)
{
	PROGRAM(CALL_OWN(1), EXIT, JUMP(2), NUMBER(0, 1), EXIT, NUMBER(0, 2), BRANCH(0, -4), EXIT);

	(void)state;
	stays();
}

/* --- jumps --- */

static void what_is_never_reached(void **state)
{
	PROGRAM(NUMBER(0, 0), JUMP(2), STORE(10, 0, -8), CLOCK, EXIT);

	(void)state;
	becomes(NUMBER(0, 0), EXIT);
}

static void jumps_are_shortened(void **state)
{
	PROGRAM(NUMBER(0, 0), BRANCH(1, 4), STORE(10, 0, -8), NUMBER(2, 1), WIDE(3, 0),
		BRANCH(1, -5), EXIT);

	(void)state;
	becomes(NUMBER(0, 0), BRANCH(1, 1), STORE(10, 0, -8), BRANCH(1, -2), EXIT);
}

/* What is left of a number of 64 bits is both of its halves. */
static void wide_numbers_move_as_one(void **state)
{
	PROGRAM(NUMBER(1, 0), WIDE(0, 0), EXIT);

	(void)state;
	becomes(WIDE(0, 0), EXIT);
}

static void jumps_to_jumps(void **state)
{
	PROGRAM(NUMBER(0, 0), BRANCH(1, 2), STORE(10, 0, -8), EXIT, NUMBER(2, 2), JUMP(1), CLOCK,
		JUMP(1), CLOCK, NUMBER(3, 3), STORE(10, 0, -16), EXIT);

	(void)state;
	becomes(NUMBER(0, 0), BRANCH(1, 2), STORE(10, 0, -8), EXIT, STORE(10, 0, -16), EXIT);
}

/* Over what is not there any more. */
static void jumps_to_what_follows(void **state)
{
	PROGRAM(NUMBER(0, 0), BRANCH(1, 2), STORE(10, 0, -8), JUMP(1), NUMBER(2, 0), EXIT);

	(void)state;
	becomes(NUMBER(0, 0), BRANCH(1, 1), STORE(10, 0, -8), EXIT);
}

static void a_program_that_begins_with_a_jump(void **state)
{
	PROGRAM(JUMP(2), NUMBER(0, 1), EXIT, NUMBER(0, 2), BRANCH(0, -4), EXIT);

	(void)state;
	stays();
}

/* They are for the verifier to refuse: here they must only come to an end. */
static void jumps_in_circles(void **state)
{
	PROGRAM(BRANCH(1, 1), JUMP(-1), JUMP(-3));

	(void)state;
	becomes(BRANCH(1, -1), JUMP(-1));
}

/* --- what is not understood stays as it is --- */

static void check_untouched(struct bpf_insn what)
{
	const struct bpf_insn program[] = {NUMBER(1, 1), what, NUMBER(0, 0), NUMBER(0, 0), EXIT};

	stays();
}

static void what_is_not_understood(void **state)
{
	(void)state;
	/* A far jump, and a loop that may end. */
	check_untouched(INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, 1));
	check_untouched(INSN(BPF_JMP | 0xe0, 0, 0, 1, 0));
	/* The address of a function */
	check_untouched(INSN(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_FUNC, 0, 1));
	/* Ways out of the program */
	check_untouched(JUMP(3));
	check_untouched(BRANCH(1, -3));
	check_untouched(CALL_OWN(3));
	check_untouched(CALL_OWN(INT32_MIN));
}

static void half_of_a_wide_number(void **state)
{
	PROGRAM(NUMBER(1, 1), INSN(BPF_LD | BPF_IMM | BPF_DW, 0, 0, 0, 0));

	(void)state;
	stays();
}

static void a_program_that_is_too_long(void **state)
{
	static struct bpf_insn program[1 << 15];

	(void)state;
	for (size_t i = 0; i < LENGTH(program); i++)
		program[i] = NUMBER(0, 0);
	program[LENGTH(program) - 1] = EXIT;
	assert_int_equal(plumb_eliminate_dead_code(program, LENGTH(program)), LENGTH(program));
	assert_int_equal(plumb_eliminate_dead_code(program + 1, LENGTH(program) - 1), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_that_nobody_needs),
		cmocka_unit_test(chains_of_them),
		cmocka_unit_test(what_is_overwritten),
		cmocka_unit_test(what_a_loop_passes_to_itself),
		cmocka_unit_test(what_instructions_need),
		cmocka_unit_test(operands),
		cmocka_unit_test(a_change_of_byte_order_has_no_second_register),
		cmocka_unit_test(atomics_stay_with_all_they_need),
		cmocka_unit_test(old_ways_to_read_packets_stay),
		cmocka_unit_test(a_result_is_needed),
		cmocka_unit_test(what_is_needed_on_one_way),
		cmocka_unit_test(what_is_needed_around_a_loop),
		cmocka_unit_test(helpers_take_what_they_may_take),
		cmocka_unit_test(some_helpers_take_less),
		cmocka_unit_test(kernel_functions_take_what_they_may_take),
		cmocka_unit_test(what_is_kept_over_a_call),
		cmocka_unit_test(functions_of_its_own),
		cmocka_unit_test(a_function_that_nobody_calls_any_more),
		cmocka_unit_test(a_function_that_begins_with_a_jump),
		cmocka_unit_test(what_is_never_reached),
		cmocka_unit_test(jumps_are_shortened),
		cmocka_unit_test(wide_numbers_move_as_one),
		cmocka_unit_test(jumps_to_jumps),
		cmocka_unit_test(jumps_to_what_follows),
		cmocka_unit_test(a_program_that_begins_with_a_jump),
		cmocka_unit_test(jumps_in_circles),
		cmocka_unit_test(what_is_not_understood),
		cmocka_unit_test(half_of_a_wide_number),
		cmocka_unit_test(a_program_that_is_too_long),
	};

	return run_all(tests);
}
