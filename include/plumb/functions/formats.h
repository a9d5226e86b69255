/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* formats: the fields of a tracepoint's record, from its format file in tracefs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_format_field {
	char *declaration; /* as in the file: "char comm[16]", "__data_loc char[] name" */
	char *name;
	char *type; /* the declaration without the name: "char[16]", "__data_loc char[]" */
	uint32_t offset, size;
	bool is_signed;
	bool is_dynamic; /* __data_loc, __rel_loc: the field holds the data's offset and length */
	bool is_common;  /* a field of every record (common_type, ...) */
};

struct plumb_format {
	char *name;
	uint32_t id;
	struct plumb_format_field *fields;
	size_t n;
};

/*
 * Both return 0, or -errno without a message and with *FORMAT empty: -ENOENT if there is no such
 * tracepoint, -EINVAL if the text is not a format.
 */
int plumb_format_read(int tracefs, const char *category, const char *name,
		      struct plumb_format *format);
int plumb_format_parse(const char *text, struct plumb_format *format);

void plumb_format_free(struct plumb_format *format);
