// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* usdt arguments: what compilers write, what is refused, and damaged text. */
#include "unit.h"
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <plumb/user/usdt-arguments.h>

/* The kernel's layout of the registers, which is not that of this program's headers. */
enum { BP = 32, R10 = 56, AX = 80, DI = 112, SP = 152, NONE = PLUMB_USDT_NO_REGISTER };

struct expected {
	const char *text;
	struct plumb_usdt_arg arg;
};

#define REGISTER(size, at, shift)                                                                  \
	{                                                                                          \
		0, at, NONE, PLUMB_USDT_REGISTER, shift, size, 0                                   \
	}
#define CONSTANT(size, value)                                                                      \
	{                                                                                          \
		value, NONE, NONE, PLUMB_USDT_CONSTANT, 0, size, 0                                 \
	}
#define MEMORY(size, value, base, index, shift, extend)                                            \
	{                                                                                          \
		value, base, index, PLUMB_USDT_MEMORY, shift, size, extend                         \
	}

static void check_all(const struct expected *all, size_t n, int machine)
{
	struct plumb_usdt_argument list[PLUMB_USDT_ARGS];

	for (size_t i = 0; i < n; i++) {
		check(plumb_usdt_arguments(all[i].text, machine, list) == 1, "%s", all[i].text);
		check(!list[0].refused, "%s: %s", all[i].text, list[0].refused);
		check(!memcmp(&list[0].arg, &all[i].arg, sizeof(list[0].arg)), "%s", all[i].text);
		check(list[0].length == strlen(all[i].text), "%s", all[i].text);
	}
}

static void x86_operands_are_parsed(void **state)
{
	static const struct expected all[] = {
		{"-4@%edi", REGISTER(-4, DI, 0)},
		{"8@%r10", REGISTER(8, R10, 0)},
		{"4@%r10d", REGISTER(4, R10, 0)},
		{"2@%r10w", REGISTER(2, R10, 0)},
		{"-1@%r10b", REGISTER(-1, R10, 0)},
		{"1@%al", REGISTER(1, AX, 0)},
		{"1@%ah", REGISTER(1, AX, 8)},
		{"1@%dil", REGISTER(1, DI, 0)},
		{"4@%rax", REGISTER(4, AX, 0)},
		{"8@$42", CONSTANT(8, 42)},
		{"-4@$-1", CONSTANT(-4, -1)},
		{"8@$0x10", CONSTANT(8, 16)},
		{"8@$18446744073709551615", CONSTANT(8, -1)},
		{"8@16(%rsp)", MEMORY(8, 16, SP, NONE, 0, 0)},
		{"8@(%rsp)", MEMORY(8, 0, SP, NONE, 0, 0)},
		{"-4@-8(%rbp,%rax,4)", MEMORY(-4, -8, BP, AX, 2, 0)},
		{"-4@-8(%rbp,%rax)", MEMORY(-4, -8, BP, AX, 0, 0)},
		{"4@4096(,%rax,8)", MEMORY(4, 4096, NONE, AX, 3, 0)},
	};

	check_all(all, LENGTH(all), EM_X86_64);
}

static void arm64_operands_are_parsed(void **state)
{
	static const struct expected all[] = {
		{"8@x0", REGISTER(8, 0, 0)},
		{"-4@w30", REGISTER(-4, 240, 0)},
		{"8@sp", REGISTER(8, 248, 0)},
		{"-4@5", CONSTANT(-4, 5)},
		{"-4@-5", CONSTANT(-4, -5)},
		{"-4@[sp, 12]", MEMORY(-4, 12, 248, NONE, 0, 0)},
		{"-4@[x19,-8]", MEMORY(-4, -8, 152, NONE, 0, 0)},
		{"8@[x1]", MEMORY(8, 0, 8, NONE, 0, 0)},
		{"8@[x1,x2]", MEMORY(8, 0, 8, 16, 0, 0)},
		{"8@[x1, x2, lsl 3]", MEMORY(8, 0, 8, 16, 3, 0)},
		{"4@[x1, w2, sxtw 2]", MEMORY(4, 0, 8, 16, 2, PLUMB_USDT_SXTW)},
		{"4@[x1, w2, uxtw]", MEMORY(4, 0, 8, 16, 0, PLUMB_USDT_UXTW)},
	};

	check_all(all, LENGTH(all), EM_AARCH64);
}

static void refuse(const char *text, int machine, const char *words)
{
	struct plumb_usdt_argument list[PLUMB_USDT_ARGS];

	check(plumb_usdt_arguments(text, machine, list) == 1, "%s", text);
	check(list[0].refused && strstr(list[0].refused, words), "%s: %s", text,
	      list[0].refused ?: "taken");
	check(list[0].arg.kind == PLUMB_USDT_NONE, "%s", text);
}

static void refusals_have_reasons(void **state)
{
	refuse("8@sym(%rip)", EM_X86_64, "symbol");
	refuse("8@sym+16(%rip)", EM_X86_64, "symbol");
	refuse("8@16+sym(%rip)", EM_X86_64, "symbol");
	refuse("8@.LC0(%rip)", EM_X86_64, "symbol");
	refuse("8@16(%rip)", EM_X86_64, "symbol");
	refuse("8@_ZL3sym(,%rax,8)", EM_X86_64, "symbol");
	refuse("8@$sym", EM_X86_64, "symbol");
	refuse("8@sym", EM_X86_64, "symbol");
	refuse("8f@%xmm0", EM_X86_64, "floating");
	refuse("8@%xmm0", EM_X86_64, "floating");
	refuse("8@%st", EM_X86_64, "floating");
	refuse("-8f@(%rax)", EM_X86_64, "floating");
	refuse("16@%rax", EM_X86_64, "bytes");
	refuse("3@%rax", EM_X86_64, "bytes");
	refuse("%rax", EM_X86_64, "size");
	refuse("8@%rax", EM_386, "32-bit");
	refuse("8@a0", EM_RISCV, "processor");
	refuse("8f@d0", EM_AARCH64, "floating");
	refuse("8@d0", EM_AARCH64, "floating");
	refuse("8@[x0, :lo12:sym]", EM_AARCH64, "symbol");
	refuse("8@symbol", EM_AARCH64, "symbol");
}

static void malformed_operands_are_refused(void **state)
{
	static const char *const x86[] = {"@",
					  "8@",
					  "8",
					  "-",
					  "8@%",
					  "8@%rxx",
					  "8@%eax",
					  "8@(",
					  "8@()",
					  "8@(%rax",
					  "8@(%eax)",
					  "8@(%rax,)",
					  "8@(%rax,%rbx,3)",
					  "8@(%rax,%rbx,)",
					  "8@$",
					  "8@$4x",
					  "8@%raxx",
					  "8@%rax)",
					  "8@16",
					  "8@99999999999999999999(%rax)",
					  "99999999999999999999@%rax",
					  "8@-(%rax)",
					  "8@(%rax,%rip)",
					  "8@4+8(%rax)",
					  "-9223372036854775808@%rax",
					  "256@%al",
					  "264@%rax"};
	static const char *const arm[] = {"8@",         "8@x31",     "8@x99",
					  "8@w0",       "8@[",       "8@[x0",
					  "8@[x0,",     "8@[w0]",    "8@[x0, x1, lsl 9]",
					  "8@[x0, w1]", "8@[x0 x1]", "8@[x0, x1, sxtw]",
					  "8@x",        "8@[x0]]"};

	for (size_t i = 0; i < LENGTH(x86); i++)
		refuse(x86[i], EM_X86_64, "");
	for (size_t i = 0; i < LENGTH(arm); i++)
		refuse(arm[i], EM_AARCH64, "");
}

static void lists_are_cut_at_blanks(void **state)
{
	struct plumb_usdt_argument list[PLUMB_USDT_ARGS];

	assert_int_equal(plumb_usdt_arguments("", EM_X86_64, list), 0);
	assert_int_equal(plumb_usdt_arguments("  ", EM_X86_64, list), 0);
	assert_int_equal(plumb_usdt_arguments("-4@%edi 8f@%xmm0  8@$3 ", EM_X86_64, list), 3);
	assert_null(list[0].refused);
	assert_non_null(list[1].refused);
	assert_int_equal(list[2].arg.value, 3);
	assert_int_equal(list[1].length, 8);
	assert_string_equal(list[0].type, "int32");
	assert_string_equal(list[1].type, "float64");
	assert_string_equal(list[2].type, "uint64");
	assert_int_equal(plumb_usdt_arguments("-2@8(%ebp)", EM_386, list), 1);
	assert_string_equal(list[0].type, "int16");
	assert_non_null(list[0].refused);
	assert_int_equal(plumb_usdt_arguments("8@x0 -4@[sp, 12] 8@[x1, x2]", EM_AARCH64, list), 3);
	assert_int_equal(list[1].arg.value, 12);
	assert_int_equal(list[2].arg.index, 16);
	assert_int_equal(plumb_usdt_arguments("8@$1 8@$2 8@$3 8@$4 8@$5 8@$6 8@$7 8@$8 8@$9 8@$10 "
					      "8@$11 8@$12",
					      EM_X86_64, list),
			 12);
	assert_int_equal(plumb_usdt_arguments("8@$1 8@$2 8@$3 8@$4 8@$5 8@$6 8@$7 8@$8 8@$9 8@$10 "
					      "8@$11 8@$12 8@$13",
					      EM_X86_64, list),
			 -E2BIG);
}

/* Whatever the text is, an argument that is not refused is one that a program can read. */
static void damaged_text_does_no_harm(void **state)
{
	static const char source[] = "-4@%edi 8@16(%rsp,%rax,4) 8@$42 8@[x1, w2, sxtw 2] 8f@%xmm0";
	static const char letters[] = " @%$()[],-+:0149xwrspaildf\xff";
	struct plumb_usdt_argument list[PLUMB_USDT_ARGS];
	uint64_t seed = 41;
	size_t taken = 0;

	for (int round = 0; round < 1000000; round++) {
		char text[sizeof(source)];
		int n;

		memcpy(text, source, sizeof(text));
		for (int i = round % 5; i >= 0; i--)
			text[next_random(&seed) % (sizeof(text) - 1)] =
				letters[next_random(&seed) % (sizeof(letters) - 1)];
		text[next_random(&seed) % sizeof(text)] = 0;
		n = plumb_usdt_arguments(text, round % 2 ? EM_X86_64 : EM_AARCH64, list);
		for (int i = 0; i < n; i++) {
			const struct plumb_usdt_arg *a = &list[i].arg;

			check(list[i].text + list[i].length <= text + strlen(text), "%s", text);
			check(!list[i].refused == !!a->kind, "%s", text);
			check(a->base == NONE || (a->base <= 256 && !(a->base % 8)), "%s", text);
			check(a->kind != PLUMB_USDT_REGISTER || a->base != NONE, "%s", text);
			check(!a->kind || abs(a->size) <= 8, "%s", text);
			taken += a->kind != PLUMB_USDT_NONE;
		}
	}
	assert_true(taken > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_operands_are_parsed),
		cmocka_unit_test(arm64_operands_are_parsed),
		cmocka_unit_test(refusals_have_reasons),
		cmocka_unit_test(malformed_operands_are_refused),
		cmocka_unit_test(lists_are_cut_at_blanks),
		cmocka_unit_test(damaged_text_does_no_harm),
	};

	return run_all(tests);
}
