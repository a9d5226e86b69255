/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cost.h"

#include <plumb/text.h>

struct cost costs[MECHANISMS] = {
	[FENTRY_MULTI] = {"fentry.multi", NULL, TARGET_FUNCTION, 0, false},
	[FENTRY] = {"fentry", "%fentry", TARGET_FUNCTION, 5.9, false},
	[KPROBE_MULTI] = {"kprobe.multi", "%kmulti", TARGET_FUNCTION, 15.8, false},
	[KPROBE] = {"kprobe", "%kprobe", TARGET_FUNCTION, 16.7, false},
	[RAW_TRACEPOINT] = {"raw_tracepoint", "%rawtp", TARGET_TRACEPOINT, 5.1, false},
	[TRACEPOINT] = {"tracepoint", "%tp", TARGET_TRACEPOINT, 11.8, false},
	[UPROBE_MULTI] = {"uprobe.multi", NULL, TARGET_USER, 0, false},
	[UPROBE] = {"uprobe", "%uprobe", TARGET_USER, 318, false},
};

const struct cost *cost_extreme(enum target_kind kind, bool dearest)
{
	const struct cost *found = NULL;

	for (const struct cost *c = costs; c < costs + MECHANISMS; c++)
		if (c->kind == kind && c->ns > 0 &&
		    (!found || (dearest ? c->ns > found->ns : c->ns < found->ns)))
			found = c;
	return found;
}

double cost_percent(const struct cost *cost, double rate)
{
	return rate * cost->ns / 1e9 * 100;
}

const char *cost_format(double percent, char *text, size_t size)
{
	if (percent > 0 && percent < 0.005)
		snprintf(text, size, "<0.01");
	else
		snprintf(text, size, "%.*f",
			 percent < 9.995   ? 2
			 : percent < 99.95 ? 1
					   : 0,
			 percent);
	return text;
}

const char *cost_verdict(double rate)
{
	return rate < 10000 ? "go" : rate <= 100000 ? "mind" : "filter";
}

void cost_measured(const double ns[MECHANISMS])
{
	bool any[TARGET_KINDS] = {};

	for (int m = 0; m < MECHANISMS; m++)
		any[costs[m].kind] |= ns[m] > 0;
	for (int m = 0; m < MECHANISMS; m++) {
		if (!any[costs[m].kind])
			continue;
		costs[m].ns = ns[m] > 0 ? ns[m] : 0;
		costs[m].measured = ns[m] > 0;
	}
}

static void print_kind(enum target_kind kind, FILE *out)
{
	const char *before = "  ";
	char text[32];

	for (const struct cost *c = costs; c < costs + MECHANISMS; c++) {
		if (c->kind != kind || c->ns <= 0)
			continue;
		fprintf(out, "%s%s %s", before, c->name,
			plumb_format_time(c->ns + 0.5, PLUMB_AUTO, text, sizeof(text)));
		before = ", ";
	}
	fputc('\n', out);
}

static void print_all(const bool there_is[TARGET_KINDS], bool measured, FILE *out)
{
	bool any = false;

	for (int kind = 0; kind < TARGET_KINDS; kind++) {
		if (!there_is[kind] || cost_extreme(kind, false)->measured != measured)
			continue;
		if (!any)
			fprintf(out, "cost of a fire, %s:\n",
				measured ? "measured here" : "published (" COST_PUBLISHED ")");
		any = true;
		print_kind(kind, out);
	}
}

void cost_print(const bool there_is[TARGET_KINDS], FILE *out)
{
	print_all(there_is, true, out);
	print_all(there_is, false, out);
	fputs("verdict: go: below 10,000/s; mind: mind the cost; filter: above 100,000/s,\n"
	      "  choose a cheaper hook or filter first\n",
	      out);
}
