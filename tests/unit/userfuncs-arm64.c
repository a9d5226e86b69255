// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* userfuncs: functions of arm64, as the assembler makes them. */
#include "specimen.h"
#include "unit.h"
#include <plumb/user/userfuncs.h>

#if defined(__aarch64__)

static const char source[] =
	"#define GLOBAL(f) .globl f; .type f,%function; f:\n"
	"#define END(f) .size f,.-f\n"
	".arch armv8.5-a\n.text\n"
	"GLOBAL(other) nop; ret; END(other)\n"
	/* As with -mbranch-protection=standard, and for one processor. */
	"GLOBAL(landing) bti c; ret; END(landing)\n"
	"GLOBAL(signed_return) paciasp; stp x29,x30,[sp,#-16]!; ldp x29,x30,[sp],#16\n"
	"autiasp; ret; END(signed_return)\n"
	"GLOBAL(checked_return) paciasp; cbz x0,1f; retaa; 1: retab; END(checked_return)\n"
	/* Ends of functions. */
	"GLOBAL(tail) cbz x0,1f; b other; 1: ret; END(tail)\n"
	"GLOBAL(tail_conditional) cbz x0,other; ret; END(tail_conditional)\n"
	"GLOBAL(tail_bit) tbnz x0,#33,other; ret; END(tail_bit)\n"
	"GLOBAL(tail_pointer) ldr x16,[x0]; ldr x16,[x16,#8]; br x16; END(tail_pointer)\n"
	"GLOBAL(tail_signed) braa x0,x1; END(tail_signed)\n"
	/* Jump tables: of gcc, of clang and of Go; a jump through another register is none. */
	"GLOBAL(table_gcc) ldrb w0,[x1,w0,uxtw]; adr x1,1f; add x0,x1,w0,sxtb #2; br x0; 1: ret\n"
	"END(table_gcc)\n"
	"GLOBAL(table_clang) adr x10,1f; ldrb w11,[x9,x8]; add x10,x10,x11,lsl #2; br x10; 1: ret\n"
	"END(table_clang)\n"
	"GLOBAL(table_go) ldr x27,[x0,x1,lsl #3]; br x27; ret; END(table_go)\n"
	"GLOBAL(table_not) add x10,x10,x11,lsl #2; br x9; END(table_not)\n"
	/* First instructions. */
	"GLOBAL(first_svc) svc #0; ret; END(first_svc)\n"
	"GLOBAL(first_brk) brk #1; ret; END(first_brk)\n"
	"GLOBAL(first_auth) autiasp; ret; END(first_auth)\n"
	"GLOBAL(first_wfe) wfe; ret; END(first_wfe)\n"
	"GLOBAL(first_csdb) csdb; ret; END(first_csdb)\n"
	"GLOBAL(first_exclusive) ldxr x0,[x1]; ret; END(first_exclusive)\n"
	"GLOBAL(first_msr) msr tpidr_el0,x0; ret; END(first_msr)\n"
	"GLOBAL(first_mrs) mrs x0,tpidr_el0; ret; END(first_mrs)\n"
	"GLOBAL(first_retaa) retaa; END(first_retaa)\n"
	"GLOBAL(first_blraa) blraa x0,x1; ret; END(first_blraa)\n"
	"GLOBAL(first_vector) ldr d0,1f; ret; 1: .8byte 1; END(first_vector)\n"
	"GLOBAL(first_literal) ldr x0,1f; ret; 1: .8byte 1; END(first_literal)\n"
	"GLOBAL(first_signed) ldrsw x0,1f; ret; 1: .8byte 1; END(first_signed)\n"
	".arch armv8.8-a+mops\n"
	"GLOBAL(first_copy) cpyfp [x0]!,[x1]!,x2!; cpyfm [x0]!,[x1]!,x2!; cpyfe [x0]!,[x1]!,x2!; "
	"ret; END(first_copy)\n"
	".arch armv8.5-a\n"
	"GLOBAL(first_prefetch) prfm pldl1keep,1f; ret; 1: .8byte 1; END(first_prefetch)\n"
	"GLOBAL(first_adrp) adrp x0,other; ret; END(first_adrp)\n"
	"GLOBAL(first_call) bl other; ret; END(first_call)\n"
	"GLOBAL(first_pac) paciasp; ret; END(first_pac)\n"
	"GLOBAL(first_adr) adr x0,other; ret; END(first_adr)\n"
	"GLOBAL(first_blr) blr x0; ret; END(first_blr)\n"
	"GLOBAL(first_push) stp x29,x30,[sp,#-16]!; ldp x29,x30,[sp],#16; ret; END(first_push)\n"
	"GLOBAL(first_sub) sub sp,sp,#16; add sp,sp,#16; ret; END(first_sub)\n"
	".section .note.GNU-stack,\"\",%progbits\n";

static int make_files(void **state)
{
	if (make_specimens())
		return -1;
	write_file("s.S", source, strlen(source));
	run("${CC:-cc} -nostdlib -static -Wl,-e,other s.S -o a");
	return 0;
}

static struct plumb_userfuncs find(const char *name)
{
	struct plumb_userfuncs found;
	int fd = open("a", O_RDONLY);

	check(!plumb_userfuncs_find_in(fd, "./a", name, true, &found), "%s", name);
	check(found.n == 1, "%s: %zu", name, found.n);
	close(fd);
	return found;
}

static void returns_are_found(void **state)
{
	static const struct {
		const char *name;
		size_t n;
		size_t at[2]; /* bytes from its beginning */
	} known[] = {
		{"other", 1, {4}},          {"landing", 1, {4}},
		{"signed_return", 1, {16}}, {"checked_return", 2, {8, 12}},
		{"table_gcc", 1, {16}},     {"table_clang", 1, {16}},
		{"table_go", 1, {8}},
	};

	for (size_t i = 0; i < LENGTH(known); i++) {
		struct plumb_userfuncs found = find(known[i].name);
		const struct plumb_userfunc *u = &found.list[0];

		check(!u->return_obstacle, "%s: %s", known[i].name, u->return_obstacle);
		check(u->n_returns == known[i].n, "%s: %zu", known[i].name, u->n_returns);
		for (size_t j = 0; j < u->n_returns; j++)
			check(u->returns[j] == u->offset + known[i].at[j], "%s: %#lx",
			      known[i].name, u->returns[j] - u->offset);
		plumb_userfuncs_free(&found);
	}
}

static void tail_calls_are_told(void **state)
{
	static const char *const names[] = {"tail",         "tail_conditional", "tail_bit",
					    "tail_pointer", "tail_signed",      "table_not"};

	for (size_t i = 0; i < LENGTH(names); i++) {
		struct plumb_userfuncs found = find(names[i]);
		const char *why = found.list[0].return_obstacle;

		check(why && strstr(why, "ends in a jump"), "%s: %s", names[i], why ?: "-");
		plumb_userfuncs_free(&found);
	}
}

/* As arch/arm64/kernel/probes/decode-insn.c has it, and of vector registers, whose loads it does
 * not know. */
static void first_instructions_that_cannot_be_probed(void **state)
{
	static const struct {
		const char *name, *why; /* NULL: it can */
	} known[] = {
		{"other", NULL},
		{"landing", NULL},
		{"first_pac", NULL},
		{"first_mrs", NULL},
		{"first_literal", "(load relative to the program counter)"},
		{"first_signed", "(load relative to the program counter)"},
		{"first_copy", "(memory copy or set)"},
		{"first_adrp", NULL},
		{"first_call", NULL},
		{"first_svc", "(exception)"},
		{"first_brk", "(exception)"},
		{"first_auth", "(hint)"},
		{"first_wfe", "(hint)"},
		{"first_csdb", "(hint)"},
		{"first_exclusive", "(exclusive access)"},
		{"first_msr", "(msr)"},
		{"first_retaa", "(authenticated branch)"},
		{"first_blraa", "(authenticated branch)"},
		{"first_prefetch", "(prefetch)"},
		{"first_vector", "an address relative to it"},
	};

	for (size_t i = 0; i < LENGTH(known); i++) {
		struct plumb_userfuncs found = find(known[i].name);
		const char *why = found.list[0].obstacle;

		check(known[i].why ? why && strstr(why, known[i].why) : !why, "%s: %s",
		      known[i].name, why ?: "-");
		plumb_userfuncs_free(&found);
	}
}

/* As arch/arm64/kernel/probes/decode-insn.c simulates them; nop depends on the kernel. */
static void first_instructions_are_stepped_or_emulated(void **state)
{
	static const struct {
		const char *name;
		bool is_stepped;
	} known[] = {
		{"landing", true},     {"first_adrp", false}, {"first_adr", false},
		{"first_call", false}, {"first_blr", false},  {"tail", false},
		{"tail_bit", false},   {"first_pac", true},   {"first_push", true},
		{"first_sub", true},   {"first_mrs", true},   {"table_not", true},
	};

	struct plumb_userfuncs nop = find("other");

	check(nop.list[0].is_stepped == !!getenv("NOPS_ARE_STEPPED"), "nop");
	plumb_userfuncs_free(&nop);
	for (size_t i = 0; i < LENGTH(known); i++) {
		struct plumb_userfuncs found = find(known[i].name);

		check(found.list[0].is_stepped == known[i].is_stepped, "%s", known[i].name);
		plumb_userfuncs_free(&found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(returns_are_found),
		cmocka_unit_test(tail_calls_are_told),
		cmocka_unit_test(first_instructions_that_cannot_be_probed),
		cmocka_unit_test(first_instructions_are_stepped_or_emulated),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_files, remove_specimens);
}

#else

static void only_on_arm64(void **state)
{
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(only_on_arm64)};

	return run_all(tests);
}

#endif
