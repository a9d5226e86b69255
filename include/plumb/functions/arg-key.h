/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arg key: the item arg:NAME[>>SHIFT] of --by, for tools that time functions. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/bpf/function/function.h>

struct plumb_arg_key {
	char item[64];        /* as typed; "": there is none */
	char name[64];        /* between "arg:" and ">>" */
	struct plumb_arg arg; /* the tool sets all but the shift */
};

/* Returns whether ITEM is of that form.  Malformed, or another one than before: wrong usage. */
bool plumb_arg_key_parse(struct plumb_arg_key *key, const char *item);

/* A value of the argument: as text, and as JSON (a string if it is a pointer or above 2^63-1). */
void plumb_arg_key_format(const struct plumb_arg_key *key, uint64_t value, char *text, size_t size);
json_t *plumb_arg_key_json(const struct plumb_arg_key *key, uint64_t value);
