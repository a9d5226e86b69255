/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* replaced: writes a file atomically, and looks at what is in it. */
#pragma once

#include "unit.h"
#include <plumb/files/atomic-file.h>

static int write_to(const char *path, const char *text, int err)
{
	struct plumb_atomic_file r;
	int begun = plumb_atomic_file_begin(&r, path);

	if (begun)
		return begun;
	fputs(text, r.out);
	return plumb_atomic_file_end(&r, err);
}

static void has(const char *path, const char *text)
{
	char found[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	fread(found, 1, sizeof(found) - 1, f);
	fclose(f);
	assert_string_equal(found, text);
}
