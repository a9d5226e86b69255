// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* probe-check: copies of a function. */
#include "unit.h"
#include "inlining/copies.h"
#include <elf.h>

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

static struct plumb_symbols symbols;

static const char *copy_of_f(void)
{
	struct plumb_span span = {.address = 0x1000,
				  .bytes = text_of_two,
				  .size = sizeof(text_of_two),
				  .is_code = true};
	const struct plumb_image image = {.machine = EM_X86_64, .spans = &span, .n_spans = 1};

	return copies_find(&image, &symbols, 0x1000) ?: "none";
}

static void a_copy_is_found_and_what_differs_is_none(void **state)
{
	unsigned char *g = text_of_two + 64;

	plumb_symbols_parse(&symbols, strdup("1000 T f\n1040 t g\n1080 T h\n"));
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
	memset(g + 39, 0x06, 5); /* no instruction of 64-bit code */
	assert_string_equal(copy_of_f(), "none");
	memset(g + 39, 0xcc, 5);
	assert_string_equal(copy_of_f(), "g");
	plumb_symbols_free(&symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_is_found_and_what_differs_is_none),
	};

	return run_all(tests);
}
