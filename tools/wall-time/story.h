/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* story: the account as a sentence, a tree of its largest parts, and the commands that go on. */
#pragma once

#include <stdio.h>

#include "account.h"

/* The time of a cause, without what is idle. */
struct sum {
	enum cause cause;
	int64_t ns;
};

/* All of them, largest first. */
void story_sums(const struct account *a, struct sum sums[CAUSES]);
/* In percent. */
double story_share(int64_t ns, int64_t of);
/* The largest part of a cause; NULL: there is none. */
const struct part *story_largest(const struct account *a, enum cause cause, bool idle);

/* next.c */
void story_print_next(const struct account *a, const struct plumb_options *o, FILE *out);

void story_print(const struct account *a, const struct plumb_options *o, FILE *out);
/* What a part is about, but for its cause: "futex", "orders/7024"; returns TEXT. */
const char *story_detail(const struct account *a, const struct part *p, char *text, size_t size);
