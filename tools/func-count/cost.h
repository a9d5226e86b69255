/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cost: the cost of tracing one fire of a target, by mechanism; survey: its columns and footer. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <plumb/targets/trace-targets.h>

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

/* Source of a cost.  KEPT: measured earlier on this host, by probe-cost. */
enum cost_source { PUBLISHED, MEASURED, KEPT, COST_SOURCES };

struct cost {
	const char *name;    /* of the mechanism */
	const char *heading; /* of its column; NULL: it has none */
	const char *kept_as; /* its name in probe-cost's results; NULL: it is not in them */
	enum plumb_target_kind kind;
	double ns; /* per fire; 0: not known, or the mechanism is unavailable */
	enum cost_source source;
	double stepped_ns; /* measured, at a user function where the kernel single-steps */
};

/* Initially the published costs; cost_kept() and cost_measured() replace them. */
extern struct cost costs[MECHANISMS];

/* Source of the published costs. */
#define COST_PUBLISHED "BPF selftests' trigger benchmark, x86, Nov 2025"

/*
 * Take the costs that probe-cost measured on this host on DATE, of a program with one counter.  If
 * it measured any mechanism of a kind of target, the other mechanisms of that kind are unavailable.
 */
void cost_kept(const double ns[MECHANISMS], const char *date);

/*
 * Take costs measured now; NS is at most 0 for mechanisms that could not be measured.  Costs of
 * probe-cost stay.  If any mechanism of a kind was measured, the other mechanisms of that kind are
 * unavailable; if none was, the published costs of that kind stay.
 */
void cost_measured(const double ns[MECHANISMS]);

/* The source as text: "measured", "probe-cost" or "published". */
const char *cost_how(const struct cost *cost);

/* Take the costs of user functions where the kernel single-steps, measured now; 0: not known. */
void cost_measured_stepped(const double ns[MECHANISMS]);

/* The cheapest (or DEAREST) mechanism of KIND, of those with a known cost; NULL: there is none. */
const struct cost *cost_extreme(enum plumb_target_kind kind, bool dearest);

/*
 * The verdict on RATE fires per second that take PERCENT of a CPU (0: not known): "go", "mind" or
 * "filter", which cost_print() explains.
 */
const char *cost_verdict(double rate, double percent);

/* Print the footer of a table: ns by mechanism, for the kinds of target in THERE_IS. */
void cost_print(const bool there_is[PLUMB_TARGET_KINDS], FILE *out);

/* --- columns.c --- */

/* Set the tool's columns; to be called again whenever patterns or costs become known. */
void survey_lay_out_columns(struct plumb_tool *tool);
void survey_add_json(json_t *row_json, const struct plumb_report *r, const struct plumb_row *row);
void survey_print_footer(FILE *out);

/* The mechanism whose cost is C; NULL: this tool has no such mechanism. */
const struct plumb_mechanism *survey_mechanism_of(const struct cost *c);
