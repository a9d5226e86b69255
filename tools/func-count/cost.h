/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cost: what a target that fires so often would cost, by mechanism. */
#ifndef COST_H
#define COST_H

#include <jansson.h>
#include <plumb/attach/targets.h>
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

/* Where a figure is from. */
enum cost_source { PUBLISHED, MEASURED, KEPT, COST_SOURCES };

struct cost {
	const char *name;    /* the mechanism's */
	const char *heading; /* of its column; NULL: it has none */
	const char *kept_as; /* probe-cost's name of it; NULL: it knows of none */
	enum plumb_target_kind kind;
	double ns; /* of one fire, 0: not known */
	enum cost_source source;
};

/* As they are published; what was measured is put in place. */
extern struct cost costs[MECHANISMS];

/* Where from. */
#define COST_PUBLISHED "BPF selftests' trigger benchmark, x86, Nov 2025"

/*
 * What probe-cost has measured on this host, of a program with one counter.  Of a
 * kind of which it measured one the others are not here.
 */
void cost_take_kept(const json_t *kept);

/*
 * NS of each as measured now, not above 0 where that cannot be; those that were kept
 * stay.  Of a kind of which one is measured the others are not here; else what is
 * published stays.
 */
void cost_measured(const double ns[MECHANISMS]);

/* "measured", "probe-cost", "published" */
const char *cost_how(const struct cost *cost);

/* The cheapest, or the dearest, of what is known for a kind of target. */
const struct cost *cost_extreme(enum plumb_target_kind kind, bool dearest);

/* "go", "mind", "filter", in a word what RATE fires a second mean. */
const char *cost_verdict(double rate);

/* Lines for the end of a table: ns by mechanism, for the kinds that THERE_IS. */
void cost_print(const bool there_is[PLUMB_TARGET_KINDS], FILE *out);

#endif
