/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* compare: one thing of a snapshot with what another has of the same name. */
#ifndef COMPARE_H
#define COMPARE_H

#include "snapshot.h"

struct comparison {
	snapshot_difference *tell;
	void *context;
	const struct kernel *kernel; /* NULL: not at hand */
	const char *prefix, *name;   /* of what is compared */
};

void compare_tell(const struct comparison *c, enum difference_class class, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Lists of arguments, as declared; with their types alone, or NULL where that is the same. */
void compare_arguments(const struct comparison *c, const json_t *was, const json_t *was_types,
		       const json_t *is, const json_t *is_types);
/* Lists of fields. */
void compare_fields(const struct comparison *c, const json_t *was, const json_t *is);

/* Are these types the same to a program, but for const and volatile? */
bool compare_types_agree(const char *was, const char *is);

#endif
