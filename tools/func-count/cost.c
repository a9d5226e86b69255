/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cost.h"

#include <plumb/core/text.h>

struct cost costs[MECHANISMS] = {
	[FENTRY_MULTI] = {"fentry.multi", NULL, NULL, PLUMB_TARGET_FUNCTION, 0, PUBLISHED, 0},
	[FENTRY] = {"fentry", "%fentry", "fentry", PLUMB_TARGET_FUNCTION, 5.9, PUBLISHED, 0},
	[KPROBE_MULTI] = {"kprobe.multi", "%kmulti", "kprobe.multi", PLUMB_TARGET_FUNCTION, 15.8,
			  PUBLISHED, 0},
	[KPROBE] = {"kprobe", "%kprobe", "kprobe", PLUMB_TARGET_FUNCTION, 16.7, PUBLISHED, 0},
	[RAW_TRACEPOINT] = {"raw_tracepoint", "%rawtp", "raw_tp", PLUMB_TARGET_TRACEPOINT, 5.1,
			    PUBLISHED, 0},
	[TRACEPOINT] = {"tracepoint", "%tp", "tracepoint", PLUMB_TARGET_TRACEPOINT, 11.8, PUBLISHED,
			0},
	[UPROBE_MULTI] = {"uprobe.multi", NULL, "uprobe.multi", PLUMB_TARGET_USER, 0, PUBLISHED, 0},
	[UPROBE] = {"uprobe", "%uprobe", "uprobe", PLUMB_TARGET_USER, 318, PUBLISHED, 0},
};

static char kept_on[16]; /* date of probe-cost's measurement */

const struct cost *cost_extreme(enum plumb_target_kind kind, bool dearest)
{
	const struct cost *found = NULL;

	for (const struct cost *c = costs; c < costs + MECHANISMS; c++)
		if (c->kind == kind && c->ns > 0 &&
		    (!found || (dearest ? c->ns > found->ns : c->ns < found->ns)))
			found = c;
	return found;
}

const char *cost_verdict(double rate, double percent)
{
	if (rate > 100000 || percent > 5)
		return "filter";
	return rate < 10000 && percent < 1 ? "go" : "mind";
}

/* Take NS from SOURCE: a mechanism without a cost is unavailable if another of its kind has one. */
static void take(const double ns[MECHANISMS], enum cost_source source)
{
	bool any[PLUMB_TARGET_KINDS] = {};

	for (int m = 0; m < MECHANISMS; m++)
		any[costs[m].kind] |= ns[m] > 0;
	for (int m = 0; m < MECHANISMS; m++) {
		if (!any[costs[m].kind] || costs[m].source == KEPT)
			continue;
		costs[m].ns = ns[m] > 0 ? ns[m] : 0;
		if (ns[m] > 0)
			costs[m].source = source;
	}
}

void cost_kept(const double ns[MECHANISMS], const char *date)
{
	take(ns, KEPT);
	snprintf(kept_on, sizeof(kept_on), "%s", date);
}

void cost_measured(const double ns[MECHANISMS])
{
	take(ns, MEASURED);
}

void cost_measured_stepped(const double ns[MECHANISMS])
{
	for (int m = 0; m < MECHANISMS; m++)
		costs[m].stepped_ns = ns[m] > 0 ? ns[m] : 0;
}

const char *cost_how(const struct cost *cost)
{
	static const char *const names[] = {"published", "measured", "probe-cost"};

	return names[cost->source];
}

static bool is_of(const struct cost *c, enum plumb_target_kind kind, enum cost_source source)
{
	return c->kind == kind && c->ns > 0 && c->source == source;
}

static bool has(enum plumb_target_kind kind, enum cost_source source)
{
	for (const struct cost *c = costs; c < costs + MECHANISMS; c++)
		if (is_of(c, kind, source))
			return true;
	return false;
}

static void print_kind(enum plumb_target_kind kind, enum cost_source source, FILE *out)
{
	const char *before = "  ";
	char text[32];

	for (const struct cost *c = costs; c < costs + MECHANISMS; c++) {
		if (!is_of(c, kind, source))
			continue;
		fprintf(out, "%s%s %s", before, c->name,
			plumb_format_time(c->ns + 0.5, PLUMB_AUTO, text, sizeof(text)));
		before = ", ";
	}
	fputc('\n', out);
}

static void print_source(enum cost_source source, FILE *out)
{
	switch (source) {
	case KEPT:
		fprintf(out, "cost of a fire, measured by probe-cost on %s:\n", kept_on);
		break;
	case MEASURED:
		fputs("cost of a fire, measured here:\n", out);
		break;
	default:
		fputs("cost of a fire, published (" COST_PUBLISHED "):\n", out);
	}
}

static void print_all(const bool there_is[PLUMB_TARGET_KINDS], enum cost_source source, FILE *out)
{
	bool any = false;

	for (int kind = 0; kind < PLUMB_TARGET_KINDS; kind++) {
		if (!there_is[kind] || !has(kind, source))
			continue;
		if (!any)
			print_source(source, out);
		any = true;
		print_kind(kind, source, out);
	}
}

static void print_stepped(FILE *out)
{
	const char *before = "  where the kernel single-steps: ";
	char text[32];

	for (const struct cost *c = costs; c < costs + MECHANISMS; c++) {
		if (c->stepped_ns <= 0)
			continue;
		fprintf(out, "%s%s %s", before, c->name,
			plumb_format_time(c->stepped_ns + 0.5, PLUMB_AUTO, text, sizeof(text)));
		before = ", ";
	}
	if (*before == ',')
		fputc('\n', out);
}

void cost_print(const bool there_is[PLUMB_TARGET_KINDS], FILE *out)
{
	print_all(there_is, KEPT, out);
	print_all(there_is, MEASURED, out);
	print_all(there_is, PUBLISHED, out);
	print_stepped(out);
	fputs("verdict: go: below 10,000/s; mind: mind the cost; filter: above 100,000/s,\n"
	      "  choose a cheaper hook or filter first",
	      out);
	fputs(there_is[PLUMB_TARGET_USER]
		      ? ";\n  user functions: also below 1 % and above 5 % of a CPU\n"
		      : "\n",
	      out);
}
