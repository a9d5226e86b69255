// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* probe-check: x86 instructions, and copies of a function. */
#include "unit.h"
#include "inlining/copies.h"
#include "image/x86.h"
#include <elf.h>

static void instructions_are_taken_apart(void **state)
{
	static const struct {
		unsigned char code[16];
		struct x86_instruction in;
	} known[] = {
		/* testb $4,0xc(%rdi); testb $4,0xc(%r12) */
		{{0xf6, 0x47, 0x0c, 0x04}, {4, 0xf6, 0, true, true, true, false, 0, 7, 12, 4}},
		{{0x41, 0xf6, 0x44, 0x24, 0x0c, 0x04},
		 {6, 0xf6, 0, true, true, true, false, 0, 12, 12, 4}},
		/* mov $-29,%rax; movabs; mov $1,%al; mov $258,%ax */
		{{0x48, 0xc7, 0xc0, 0xe3, 0xff, 0xff, 0xff},
		 {7, 0xc7, X86_WIDE, true, false, true, false, 0, 0, 0, -29}},
		{{0x49, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8},
		 {10, 0xb8, X86_WIDE, false, false, true, false, 0, 0, 0, 0x0807060504030201}},
		{{0x66, 0xb8, 0x02, 0x01},
		 {4, 0xb8, X86_SHORT, false, false, true, false, 0, 0, 0, 258}},
		/* mov -8(%rsp),%rax; mov 0x10(%rip),%rax; mov 0x10(,%rax,8),%rax */
		{{0x48, 0x8b, 0x44, 0x24, 0xf8},
		 {5, 0x8b, X86_WIDE, true, true, false, false, 0, X86_SP, -8, 0}},
		{{0x48, 0x8b, 0x05, 0x10, 0, 0, 0},
		 {7, 0x8b, X86_WIDE, true, true, false, false, 0, X86_IP, 16, 0}},
		{{0x48, 0x8b, 0x04, 0xc5, 0x10, 0, 0, 0},
		 {8, 0x8b, X86_WIDE, true, true, false, false, 0, X86_NO_BASE, 16, 0}},
		/* call, je, nopl 0(%rax,%rax,1), pshufb, lock cmpxchg */
		{{0xe8, 0xfb, 0xff, 0xff, 0xff},
		 {5, 0xe8, 0, false, false, false, true, 0, 0, -5, 0}},
		{{0x0f, 0x84, 0x10, 0, 0, 0},
		 {6, 0x0f84, 0, false, false, false, true, 0, 0, 16, 0}},
		{{0x0f, 0x1f, 0x44, 0, 0}, {5, 0x0f1f, 0, true, true, false, false, 0, 0, 0, 0}},
		{{0x66, 0x0f, 0x38, 0x00, 0xc1},
		 {5, 0x3800, X86_SHORT, true, false, false, false, 0, 0, 0, 0}},
		{{0xf0, 0x48, 0x0f, 0xb1, 0x0f},
		 {5, 0x0fb1, X86_WIDE, true, true, false, false, 1, 7, 0, 0}},
	};
	struct x86_instruction in;

	(void)state;
	for (size_t i = 0; i < LENGTH(known); i++) {
		assert_true(x86_decode(known[i].code, sizeof(known[i].code), &in));
		check(!memcmp(&in, &known[i].in, sizeof(in)), "instruction %zu", i);
		/* Not a byte more is read. */
		assert_true(x86_decode(known[i].code, known[i].in.length, &in));
		for (size_t n = 0; n < known[i].in.length; n++)
			assert_false(x86_decode(known[i].code, n, &in));
	}
	assert_false(x86_decode((const unsigned char *)"\xc5\xf8\x77", 3, &in)); /* vzeroupper */
}

/*
 * f: testb $4,12(a); je; mov 40(a),b; mov 16(b),b; jmp *b; mov $-29,result; ret.  g has it in other
 * registers, with a call for the jump, and more.
 */
static unsigned char text_of_two[128] = {
	0xf6, 0x47, 0x0c, 0x04, 0x74, 0x0a, 0x48, 0x8b, 0x47, 0x28, 0x48, 0x8b,        0x40,
	0x10, 0xff, 0xe0, 0x48, 0xc7, 0xc0, 0xe3, 0xff, 0xff, 0xff, 0xc3, [64] = 0x53, 0x48,
	0x89, 0xfb, 0x83, 0x43, 0x40, 0x01, 0x83, 0xfa, 0x05, 0xf6, 0x43, 0x0c,        0x04,
	0x74, 0x0d, 0x4c, 0x8b, 0x73, 0x28, 0x4d, 0x8b, 0x4e, 0x10, 0x41, 0xff,        0xd1,
	0x5b, 0xc3, 0x49, 0xc7, 0xc5, 0xe3, 0xff, 0xff, 0xff, 0x5b, 0xc3,
};

static const char *copy_of_f(void)
{
	static char symbols[] = "1000 T f\n1040 t g\n1080 T h\n", name[16];
	struct plumb_span span = {.address = 0x1000,
				  .bytes = text_of_two,
				  .size = sizeof(text_of_two),
				  .is_code = true};
	const struct plumb_image image = {
		.machine = EM_X86_64, .symbols = symbols, .spans = &span, .n_spans = 1};

	return copies_find(&image, 0x1000, name, sizeof(name)) ?: "none";
}

static void a_copy_is_found_and_what_differs_is_none(void **state)
{
	unsigned char *g = text_of_two + 64;

	(void)state;
	memset(text_of_two + 24, 0xcc, 40);
	memset(text_of_two + 103, 0xcc, 25);
	assert_string_equal(copy_of_f(), "g");
	/* Another field; another bit; another error. */
	for (size_t i = 0; i < 3; i++) {
		size_t at = (size_t[]){20, 14, 33}[i];

		g[at] ^= 1;
		assert_string_equal(copy_of_f(), "none");
		g[at] ^= 1;
	}
	/* It calls f, too: call -78. */
	memcpy(g + 39, "\xe8\x94\xff\xff\xff", 5);
	assert_string_equal(copy_of_f(), "none");
	/* What is not understood is not judged. */
	memcpy(g + 39, "\xc5\xf8\x77\xcc\xcc", 5);
	assert_string_equal(copy_of_f(), "none");
	memset(g + 39, 0xcc, 5);
	assert_string_equal(copy_of_f(), "g");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_are_taken_apart),
		cmocka_unit_test(a_copy_is_found_and_what_differs_is_none),
	};

	return run_all(tests);
}
