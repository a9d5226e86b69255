// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* userfuncs: where Go functions are probed, and which Go made the file. */
#include "said.h"
#include "specimen.h"
#include <plumb/user/userfuncs.h>

static const char source[] =
	"#define GLOBAL(name) .globl name; .type name,%function; name:\n"
	"#define END(name) .size name,.-name\n"
	".text\n"
	"GLOBAL(_start)\n"
	"GLOBAL(other) ret; END(other)\n"
	"#if defined(__x86_64__)\n"
	"GLOBAL(checked) cmp 0x10(%r14),%rsp; jbe 2f\n"
	"GLOBAL(checked_after) push %rbx; jz 1f; pop %rbx; 1: ret; 2: call other; jmp checked\n"
	"END(checked)\n"
	"GLOBAL(twice) mov %rsp,%r12; sub $65536,%r12; jb 2f; cmp 0x10(%r14),%r12; jbe 2f\n"
	"GLOBAL(twice_after) push %rbx; ret; 2: mov %rax,8(%rsp); call other; jmp twice\n"
	"END(twice)\n"
	"GLOBAL(loop) dec %rax; jz 2f; nop; 2: jmp loop; ret; END(loop)\n"
	"GLOBAL(calls) dec %rax; jz 2f; ret; 2: call other; call other; jmp calls; END(calls)\n"
	"GLOBAL(table) jmp *8(%r13,%r12,8); ret; END(table)\n"
	"#else\n"
	"GLOBAL(checked) ldr x16,[x28,#16]; cmp sp,x16; b.ls 2f\n"
	"GLOBAL(checked_after) nop; ret; 2: mov x3,x30; bl other; b checked; END(checked)\n"
	"#endif\n"
	"#ifdef GO\n"
	".section .go.buildinfo,\"aw\",%progbits\n.balign 16\n"
	".ascii \"\\xff Go buildinf:\"; .byte 8, GO; .skip 16\n"
	"#endif\n"
	".section .note.GNU-stack,\"\",%progbits\n";

static int make_files(void **state)
{
	if (make_specimens())
		return -1;
	write_file("s.S", source, strlen(source));
	run("for go in 0 2; do ${CC:-cc} -nostdlib -static -DGO=$go s.S -o go$go || exit; done; "
	    "${CC:-cc} -nostdlib -static s.S -o c");
	return 0;
}

static struct plumb_userfuncs find(const char *target)
{
	struct plumb_userfuncs found;

	check(!plumb_userfuncs_find(target, &found), "%s", target);
	check(found.n == 1, "%s: %zu", target, found.n);
	return found;
}

/* The offset of a function that can be probed. */
static uint64_t offset_of(const char *target)
{
	struct plumb_userfuncs found = find(target);
	uint64_t offset = found.list[0].offset;

	assert_null(found.list[0].obstacle);
	plumb_userfuncs_free(&found);
	return offset;
}

static void arguments_are_in_registers_from_1_18_on(void **state)
{
	struct plumb_userfuncs found = find("./go0:other");

	assert_true(found.is_go && !found.has_go_registers);
	plumb_userfuncs_free(&found);
	found = find("./go2:other");
	assert_true(found.is_go && found.has_go_registers);
	plumb_userfuncs_free(&found);
	found = find("./c:other");
	assert_true(!found.is_go && !found.has_go_registers);
	plumb_userfuncs_free(&found);
}

static void a_probe_is_placed_after_the_stack_check(void **state)
{
	assert_int_equal(offset_of("./go2:checked"), offset_of("./go2:checked_after"));
	assert_true(offset_of("./c:checked") < offset_of("./c:checked_after"));
#if defined(__x86_64__)
	assert_int_equal(offset_of("./go2:twice"), offset_of("./go2:twice_after"));
#endif
}

#if defined(__x86_64__)
/* Jumps to the beginning that are no restart after a stack check. */
static void a_loop_is_no_stack_check(void **state)
{
	assert_int_equal(offset_of("./go2:loop"), offset_of("./c:loop"));
	assert_int_equal(offset_of("./go2:calls"), offset_of("./c:calls"));
}

/* As compilers of Go have it, in a jump by a table. */
static void an_index_may_be_r12(void **state)
{
	struct plumb_userfuncs found = find("./go2:table");

	assert_null(found.list[0].return_obstacle);
	assert_int_equal(found.list[0].n_returns, 1);
	plumb_userfuncs_free(&found);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_in_registers_from_1_18_on),
		cmocka_unit_test(a_probe_is_placed_after_the_stack_check),
#if defined(__x86_64__)
		cmocka_unit_test(a_loop_is_no_stack_check),
		cmocka_unit_test(an_index_may_be_r12),
#endif
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_files, remove_specimens);
}
