/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fields: the named parts of a key, for --by and for all output. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_tool;

/* What a member of a key is, if its field has no format() of its own. */
enum plumb_member {
	PLUMB_NUMBER,  /* unsigned */
	PLUMB_SIGNED,  /* of 64 bits */
	PLUMB_TEXT,    /* a string */
	PLUMB_WORD,    /* a string that may fill its array; "": there is none */
	PLUMB_NAME,    /* an index of NAMES, whose last stands for all beyond it */
	PLUMB_FLAGS,   /* bits, by their NAMES */
	PLUMB_ERRNO,   /* positive; 0: success */
	PLUMB_BYTES_2, /* bytes; the lowest of a class that is a power of two */
};

struct plumb_field {
	const char *name; /* in --by and JSON */
	uint32_t bit;     /* in plumb_config.by */
	bool number;      /* aligned to the right; in JSON a number, null if its text is none */
	/* One line of text without control characters; KEY is the tool's key. */
	void (*format)(const void *key, char *text, size_t size);
	/* Returns a new reference; NULL: the number or text of format(), or the member below. */
	json_t *(*json)(const void *key);
	/* If format is NULL, or only for text: a member of the key. */
	enum plumb_member member;
	size_t at, size;
	const char *const *names;
	size_t n_names;
};

/* A field that is the MEMBER of the key's STRUCT_, by its kind; NAMES is an array. */
#define PLUMB_FIELD(name_, bit_, kind, struct_, member_)                                           \
	.name = (name_), .bit = (bit_), .member = (kind),                                          \
	.number = (kind) <= PLUMB_SIGNED || (kind) == PLUMB_BYTES_2,                               \
	.at = offsetof(struct struct_, member_), .size = sizeof(((struct struct_ *)0)->member_)
#define PLUMB_NAMED_FIELD(name_, bit_, kind, struct_, member_, names_)                             \
	PLUMB_FIELD(name_, bit_, kind, struct_, member_),                                          \
		.names = (names_), .n_names = sizeof(names_) / sizeof((names_)[0])

/* As the members format and json; returns TEXT. */
const char *plumb_field_format(const struct plumb_field *f, const void *key, char *text,
			       size_t size);
json_t *plumb_field_json(const struct plumb_field *f, const void *key);

extern const struct plumb_field plumb_common_fields[];
extern const size_t plumb_n_common_fields;

/* The field that --by or a column calls NAME, or NULL. */
const struct plumb_field *plumb_field_find(const struct plumb_tool *tool, const char *name);

/* Field I of the tool, the common ones first, then those of parts; NULL after the last. */
const struct plumb_field *plumb_field_at(const struct plumb_tool *tool, size_t i);
