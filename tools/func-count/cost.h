/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cost: what a target that fires so often would cost, by mechanism. */
#ifndef COST_H
#define COST_H

#include "targets.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum mechanism {
	FENTRY_MULTI,
	FENTRY,
	KPROBE_MULTI,
	KPROBE,
	RAW_TRACEPOINT,
	TRACEPOINT,
	UPROBE_MULTI,
	UPROBE,
	MECHANISMS
};

struct cost {
	const char *name;    /* the rung's */
	const char *heading; /* of its column; NULL: it has none */
	enum target_kind kind;
	double ns; /* of one fire, 0: not known */
	bool measured;
};

/* As they are published; calibration puts its own in place. */
extern struct cost costs[MECHANISMS];

/* Where from. */
#define COST_PUBLISHED "BPF selftests' trigger benchmark, x86, Nov 2025"

/*
 * NS of each as measured here, not above 0 where that cannot be.  Of a kind of
 * which one is measured the others are not here; else what is published stays.
 */
void cost_measured(const double ns[MECHANISMS]);

/* The cheapest, or the dearest, of what is known for a kind of target. */
const struct cost *cost_extreme(enum target_kind kind, bool dearest);

/* How much of one CPU, in percent, RATE fires a second take. */
double cost_percent(const struct cost *cost, double rate);
const char *cost_format(double percent, char *text, size_t size);

/* "go", "mind", "filter", in a word what RATE fires a second mean. */
const char *cost_verdict(double rate);

/* Lines for the end of a table: ns by mechanism, for the kinds that THERE_IS. */
void cost_print(const bool there_is[TARGET_KINDS], FILE *out);

#endif
