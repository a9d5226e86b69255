/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * formats: what a tracepoint's record holds, as its format file in tracefs tells.
 */
#ifndef PLUMB_FORMATS_H
#define PLUMB_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_format_field {
	char *declaration; /* as the file has it: "char comm[16]", "__data_loc char[] name" */
	char *name;
	char *type; /* the declaration without the name: "char[16]", "__data_loc char[]" */
	uint32_t offset, size;
	bool is_signed;
	bool is_dynamic; /* __data_loc, __rel_loc: the field says where it is, and how long */
	bool is_common;  /* one of those that every record begins with (common_type, ...) */
};

struct plumb_format {
	char *name;
	uint32_t id;
	struct plumb_format_field *fields;
	size_t n;
};

/*
 * Both return 0, or -errno without a word, with *FORMAT empty: -ENOENT, there is
 * no such tracepoint; -EINVAL, the text is no format.
 */
int plumb_format_read(int tracefs, const char *category, const char *name,
		      struct plumb_format *format);
int plumb_format_parse(const char *text, struct plumb_format *format);

void plumb_format_free(struct plumb_format *format);

#endif
