/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* compare: compare one item (function, prototype, record, format) of two snapshots. */
#pragma once

#include "compare/snapshot.h"

struct comparison {
	snapshot_difference *tell;
	void *context;
	const struct kernel *kernel; /* of the second snapshot; NULL: not available */
	const char *prefix, *name;   /* of the item */
};

void compare_tell(const struct comparison *c, enum difference_class class, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Compare lists of arguments, as declared.  *_TYPES have their types alone; if NULL, the
 * declarations are compared instead.
 */
void compare_arguments(const struct comparison *c, const json_t *was, const json_t *was_types,
		       const json_t *is, const json_t *is_types);
/* Compare lists of fields. */
void compare_fields(const struct comparison *c, const json_t *was, const json_t *is);

/* Return whether the types are equal, apart from const and volatile. */
bool compare_types_agree(const char *was, const char *is);
