// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* formats: format files as kernels write them, junk, and all of the running kernel's. */
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <plumb/functions/formats.h>
#include <plumb/functions/tracepoints.h>

static const char waking[] =
	"name: sched_waking\n"
	"ID: 318\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n"
	"\tfield:const char * filename;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:void (*work)(struct work_struct *);\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:__rel_loc unsigned long[] cpus;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\tfield:u8 matrix[2][3];\toffset:52;\tsize:6;\tsigned:0;\n"
	"\n"
	"print fmt: \"field:int nothing;\", REC->comm\n"
	"\tfield:int nothing;\toffset:0;\tsize:4;\tsigned:1;\n";

static struct plumb_format format;

static void a_format_is_read(void **state)
{
	static const struct {
		const char *name, *type;
		uint32_t offset, size;
		bool is_signed, is_dynamic, is_common;
	} fields[] = {
		{"common_type", "unsigned short", 0, 2, false, false, true},
		{"common_pid", "int", 4, 4, true, false, true},
		{"comm", "char[16]", 8, 16, false, false, false},
		{"name", "__data_loc char[]", 24, 4, false, true, false},
		{"filename", "const char *", 32, 8, false, false, false},
		{"work", "void (*)(struct work_struct *)", 40, 8, false, false, false},
		{"cpus", "__rel_loc unsigned long[]", 48, 4, false, true, false},
		{"matrix", "u8[2][3]", 52, 6, false, false, false},
	};

	assert_int_equal(plumb_format_parse(waking, &format), 0);
	assert_string_equal(format.name, "sched_waking");
	assert_int_equal(format.id, 318);
	assert_int_equal(format.n, LENGTH(fields));
	for (size_t i = 0; i < LENGTH(fields); i++) {
		const struct plumb_format_field *f = &format.fields[i];

		assert_string_equal(f->name, fields[i].name);
		assert_string_equal(f->type, fields[i].type);
		check(strstr(waking, f->declaration), "%s", f->declaration);
		check(f->offset == fields[i].offset, "%s", f->name);
		check(f->size == fields[i].size, "%s", f->name);
		check(f->is_signed == fields[i].is_signed, "%s", f->name);
		check(f->is_dynamic == fields[i].is_dynamic, "%s", f->name);
		check(f->is_common == fields[i].is_common, "%s", f->name);
	}
	plumb_format_free(&format);
	assert_int_equal(format.n, 0);
}

static void what_is_no_format_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"\n\n\n",
		"name: x\n",
		"\tfield:int x;\toffset:0;\tsize:4;\tsigned:1;\n",
		"name: x\n\tfield:int x;\toffset:0;\tsize:4;\n",
		"name: x\n\tfield:x;\toffset:0;\tsize:4;\tsigned:1;\n",
		"name: x\n\tfield:;\toffset:0;\tsize:4;\tsigned:1;\n",
		"name: x\n\tfield:int ];\toffset:0;\tsize:4;\tsigned:1;\n",
		"name: x\n\tfield:]]]];\toffset:0;\tsize:4;\tsigned:1;\n",
		"name: x\n\tfield:(*;\toffset:0;\tsize:4;\tsigned:1;\n",
		"name: x\n\tfield:int x;\toffset:a;\tsize:4;\tsigned:1;\n",
		"name: x\nID: none\n\tfield:int x;\toffset:0;\tsize:4;\tsigned:1;\n",
		"print fmt: \"\"\nname: x\n\tfield:int x;\toffset:0;\tsize:4;\tsigned:1;\n",
	};

	for (size_t i = 0; i < LENGTH(texts); i++) {
		check(plumb_format_parse(texts[i], &format) == -EINVAL, "%s", texts[i]);
		check(!format.n && !format.fields && !format.name, "%s", texts[i]);
	}
}

/* Whatever is overwritten or cut off: it is a format, or it is not, and nothing else happens. */
static void junk_does_no_harm(void **state)
{
	uint64_t seed = 41;
	char text[sizeof(waking)];
	size_t refused = 0;

	for (int round = 0; round < 20000; round++) {
		memcpy(text, waking, sizeof(text));
		for (int i = round % 5; i >= 0; i--)
			text[next_random(&seed) % sizeof(text)] = next_random(&seed);
		text[next_random(&seed) % sizeof(text)] = round % 3 ? '[' : 0;
		text[sizeof(text) - 1] = 0;
		refused += plumb_format_parse(text, &format) != 0;
		plumb_format_free(&format);
	}
	assert_true(refused > 100);
	assert_true(refused < 19900);
}

static void missing_tracepoints_are_told(void **state)
{
	int here = open("/", O_RDONLY | O_DIRECTORY);

	assert_true(here >= 0);
	assert_int_equal(plumb_format_read(here, "sched", "no_such_event", &format), -ENOENT);
	assert_int_equal(format.n, 0);
	close(here);
}

/* --- the running kernel --- */

/* What the file itself has, counted another way. */
static size_t count_fields(int tracefs, const struct plumb_tracepoint *t)
{
	char path[512], line[4096];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "events/%s/%s/format", t->category, t->name);
	f = fdopen(openat(tracefs, path, O_RDONLY), "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && strncmp(line, "print fmt", 9))
		n += line[0] == '\t' && !strncmp(line + 1, "field:", 6);
	fclose(f);
	return n;
}

static void all_of_this_kernel_are_read(void **state)
{
	int tracefs = plumb_tracefs_try();
	struct plumb_tracepoints all;

	if (tracefs < 0)
		skip();
	assert_int_equal(plumb_tracepoints_find(tracefs, "*:*", &all), 0);
	for (size_t i = 0; i < all.n; i++) {
		const struct plumb_tracepoint *t = &all.list[i];

		check(!plumb_format_read(tracefs, t->category, t->name, &format), "%s:%s",
		      t->category, t->name);
		check(!strcmp(format.name, t->name), "%s:%s", t->category, t->name);
		check(format.id == t->id, "%s:%s", t->category, t->name);
		check(format.n == count_fields(tracefs, t), "%s:%s", t->category, t->name);
		plumb_format_free(&format);
	}
	plumb_tracepoints_free(&all);
	close(tracefs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_format_is_read),
		cmocka_unit_test(what_is_no_format_is_refused),
		cmocka_unit_test(junk_does_no_harm),
		cmocka_unit_test(missing_tracepoints_are_told),
		cmocka_unit_test(all_of_this_kernel_are_read),
	};

	return run_all(tests);
}
