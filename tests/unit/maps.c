// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "unit.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <plumb/symbols/maps.h>

static struct plumb_vma vmas[8];
static char paths[8][64];
static int n, stop_after;

static int keep(void *context, struct plumb_vma *vma)
{
	assert_true(n < 8);
	vmas[n] = *vma;
	snprintf(paths[n], sizeof(paths[n]), "%s", vma->path);
	return ++n == stop_after ? -7 : 0;
}

static int read_text(const char *text)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	int err;

	assert_non_null(f);
	n = 0;
	err = plumb_maps_read(f, keep, NULL);
	fclose(f);
	return err;
}

static const char text[] =
	"00400000-00452000 r-xp 00001000 fe:02 173521      /usr/bin/a name (deleted)\n"
	"not a line\n"
	"00e03000-00e24000 rw-p 00000000 00:00 0           [heap]\n"
	"7f00-7f01 r-- 0 00:00 0 /short/permissions\n"
	"7fff7000-7fff8000 rw-s 00000000 00:05 12          /memfd:x (deleted)\n"
	"ffff8000-ffffa000 --xp 00000000 00:00 0\n"
	"ffffb000-ffffc000 r-xp 00000000 00:00 0           [anon:me (deleted)]";

static void lines_are_parsed(void **unused)
{
	stop_after = 0;
	assert_int_equal(read_text(text), 0);
	assert_int_equal(n, 5);
	assert_int_equal(vmas[0].start, 0x400000);
	assert_int_equal(vmas[0].end, 0x452000);
	assert_int_equal(vmas[0].offset, 0x1000);
	assert_int_equal(vmas[0].device, 0xfe00000002);
	assert_int_equal(vmas[0].inode, 173521);
	assert_true(vmas[0].is_code && vmas[0].is_deleted);
	assert_string_equal(paths[0], "/usr/bin/a name");
	assert_false(vmas[1].is_code);
	assert_string_equal(paths[1], "[heap]");
	assert_true(vmas[2].is_deleted && !vmas[2].is_code);
	assert_string_equal(paths[2], "/memfd:x");
	assert_true(vmas[3].is_code);
	assert_string_equal(paths[3], "");
	/* A name that the process chose. */
	assert_false(vmas[4].is_deleted);
	assert_string_equal(paths[4], "[anon:me (deleted)]");
}

static void reading_ends_when_told(void **unused)
{
	stop_after = 2;
	assert_int_equal(read_text(text), -7);
	assert_int_equal(n, 2);
}

static int find(void *context, struct plumb_vma *vma)
{
	uint64_t address = (uintptr_t)context;

	return vma->start <= address && address < vma->end && vma->is_code;
}

static void own_maps_have_own_code(void **unused)
{
	assert_int_equal(plumb_maps_of(getpid(), find, (void *)(uintptr_t)read_text), 1);
	assert_int_equal(plumb_maps_of(getpid(), find, &n), 0);
	assert_int_equal(plumb_maps_of(0x7fffffff, find, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_parsed),
		cmocka_unit_test(reading_ends_when_told),
		cmocka_unit_test(own_maps_have_own_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
