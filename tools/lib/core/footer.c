/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report's last lines: mechanism, precision, cost, and ledger. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <plumb/bpf/stack/stacks.h>
#include <plumb/core/attaching.h>
#include <plumb/core/inflight.h>
#include <plumb/core/log.h>
#include <plumb/core/part.h>
#include <plumb/core/report.h>
#include <plumb/core/stacking.h>
#include <plumb/core/text.h>
#include <plumb/core/verdict.h>
#include <plumb/kernel/thread.h>

/* How it was measured, and how well: what -v tells at length (part.h, footer). */
static void print_summary(const struct plumb_report *r, FILE *out)
{
	const struct plumb_verdict v = plumb_ledger_judge(r->total);
	const struct plumb_run *run = r->run;
	const struct plumb_overhead *o = &run->overhead;
	char text[320];
	size_t n;

	n = snprintf(text, sizeof(text), "measured by %s", run->instance.mechanism->name);
	if (v.lost)
		n += snprintf(text + n, sizeof(text) - n, "; a sample: %llu of %s%llu calls",
			      (unsigned long long)v.recorded, v.both_lost ? "up to " : "",
			      (unsigned long long)(v.recorded + v.lost));
	if (plumb_has_histogram(run->tool->measure.kind))
		n += snprintf(text + n, sizeof(text) - n, "; percentiles at most %.2g %% high",
			      100.0 / (1 << run->options.precision));
	if (o->known && plumb_cost_is_vague(o))
		n += snprintf(text + n, sizeof(text) - n, "; cost not measured (disturbed)");
	else if (o->known)
		n += snprintf(text + n, sizeof(text) - n, "; cost at most %.0f ns of %s",
			      ceil(o->filtered_known ? o->traced.high : o->traced.median),
			      run->tool->overhead.traced ?: "a traced call");
	else
		n += snprintf(text + n, sizeof(text) - n, "; cost not measured");
	snprintf(text + n, sizeof(text) - n, "%s", plumb_verbosity ? "" : " (-v: more)");
	plumb_print_wrapped(text, out);
}

/* Without --mechanism the tool chooses a mechanism that records every call. */
static const char *missed_of(const struct plumb_run *run)
{
	return run->options.mechanism ? "executions were missed (without --mechanism the tool "
					"chooses one that is exact)"
				      : "executions were missed";
}

/* By default, tools of stacks have as many rows as stacks. */
static const char *pooled_of(const struct plumb_run *run)
{
	return run->options.by & PLUMB_BY_STACK && !run->options.max_keys_given &&
			       plumb_option_is_among(run->tool->options.list, "max-stacks")
		       ? "pooled under [other]: raise --max-stacks"
		       : "pooled under [other]: raise --max-keys";
}

static void print_counter(uint64_t n, const char *text, const char *more, FILE *out)
{
	if (n && *text)
		fprintf(out, "  %llu %s%s\n", (unsigned long long)n, text, more);
}

/* The counters that the programs keep, LOST calls or others. */
static void print_counters(const struct plumb_report *r, bool lost, FILE *out)
{
	const struct plumb_ledger *l = &r->total->ledger;
	const char *raise = plumb_option_is_among(r->run->tool->options.list, "max-stacks")
				    ? ": raise --max-stacks"
				    : "";

#define NONE(name)
#define PRINT(name, is_lost, text, ...)                                                            \
	if ((is_lost) == lost)                                                                     \
		print_counter(l->name, text, &l->name == &l->stacks_lost ? raise : "", out);
	PLUMB_LEDGER_COUNTERS(NONE, PRINT)
#undef NONE
#undef PRINT
}

/* The sums, and in the same line what each trace has: calls that it did not see whole. */
static void print_sums(const struct plumb_report *r, const struct plumb_verdict *v, FILE *out)
{
	const struct plumb_ledger *l = &r->total->ledger;
	const bool pairs = r->run->tool->measure.pairs;
	/* The entry of a call without a state is counted in no_state, its exit in unmatched. */
	const uint64_t stateless = l->unmatched < l->no_state ? l->unmatched : l->no_state;
	const struct {
		const char *name;
		uint64_t n;
	} not_whole[] = {
		{pairs ? "unmatched (DONE without START)"
		       : "unmatched (they began before the trace)",
		 l->unmatched - stateless - v->entry_lost},
		{"in flight at the end", v->in_flight},
		{pairs ? "abandoned (START again, or the thread's end, without DONE)"
		       : "abandoned (ended without a return)",
		 v->abandoned},
	};
	char text[384];
	size_t n;

	n = snprintf(text, sizeof(text), "ledger: %llu recorded, ",
		     (unsigned long long)v->recorded);
	if (v->at_least < v->lost)
		n += snprintf(text + n, sizeof(text) - n, "%llu to ",
			      (unsigned long long)v->at_least);
	n += snprintf(text + n, sizeof(text) - n, "%llu lost%s", (unsigned long long)v->lost,
		      r->total->missed_known ? "" : ", misses unknown on this kernel");
	for (size_t i = 0; i < sizeof(not_whole) / sizeof(not_whole[0]); i++)
		if (not_whole[i].n)
			n += snprintf(text + n, sizeof(text) - n, "; %llu %s",
				      (unsigned long long)not_whole[i].n, not_whole[i].name);
	plumb_print_wrapped(text, out);
}

/* Prints the sums, and each further counter that is not zero. */
static void print_ledger(const struct plumb_report *r, FILE *out)
{
	struct plumb_verdict v = plumb_ledger_judge(r->total);
	const struct {
		const char *name;
		uint64_t n; /* calls, but for stacks */
	} more[] = {
		{pooled_of(r->run), v.pooled},
		{"saturated (73 minutes or longer)", v.saturated},
		{"lost: their exit was missed", v.exit_lost_observed},
		{"lost, at most: their entry was missed", v.entry_lost},
		{"lost, at most: their exit was missed", v.exit_lost - v.exit_lost_observed},
		{"lost, at most: their entry and exit were missed", v.both_lost},
		{missed_of(r->run), r->total->missed},
	};

	print_sums(r, &v, out);
	if (r->run->rings > 0)
		fprintf(out, "  not seen: requests of io_uring: traced processes have %lld rings\n",
			(long long)r->run->rings);
	if (r->total->cpus_changed)
		fputs("  events of CPUs that went online or offline are missing, for up to a\n"
		      "  second after one came\n",
		      out);
	print_counters(r, false, out);
	print_counters(r, true, out);
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		print_counter(more[i].n, more[i].name, "", out);
}

/* How many calls had not ended at the end of the run, at least the LEDGER's number. */
static void print_in_flight(const struct plumb_report *r, uint64_t ledger, FILE *out)
{
	const struct plumb_in_flight *in_flight = plumb_parts_in_flight(r->run->tool);
	const uint64_t found = in_flight ? r->flights->n + r->flights->unlisted : 0;

	if (!found && !ledger)
		return;
	fprintf(out, "; %llu had not ended", (unsigned long long)(found > ledger ? found : ledger));
	if (in_flight)
		in_flight->print_oldest(r, out);
}

void plumb_report_ledger(const struct plumb_report *r, FILE *out)
{
	const struct plumb_verdict v = plumb_ledger_judge(r->total);
	const char *counted = r->run->tool->measure.counted ?: "calls";

	if (v.lost)
		fprintf(out, "a sample: %llu of %s%llu %s, ", (unsigned long long)v.recorded,
			v.both_lost || v.at_least < v.lost ? "up to " : "",
			(unsigned long long)(v.recorded + v.lost), counted);
	else
		fprintf(out, "%llu %s, ", (unsigned long long)v.recorded, counted);
	if (v.at_least < v.lost)
		fprintf(out, "%llu to ", (unsigned long long)v.at_least);
	fprintf(out, "%llu lost%s", (unsigned long long)v.lost,
		r->total->missed_known ? "" : ", misses unknown on this kernel");
	if (plumb_pids_are_foreign())
		fputs(", pids of the host's pid namespace", out);
	print_in_flight(r, v.in_flight, out);
}

/* Of the cgroups of -g those that did not stay. */
static void print_watched(const struct plumb_run *run, FILE *out)
{
	const struct plumb_options *o = &run->options;
	char text[4096 + 128], path[4096];

	for (uint32_t i = 0; i < o->n_cgroups; i++) {
		const struct plumb_watched *w = &run->watched[i];
		const char *end = w->exists ? "" : w->made_again ? ", and removed" : " was removed";
		const char *missed =
			w->polled ? "; looked for each second only: calls may have been missed"
				  : "";

		if (w->exists && !w->made_again)
			continue;
		plumb_escape(path, o->cgroups[i], sizeof(path));
		if (w->made_again)
			snprintf(text, sizeof(text),
				 "cgroup: %s was removed and made again %u %s%s%s", path,
				 w->made_again, w->made_again == 1 ? "time" : "times", end, missed);
		else
			snprintf(text, sizeof(text), "cgroup: %s%s%s", path, end, missed);
		plumb_print_wrapped(text, out);
	}
}

static void print_modules(const struct plumb_attaching *attaching, FILE *out)
{
	const char *name;

	for (size_t i = 0; attaching && (name = attaching->gone(i)); i++)
		fprintf(out, "module: %s was unloaded: its functions are not traced any more\n",
			name);
}

void plumb_report_footer(const struct plumb_report *r, FILE *out)
{
	const struct plumb_tool *tool = r->run->tool;
	const bool is_sample = plumb_ledger_judge(r->total).lost && plumb_has_colours(out);

	fputc('\n', out);
	/* The figures above are of a sample. */
	fputs(is_sample ? "\033[33m" : "", out);
	print_summary(r, out);
	fputs(is_sample ? "\033[0m" : "", out);
	plumb_parts_footer(r, out);
	print_ledger(r, out);
	if (plumb_pids_are_foreign())
		fputs("pids: those of the host's pid namespace, not of this one\n", out);
	else if (plumb_pid_namespace())
		fputs("pids: those of this pid namespace; 0: of a process outside\n", out);
	print_watched(r->run, out);
	print_modules(r->run->tool->mechanisms.attaching, out);
	if (tool->files)
		tool->files->footer(out);
	if (tool->view.footer)
		tool->view.footer(out);
	if (tool->stacking && tool->stacking->footer)
		tool->stacking->footer(out);
}
