/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* refusals: the kinds of hooks that the running kernel refuses, found by trying (hooks.h). */
#ifndef REFUSALS_H
#define REFUSALS_H

#include <stdbool.h>
#include <stddef.h>

#include "targets.h"

struct refusal {
	const char *mechanism; /* as --mechanism and our tools' lists have it */
	unsigned int kinds;    /* targets that it is told of, 1 << kind each */
	char why[160];
};

struct refusals {
	struct refusal list[8];
	size_t n;
	bool tried;
};

/* Those that targets of these kinds take; ALL: and those that only tools' mechanisms do. */
void refusals_find(struct refusals *r, unsigned int kinds, bool all);

/* Is the mechanism of this name, so long, among them? */
bool refusals_have(const struct refusals *r, const char *mechanism, size_t length);

#endif
