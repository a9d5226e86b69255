/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recorder.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/run.h>
#include <plumb/recorder/in-order.h>
#include <plumb/recorder/kept.h>

#include "dump.h"
#include "triggers.h"

#define MAX_BYTES (256ULL << 20)
#define MEDIAN_OF 60 /* intervals, where records are kept */

static struct {
	bool on;
	struct plumb_in_order *records; /* NULL: intervals are kept */
	struct plumb_kept kept;
	bool asked; /* by SIGUSR1 */
	int status; /* of dumps: 0, or the first error */
	uint64_t dumps;
} recorder;

static void check(const struct plumb_options *o, const struct plumb_tool *tool)
{
	sigset_t requests;

	if (!o->keep.on)
		return;
	recorder.on = true;
	/* A request before the trace begins stays pending until then, and does not kill the tool.
	 */
	sigemptyset(&requests);
	sigaddset(&requests, SIGUSR1);
	sigprocmask(SIG_BLOCK, &requests, NULL);
	recorder.records = plumb_in_order_offered();
	if (recorder.records && !o->keep.records)
		plumb_usage_error("--keep: here a number of records, as 1000, or 1000/10s with "
				  "triggers each 10s");
	if (!recorder.records && !o->keep.time)
		plumb_usage_error(
			"--keep: a time with its unit, as 10m, or 10m/10s in intervals of "
			"10s: %llu",
			(unsigned long long)o->keep.records);
	triggers_parse(o, tool);
}

/* The bytes that are kept at most; triggers compare with medians. */
static uint64_t plan(const struct plumb_options *o, const struct plumb_tool *tool)
{
	if (recorder.records)
		return o->keep.records * recorder.records->size +
		       triggers_plan(MEDIAN_OF, o->max_keys + 1);
	return plumb_kept_plan(&recorder.kept, tool, o) +
	       triggers_plan(recorder.kept.most, recorder.kept.slots);
}

/* Says how much memory it will take. */
static int prepare(const struct plumb_options *o, const struct plumb_tool *tool)
{
	uint64_t bytes;
	char size[16];

	if (!recorder.on)
		return 0;
	bytes = plan(o, tool);
	plumb_format_size(bytes, size, sizeof(size));
	if (bytes > MAX_BYTES)
		return plumb_error(
			E2BIG, "--keep: %s bytes of memory, at most 256M: lower %s", size,
			recorder.records ? "N" : "TIME or --max-keys, or raise INTERVAL");
	if (recorder.records)
		plumb_warn("keeps %llu records in %s bytes of memory",
			   (unsigned long long)o->keep.records, size);
	else
		plumb_warn("keeps %zu intervals in at most %s bytes of memory", recorder.kept.most,
			   size);
	return 0;
}

static int open_recorder(struct plumb_run *run)
{
	const struct plumb_options *o = &run->options;
	int err;

	if (!recorder.on)
		return 0;
	err = recorder.records ? plumb_in_order_hold(recorder.records, o->keep.records)
			       : plumb_kept_open(&recorder.kept);
	if (!err)
		err = triggers_open(o);
	if (err)
		return plumb_error(err, "--keep: %s", strerror(-err));
	return o->keep.out ? dump_check(o->keep.out) : 0;
}

static bool is_due(bool asked)
{
	recorder.asked |= recorder.on && asked;
	return recorder.on && (asked || triggers_are_due());
}

/* The member "dump". */
static json_t *describe(void)
{
	const uint64_t n = recorder.records ? recorder.records->seen : recorder.kept.n;
	const uint64_t most = recorder.records ? recorder.records->most : n;
	const uint64_t forgotten =
		recorder.records ? n - (n < most ? n : most) : recorder.kept.forgotten;
	json_t *json = json_object();

	json_object_set_new(json, "number", json_integer(recorder.dumps));
	if (!recorder.asked && triggers_are_due())
		triggers_describe(json);
	else
		json_object_set_new(json, "why", json_string(recorder.asked ? "signal" : "end"));
	json_object_set_new(json, recorder.records ? "records" : "intervals",
			    json_integer(n < most ? n : most));
	json_object_set_new(json, "forgotten", json_integer(forgotten));
	triggers_count(json);
	return json;
}

static int write_all(const struct plumb_report *last, FILE *out)
{
	int err = recorder.records ? plumb_in_order_dump(recorder.records, out)
				   : plumb_kept_print(&recorder.kept, last, out);

	return err ?: plumb_report_json(last, out);
}

/* Dumps, at last the interval in PROGRESS.  -EPIPE: the reader of stdout has gone. */
static int dump(const struct plumb_report *progress)
{
	const struct plumb_options *o = &progress->run->options;
	struct plumb_report last = *progress;
	int err;

	recorder.dumps++;
	last.dump = describe();
	plumb_report_sort(&last);
	err = dump_write(o, &last, write_all);
	json_decref(last.dump);
	if (!recorder.asked && triggers_are_due())
		triggers_rest(progress->snap->clock);
	recorder.asked = false;
	if (err && err != -EPIPE) {
		recorder.status = recorder.status ?: err;
		err = 0;
	}
	return err;
}

static void tell_forgotten(void)
{
	static bool told;

	if (!told && recorder.kept.forgotten)
		plumb_warn("--keep: only %zu of %zu intervals fit, rows have more buckets than "
			   "planned: lower --precision or raise --max-keys",
			   recorder.kept.n, recorder.kept.most);
	told |= recorder.kept.forgotten > 0;
}

static int take(const struct plumb_report *interval)
{
	int err = 0;

	if (!recorder.on)
		return 0;
	triggers_evaluate(interval);
	if (interval->final) {
		triggers_end();
		return dump(interval);
	}
	if (!recorder.records)
		err = plumb_kept_add(&recorder.kept, interval);
	tell_forgotten();
	return err ? plumb_error(err, "--keep: %s", strerror(-err)) : 0;
}

static int close_recorder(void)
{
	if (recorder.on && !recorder.records)
		plumb_kept_free(&recorder.kept);
	triggers_free();
	return recorder.status;
}

const struct plumb_part plumb_recorder_part = {
	.name = "recorder",
	.options = recorder_options,
	.complete = recorder_complete,
	.check = check,
	.prepare = prepare,
	.open = open_recorder,
	.interval = take,
	.is_due = is_due,
	.progress = dump,
	.close = close_recorder,
};
