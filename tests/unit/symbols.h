/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* symbols: two specimens, a shared library and a static program, and a name for an address. */
#pragma once

#include "specimen.h"
#include <plumb/symbols/symbols.h>

static const char source[] =
	"#define BEGIN(name) .type name,%function; name:\n"
	"#define GLOBAL(name) .globl name; BEGIN(name)\n"
	".text\n"
	"GLOBAL(_start) .ascii \"<start>\"; .size _start,.-_start\n"
	".ascii \"<gap>\"\n"
	"GLOBAL(plain) .ascii \"<plain>\"; .size plain,.-plain\n"
	"GLOBAL(next) .ascii \"<next>\"; .size next,.-next\n"
	"BEGIN(__restore_rt) .ascii \"<restore>\"; .size __restore_rt,.-__restore_rt\n"
	".section .note.GNU-stack,\"\",%progbits\n";

static int make_files(void **state)
{
	if (make_specimens())
		return -1;
	write_file("s.S", source, strlen(source));
	run("${CC:-cc} -nostdlib -fPIC -shared -Wl,--build-id s.S -o lib.so");
	run("${CC:-cc} -nostdlib -static -Wl,--build-id=none s.S -o fixed");
	return 0;
}

static struct plumb_symbolizer *new_symbolizer(void)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);

	assert_non_null(s);
	return s;
}

/* The one name of an address, as it is printed. */
static const char *name(struct plumb_symbolizer *s, pid_t pid, uint64_t address)
{
	static char text[256];
	struct plumb_frame_name frame;

	assert_int_equal(plumb_symbolize_user(s, pid, 0, address, false, &frame, 1), 1);
	assert_false(frame.is_kernel);
	assert_false(frame.is_inlined);
	return plumb_frame_name_text(&frame, text, sizeof(text));
}
