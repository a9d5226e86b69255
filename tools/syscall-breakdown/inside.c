/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/cli.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/percentile.h>
#include <plumb/core/report.h>
#include <plumb/core/run.h>
#include <plumb/core/verdict.h>
#include <plumb/functions/functions.h>
#include <plumb/recorder/slots.h>
#include <plumb/syscalls/syscalls.h>

#include "breakdown-inside-session-610.skel.h"
#include "breakdown-inside-session-700.skel.h"
#include "breakdown-inside.skel.h"

#define BY_FUNCTION PLUMB_BY_TOOL

/* The functions of the system calls, followed by those of -f (globs). */
static const char *patterns[PLUMB_MAX_LIST], *globs[PLUMB_MAX_LIST];
static char call_names[PLUMB_MAX_LIST][64];
static size_t n_globs;
static int n_calls;
static struct plumb_functions functions;
static struct plumb_tool *tool;
static const struct syscall_config *selection;
static bool may_hint;

void inside_add(const char *glob)
{
	if (n_globs == PLUMB_MAX_LIST)
		plumb_usage_error("--function: at most %d functions or globs", PLUMB_MAX_LIST);
	globs[n_globs++] = strdup(glob);
}

bool inside_is_asked(void)
{
	return n_globs;
}

void inside_hint(int status)
{
	if (status == PLUMB_EXIT_UNSUPPORTED && may_hint)
		plumb_warn("without -f it samples, which may work");
}

static void configure(struct plumb_bpf *bpf, struct breakdown_inside *config, bool calibration)
{
	bpf->function->nested = 1;
	config->n_calls = calibration ? 1 : n_calls;
}

PLUMB_FUNCTION_OPENS(breakdown_inside, breakdown_inside, configure)

static const struct plumb_mechanism for_many[] = {
	PLUMB_FUNCTION_MECHANISMS_MANY,
};
static const struct plumb_mechanism for_few[] = {
	PLUMB_FUNCTION_MECHANISMS,
};

/* Fill in the key of each function's slot, since the programs look up no keys. */
static int fill(struct bpf_object *object)
{
	struct breakdown_function_key key = {};
	int err = 0;

	for (; key.function < functions.n && !err; key.function++)
		err = plumb_slot_fill(object, key.function, &key);
	return err;
}

static uint32_t number_of(const struct plumb_row *row)
{
	return ((const struct breakdown_function_key *)row->key)->function;
}

static bool is_call(const struct plumb_row *row)
{
	return number_of(row) < (uint32_t)n_calls;
}

static int64_t own_time(const struct plumb_row *row)
{
	return row->counters[0];
}

static void format_function(const void *key, char *text, size_t size)
{
	const struct breakdown_function_key *k = key;

	plumb_probe_name(&functions, k->function, text, size);
}

static const struct plumb_field field = {"func", BY_FUNCTION, .format = format_function};

static int largest_own_first(const void *a, const void *b)
{
	const struct plumb_row *x = a, *y = b;

	return (own_time(x) < own_time(y)) - (own_time(x) > own_time(y));
}

/* Return the ns of all system calls; COUNT: their number. */
static uint64_t sum_calls(const struct plumb_snapshot *snap, uint64_t *count)
{
	uint64_t ns = 0;

	*count = 0;
	for (size_t i = 0; i < snap->n; i++) {
		if (!is_call(&snap->rows[i]))
			continue;
		*count += snap->rows[i].count;
		ns += snap->rows[i].sum;
	}
	return ns;
}

static double percent(double part, uint64_t whole)
{
	return whole ? 100 * part / whole : 0;
}

static void print_row(const struct plumb_row *row, uint64_t whole, FILE *out)
{
	const int64_t own = own_time(row);
	char times[4][32], name[128];

	fprintf(out, "%9llu %8s %5.1f%% %s%7s %5.1f%% %8s %8s  %s%s\n",
		(unsigned long long)row->count,
		plumb_format_time(row->counters[1], PLUMB_AUTO, times[0], sizeof(times[0])),
		percent(row->counters[1], whole), own < 0 ? "-" : " ",
		plumb_format_time(llabs(own), PLUMB_AUTO, times[1], sizeof(times[1])),
		percent(own, whole),
		plumb_format_time(plumb_percentile(&row->dist, 50 * PLUMB_PERCENT), PLUMB_AUTO,
				  times[2], sizeof(times[2])),
		plumb_format_time(plumb_percentile(&row->dist, 99 * PLUMB_PERCENT), PLUMB_AUTO,
				  times[3], sizeof(times[3])),
		plumb_probe_name(&functions, number_of(row), name, sizeof(name)),
		is_call(row) ? " (left over)" : "");
}

static void print(const struct plumb_report *r, FILE *out)
{
	uint64_t calls, whole = sum_calls(r->snap, &calls);
	char all[32];

	qsort(r->snap->rows, r->snap->n, sizeof(*r->snap->rows), largest_own_first);
	fprintf(out, "%llu calls, %s in all\n", (unsigned long long)calls,
		plumb_format_time(whole, PLUMB_AUTO, all, sizeof(all)));
	fprintf(out, "%9s %8s %6s %8s %6s %8s %8s  %s\n", "CALLS", "TOTAL", "", "OWN", "", "P50",
		"P99", "FUNCTION");
	for (size_t i = 0; i < r->snap->n; i++)
		print_row(&r->snap->rows[i], whole, out);
}

static void row_json(json_t *json, const struct plumb_report *r, const struct plumb_row *row)
{
	json_object_set_new(json, "total", plumb_json_u64(row->counters[1]));
	json_object_set_new(json, "own", json_integer(own_time(row)));
	json_object_set_new(json, "left_over", json_boolean(is_call(row)));
}

static void report_json(json_t *json, const struct plumb_report *r)
{
	uint64_t calls, whole = sum_calls(r->snap, &calls);

	json_object_set_new(json, "calls", plumb_json_u64(calls));
	json_object_set_new(json, "ns", plumb_json_u64(whole));
}

/* Return whether FUNCTION recorded nothing.  Once TOTAL is reported, it has no empty rows. */
static bool is_silent(const struct plumb_snapshot *total, uint32_t function)
{
	for (size_t i = 0; i < total->n; i++)
		if (number_of(&total->rows[i]) == function)
			return !total->rows[i].count && !own_time(&total->rows[i]);
	return true;
}

/* Warn of probes that attached but recorded no call. */
static void finish(const struct plumb_run *run, const struct plumb_snapshot *total,
		   uint64_t elapsed)
{
	char name[128];

	may_hint = false;
	plumb_timed_functions_warn_refused(&run->instance.probes, functions.n);
	for (size_t i = n_calls; i < functions.n && functions.n <= PLUMB_FEW; i++)
		if (is_silent(total, i))
			plumb_warn("%s: 0 calls ended in %.3g s inside these system calls%s",
				   plumb_probe_name(&functions, i, name, sizeof(name)),
				   elapsed / 1e9,
				   plumb_ledger_is_whole(total)
					   ? ": it may be inlined into its callers"
					   : "");
}

/* The functions of the system calls come first; each name must be of exactly one function. */
static int find_functions(const char *btf)
{
	uint32_t nrs[PLUMB_MAX_LIST];
	char name[128];
	int err;

	n_calls = plumb_syscall_selected(selection, nrs, PLUMB_MAX_LIST - n_globs);
	if (n_calls < 0)
		plumb_usage_error("-f: -s takes at most %zu native calls here",
				  PLUMB_MAX_LIST - n_globs);
	for (int i = 0; i < n_calls; i++) {
		plumb_syscall_function(nrs[i], call_names[i], sizeof(call_names[i]));
		patterns[i] = call_names[i];
	}
	memcpy(patterns + n_calls, globs, n_globs * sizeof(*globs));
	err = plumb_timed_functions_find(patterns, n_calls + n_globs, btf, &functions);
	for (int i = 0; i < n_calls && !err; i++)
		if ((size_t)i >= functions.n ||
		    strcmp(plumb_probe_name(&functions, i, name, sizeof(name)), call_names[i]))
			err = plumb_error(ENOENT, "%s is not one function here", call_names[i]);
	return err;
}

static int prepare(struct plumb_options *o)
{
	int err = find_functions(o->btf);

	if (err)
		return err;
	may_hint = !o->mechanism;
	o->max_keys = functions.n;
	if (functions.n <= PLUMB_FEW && !o->mechanism) {
		tool->mechanisms.list = for_few;
		tool->mechanisms.n = sizeof(for_few) / sizeof(for_few[0]);
	}
	return 0;
}

static const struct plumb_keys keys = {
	.fields = &field,
	.n_fields = 1,
	.size = sizeof(struct breakdown_function_key),
	.default_by = BY_FUNCTION,
	.fewer = "choose fewer functions",
};

static const struct plumb_view view = {
	.rows = print,
	.row_json = row_json,
	.report_json = report_json,
	.json_of_rows = true,
};

void inside_become(struct plumb_tool *its, const struct syscall_config *calls)
{
	tool = its;
	selection = calls;
	tool->options.syscalls = NULL;
	tool->keys = keys;
	tool->measure = (struct plumb_measure){.kind = PLUMB_TIMES};
	tool->view = view;
	tool->stacking = NULL;
	tool->overhead = (struct plumb_tool_overhead){};
	tool->mechanisms = (struct plumb_mechanisms){
		for_many, sizeof(for_many) / sizeof(for_many[0]), &functions, &plumb_attaching};
	tool->lifecycle =
		(struct plumb_lifecycle){.prepare = prepare, .fill = fill, .finish = finish};
}
