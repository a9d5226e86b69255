/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* refusals: the hooks that the running kernel refuses, found by trying each (hooks.h). */
#ifndef REFUSALS_H
#define REFUSALS_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/targets.h"

struct refusal {
	const char *mechanism; /* name as in --mechanism and in *.targets */
	unsigned int kinds;    /* of targets whose verdicts name it, 1 << kind each */
	char why[160];
};

struct refusals {
	struct refusal list[8];
	size_t n;
	bool tried;
};

/* Try the hooks for targets of these kinds; with ALL also those that only tools' mechanisms use. */
void refusals_find(struct refusals *r, unsigned int kinds, bool all);

/* Return whether all hooks for targets of this kind are refused. */
bool refusals_have_all(const struct refusals *r, enum target_kind kind);

/* Return whether the mechanism, a name of LENGTH bytes, is refused. */
bool refusals_have(const struct refusals *r, const char *mechanism, size_t length);

#endif
