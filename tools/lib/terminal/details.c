/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* details: what the footer says with -v, or if it matters: mechanism, precision, cost. */
#include "details.h"

#include <inttypes.h>
#include <plumb/core/log.h>
#include <plumb/core/report.h>
#include <plumb/core/text.h>

static void print_mechanism(const struct plumb_run *run, FILE *out)
{
	const struct plumb_mechanism *mechanism = run->instance.mechanism;
	const char(*hooks)[PLUMB_HOOK_NAME] = run->instance.bpf.hooks;
	char text[(PLUMB_MAX_HOOKS + 1) * (PLUMB_HOOK_NAME + 2)];
	size_t n;

	n = snprintf(text, sizeof(text), "mechanism: %s on", mechanism->name);
	for (size_t i = 0; *hooks[i]; i++)
		n += snprintf(text + n, sizeof(text) - n, "%s %s", i ? "," : "", hooks[i]);
	snprintf(text + n, sizeof(text) - n, " (%s)", mechanism->stability);
	plumb_print_wrapped(text, out);
	for (size_t i = 0; i < run->n_refused; i++) {
		fputs("  ", out);
		snprintf(text, sizeof(text), "%s refused: %s", run->refused[i].name,
			 run->refused[i].why);
		plumb_print_wrapped(text, out);
	}
}

static void print_precision(const struct plumb_report *r, FILE *out)
{
	const struct plumb_run *run = r->run;
	const char *end = !run->no_return   ? ""
			  : *run->no_return ? ", without waits on the way out"
					    : ", without work on the way out";
	char text[256];

	if (!plumb_has_histogram(run->tool->measure.kind))
		return;
	snprintf(text, sizeof(text),
		 "percentiles: never low%s, at most %.2g %% high; ?: too few calls", end,
		 100.0 / (1 << run->options.precision));
	plumb_print_wrapped(text, out);
}

/* Of what the rows hold: whether waits on the way out are worth a line without -v. */
static bool returns_matter(const struct plumb_report *r)
{
	uint64_t recorded = 0;

	if (*r->run->no_return)
		return !r->run->options.no_return;
	for (size_t i = 0; i < r->total->n; i++)
		recorded += r->total->rows[i].sum;
	return r->total->returns.late || r->total->returns.ns > recorded / 100;
}

/* What threads waited for on their way out of their calls. */
static void print_returns(const struct plumb_report *r, FILE *out)
{
	static const char *const causes[] = {
		[PLUMB_RETURN_QUOTA] = "by the CPU quota",
		[PLUMB_RETURN_ASLEEP] = "asleep",
		[PLUMB_RETURN_PREEMPTED] = "preempted",
	};
	const struct plumb_returns *s = &r->total->returns;
	char text[384], all[32], longest[32], of[32];
	int n;

	if (!r->run->no_return || !(plumb_verbosity || returns_matter(r)))
		return;
	if (*r->run->no_return) {
		snprintf(
			text, sizeof(text),
			"on the way out: not seen (%s): what a thread waits for between the end of "
			"its call and user mode is in no time",
			r->run->no_return);
		plumb_print_wrapped(text, out);
		return;
	}
	if (!s->calls)
		return;
	n = snprintf(text, sizeof(text), "on the way out: %llu call%s held, %s in all, longest %s",
		     (unsigned long long)s->calls, s->calls == 1 ? " was" : "s were",
		     plumb_format_time(s->ns, PLUMB_AUTO, all, sizeof(all)),
		     plumb_format_time(s->longest, PLUMB_AUTO, longest, sizeof(longest)));
	for (int i = 0; i < PLUMB_RETURN_CAUSES; i++)
		if (s->by_cause[i])
			n += snprintf(text + n, sizeof(text) - n, "; %s %s",
				      plumb_format_time(s->by_cause[i], PLUMB_AUTO, of, sizeof(of)),
				      causes[i]);
	if (s->late)
		snprintf(text + n, sizeof(text) - n,
			 "; %llu of them, held for %s, were recorded without it",
			 (unsigned long long)s->late,
			 plumb_format_time(s->late_ns, PLUMB_AUTO, of, sizeof(of)));
	plumb_print_wrapped(text, out);
}

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

static void print_cost(const struct plumb_report *r, FILE *out)
{
	const struct plumb_overhead *o = &r->run->overhead;
	const char *what = r->run->tool->overhead.traced ?: "a traced call";
	char text[320], traced[64], filtered[64];
	int n = 0;

	if (!o->known || plumb_cost_is_vague(o))
		snprintf(text, sizeof(text), "cost: not measured (%s)",
			 o->known ? "disturbed" : o->how);
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

void print_details(const struct plumb_report *r, FILE *out)
{
	const struct plumb_measure *m = &r->run->tool->measure;

	if (plumb_verbosity) {
		print_mechanism(r->run, out);
		print_precision(r, out);
		if (r->run->split && m->split_by && plumb_has_histogram(m->kind))
			m->split_by->explain(r->run->tool, out);
	}
	print_returns(r, out);
	if (plumb_verbosity)
		print_cost(r, out);
}
