/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fields: the named parts of a key, for --by and for all output. */
#ifndef PLUMB_FIELDS_H
#define PLUMB_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_tool;

struct plumb_field {
	const char *name; /* in --by and JSON */
	uint32_t bit;     /* in plumb_config.by */
	bool number;      /* aligned to the right */
	/* One line of text without control characters; KEY is the tool's key. */
	void (*format)(const void *key, char *text, size_t size);
	/* Returns a new reference; NULL: the text of format() is used. */
	json_t *(*json)(const void *key);
};

extern const struct plumb_field plumb_common_fields[];
extern const size_t plumb_n_common_fields;

/* The field that --by or a column calls NAME, or NULL. */
const struct plumb_field *plumb_field_find(const struct plumb_tool *tool, const char *name);

/* Field I of the tool, the common ones first; NULL after the last. */
const struct plumb_field *plumb_field_at(const struct plumb_tool *tool, size_t i);

#endif
