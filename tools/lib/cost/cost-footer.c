/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cost-footer: what tracing added to a call, in full. */
#include "cost-footer.h"

#include <inttypes.h>
#include <plumb/core/log.h>
#include <plumb/core/report.h>
#include <plumb/core/text.h>

/* Rounds outwards, so that the interval contains what was measured. */
static const char *interval(const struct plumb_interval *of, char *text, size_t size)
{
	long long low = of->low, high = of->high;

	high += of->high > high;
	if (low > 0 && low < high)
		snprintf(text, size, "%lld to %lld ns", low, high);
	else
		snprintf(text, size, "%s%lld ns", low < high ? "at most " : "", high);
	return text;
}

void cost_footer(const struct plumb_report *r, FILE *out)
{
	const struct plumb_overhead *o = &r->run->overhead;
	const char *what = r->run->tool->overhead.traced ?: "a traced call";
	char text[320], traced[64], filtered[64];
	int n = 0;

	if (!plumb_verbosity)
		return;
	if (!o->known)
		snprintf(text, sizeof(text), "cost: not measured (%s)", o->how);
	else if (!o->filtered_known)
		snprintf(text, sizeof(text),
			 "cost: %.0f ns in the programs of %s (%s: a mean, which includes time "
			 "preempted)",
			 o->traced.median, what, o->how);
	else
		n = snprintf(text, sizeof(text), "cost: %s added to %s, %s to a rejected one (%s)",
			     interval(&o->traced, traced, sizeof(traced)), what,
			     interval(&o->filtered, filtered, sizeof(filtered)), o->how);
	if (n && o->empty && o->empty_stepped)
		snprintf(text + n, sizeof(text) - n,
			 "; an empty function is measured as %" PRIu64 " ns, with a first "
			 "instruction that is single-stepped as %" PRIu64 " ns",
			 o->empty, o->empty_stepped);
	plumb_print_wrapped(text, out);
}
