/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <plumb/core/cgroups.h>
#include <plumb/core/cli.h>
#include <plumb/core/clock.h>
#include <plumb/core/collect.h>
#include <plumb/core/command.h>
#include <plumb/core/cpus.h>
#include <plumb/core/instance.h>
#include <plumb/core/log.h>
#include <plumb/core/part.h>
#include <plumb/core/report.h>

#include "records.h"
#include "waiting.h"

static void look_at_rings(struct plumb_run *run)
{
	const struct plumb_tool_syscalls *syscalls = run->tool->options.syscalls;

	run->rings = syscalls ? syscalls->rings(run) : -1;
}

/* Gives the interval to the parts, and to the report. */
static int take(const struct loop *loop, struct plumb_report *r)
{
	int err = plumb_parts_interval(r);

	if (!err && loop->run->options.interval)
		err = plumb_report_print(r);
	return err;
}

/* Gives the interval in progress to the parts. */
static int dump(const struct loop *loop, struct plumb_report *r)
{
	return plumb_parts_progress(r);
}

/* Calls EACH with the calls since the last interval; NOW is since the start. */
static int with_interval(struct loop *loop, const struct plumb_snapshot *now, bool final,
			 int (*each)(const struct loop *loop, struct plumb_report *r))
{
	struct plumb_snapshot since = {};
	struct plumb_report r = {
		.run = loop->run,
		.snap = &since,
		.total = now,
		.start = loop->last.taken,
		.elapsed = now->clock - loop->last.clock,
		.seq = loop->intervals + 1,
		.final = final,
		.flights = &loop->flights,
	};
	int err = plumb_parts_may_report() ?: plumb_snapshot_since(&since, now, &loop->last);

	look_at_rings(loop->run);
	if (!err)
		err = each(loop, &r);
	plumb_snapshot_free(&since);
	return err;
}

/* Calls EACH with the whole run.  A copy of its rows would need as much memory again. */
static int with_all(struct loop *loop, int (*each)(struct plumb_report *r))
{
	struct plumb_report r = {
		.run = loop->run,
		.snap = &loop->total,
		.total = &loop->total,
		.start = loop->run->counting.time,
		.elapsed = loop->total.clock - loop->run->counting.clock,
		.seq = 1,
		.final = true,
		.flights = &loop->flights,
	};

	look_at_rings(loop->run);
	return each(&r);
}

/* The last one; nobody reads stdout any more if UNREAD. */
static int report_end(struct loop *loop, bool unread)
{
	const struct plumb_options *o = &loop->run->options;
	int err = 0;

	if (o->interval || o->sample)
		err = with_interval(loop, &loop->total, true, take);
	if (!err && !unread && !o->interval && !o->keep.on) {
		plumb_snapshot_prune(&loop->total);
		err = with_all(loop, plumb_report_print);
	}
	return err;
}

static void settle(const struct loop *loop)
{
	if (loop->run->tool->lifecycle.settle)
		loop->run->tool->lifecycle.settle(loop->run);
}

/* Before the maps are read. */
static void refresh(const struct loop *loop)
{
	settle(loop);
	if (loop->in_flight)
		loop->in_flight->settle(&loop->run->instance.bpf);
}

/* Finds the calls in flight while the programs are still attached. */
static void find_flights(struct loop *loop, bool final)
{
	const struct plumb_inflight *inflight = loop->run->tool->inflight;

	refresh(loop);
	if (loop->in_flight)
		loop->in_flight->find(loop->run, &loop->flights, final);
	if (loop->in_flight && inflight->sleeps)
		loop->in_flight->read(loop->run, &loop->flights, UINT64_MAX, plumb_now(), final);
}

static void read_flights(struct loop *loop, const struct plumb_snapshot *now, uint64_t at,
			 bool final)
{
	const struct plumb_inflight *inflight = loop->run->tool->inflight;

	if (loop->in_flight && !inflight->sleeps)
		loop->in_flight->read(loop->run, &loop->flights, plumb_ledger_judge(now).in_flight,
				      at, final);
}

/* Writes what --keep has, and the interval in progress; or ends the loop, whose end is the dump. */
static int dump_now(struct loop *loop)
{
	struct plumb_snapshot now;
	int err;

	loop->over = loop->run->options.keep.exit_on_dump;
	if (loop->over)
		return 0;
	find_flights(loop, false);
	err = plumb_collect(loop->run, &now);
	if (err)
		return err;
	read_flights(loop, &now, plumb_now(), false);
	err = with_interval(loop, &now, false, dump);
	plumb_snapshot_free(&now);
	return err;
}

/* Waits until DEADLINE by WAIT, and dumps when it is asked for. */
static int wait_dumping(struct loop *loop, uint64_t deadline,
			void (*wait)(struct loop *loop, uint64_t deadline))
{
	int err = 0;

	wait(loop, deadline);
	while (!err && !loop->over && loop->asked) {
		loop->asked = false;
		if (plumb_parts_are_due(true))
			err = dump_now(loop);
		if (!err)
			wait(loop, deadline);
	}
	return err;
}

/* Calls in flight are found for reports only: it may take long, and a dump has them as of then. */
static int end_interval(struct loop *loop)
{
	const bool kept = loop->run->options.keep.on;
	struct plumb_snapshot now;
	int err;

	if (kept)
		refresh(loop);
	else
		find_flights(loop, false);
	err = plumb_collect(loop->run, &now);
	if (!err) {
		if (!kept)
			read_flights(loop, &now, plumb_now(), false);
		err = with_interval(loop, &now, false, take);
	}
	loop->intervals++;
	plumb_snapshot_free(&loop->last);
	loop->last = now;
	if (!err && plumb_parts_are_due(false))
		err = dump_now(loop);
	return err;
}

/* The end of interval I, or of the present one: what has passed meanwhile is in one interval. */
static uint64_t end_of_interval(const struct loop *loop, uint64_t interval, uint64_t *i)
{
	const uint64_t since = plumb_now() - loop->grid;

	if (interval && since / interval >= *i)
		*i = since / interval + 1;
	return interval ? loop->grid + *i * interval : 0;
}

/* Reports after each interval; finish() makes the last report, after detaching. */
static int go_round(struct loop *loop, uint64_t end)
{
	const struct plumb_options *o = &loop->run->options;
	const uint64_t interval = o->interval ?: o->sample;
	const struct plumb_part *early = plumb_parts_early(loop->run);
	uint64_t next = 0, first = interval ? (loop->start - loop->grid) / interval + 1 : 1;
	int err = 0;

	if (early) {
		err = wait_dumping(loop, plumb_sooner(end, loop->start + early->early_ns),
				   wait_until);
		early->early(loop->run);
	}
	for (uint64_t i = first; !err && !loop->over; i++) {
		next = end_of_interval(loop, interval, &i);
		if (end && (!next || end <= next))
			next = end;
		err = wait_dumping(loop, next, wait_ticking);
		if (err || loop->over)
			break;
		if (next == end || loop->intervals + 1 == o->count) {
			plumb_parts_ended(next == end ? "duration" : "count");
			break;
		}
		err = end_interval(loop);
	}
	return err;
}

static int judge(const struct loop *loop)
{
	const struct plumb_run *run = loop->run;
	struct plumb_verdict v = plumb_ledger_judge(&loop->total);

	if (run->options.strict && plumb_ledger_is_broken(&v, run->options.strict_percent)) {
		plumb_warn("--strict: %s%llu calls were lost", v.at_least < v.lost ? "up to " : "",
			   (unsigned long long)v.lost);
		return PLUMB_EXIT_JUDGED;
	}
	if (run->options.strict && plumb_parts_are_incomplete()) {
		plumb_warn("--strict: what was counted is not what happened");
		return PLUMB_EXIT_JUDGED;
	}
	if (run->options.strict && (plumb_cpus_changed() || plumb_cpus_have_lost())) {
		plumb_warn("--strict: events of a CPU that went online or offline were lost");
		return PLUMB_EXIT_JUDGED;
	}
	if (!run->child || run->child_status < 0)
		return 0;
	return WIFSIGNALED(run->child_status) ? 128 + WTERMSIG(run->child_status)
					      : WEXITSTATUS(run->child_status);
}

/* When the run ends by itself, as START; 0: not known. */
static uint64_t planned_end(const struct loop *loop)
{
	const uint64_t duration = loop->run->options.duration;

	return plumb_sooner(duration ? loop->start + duration : 0, plumb_parts_end_at(loop->grid));
}

static int finish(struct loop *loop, int err)
{
	struct plumb_run *run = loop->run;
	bool unread; /* the reader of stdout has gone; a file is saved all the same */
	uint64_t end;
	int saved = 0;

	err = err ?: plumb_parts_may_report();
	if (!err)
		find_flights(loop, true);
	err = plumb_parts_end() ?: err;
	if (run->tool->lifecycle.reports_first)
		*run->instance.bpf.live = 0;
	end = plumb_now();
	/* Records are read until no more come. */
	if (!run->tool->lifecycle.reports_first || run->tool->rings) {
		run->instance.probes.may_leave = true;
		plumb_instance_detach(&run->instance);
	}
	plumb_parts_detached(run);
	if (err != -ETIME)
		plumb_records_drain(&loop->records);
	err = err ?: loop->records.err;
	unread = err == -EPIPE;
	if (!err || unread)
		err = plumb_collect(run, &loop->total);
	if (!err)
		read_flights(loop, &loop->total, end, true);
	if (!err)
		plumb_parts_total(&loop->total);
	else if (err == -EPIPE)
		plumb_parts_ended("output closed");
	/* Detaching is not part of the trace, and takes long for thousands of probes. */
	loop->total.clock = end;
	if (!err && run->tool->view.save)
		saved = with_all(loop, run->tool->view.save);
	err = err ?: report_end(loop, unread);
	if (plumb_parts_close())
		saved = -EIO;
	if (!err && !unread && run->tool->lifecycle.finish)
		run->tool->lifecycle.finish(run, &loop->total, loop->total.clock - loop->start);
	if (!err && !unread)
		plumb_parts_finish(run, &loop->total);
	if (saved || (err && err != -EPIPE))
		return PLUMB_EXIT_FAILED;
	return err || unread ? 0 : judge(loop);
}

/* What reports say of the run, and does not change. */
static void describe(struct plumb_run *run)
{
	const struct plumb_instance *in = &run->instance;

	run->split = in->bpf.config->split;
	run->no_return = in->has_returns                  ? in->no_return
			 : run->tool->measure.ends_inside ? "this mechanism does not look there"
							  : NULL;
}

/* Programs that wait for plumb_live count nothing from before the time of the start. */
static void begin(struct loop *loop)
{
	struct plumb_run *run = loop->run;

	if (run->tool->lifecycle.reports_first) {
		settle(loop);
		clock_gettime(CLOCK_REALTIME, &run->counting.time);
		run->counting.clock = plumb_now();
		*run->instance.bpf.live = 1;
	}
	loop->start = loop->flights.began = plumb_now();
	loop->grid = run->started ?: loop->start;
	loop->last.taken = run->counting.time;
	loop->last.clock = run->counting.clock;
}

int plumb_trace(struct plumb_run *run, int signals)
{
	struct loop loop = {
		.run = run,
		.signals = signals,
		.in_flight = plumb_parts_in_flight(run->tool),
	};
	int status;

	if (plumb_records_open(&loop.records, run))
		return PLUMB_EXIT_FAILED;
	settle(&loop);
	if (plumb_parts_open(run) || plumb_parts_confine(run)) {
		plumb_records_close(&loop.records);
		return PLUMB_EXIT_FAILED;
	}
	describe(run);
	begin(&loop);
	plumb_parts_begin(run);
	loop.wake = -1;
	loop.tick = run->tool->files || run->tool->lifecycle.tick ? loop.start : 0;
	plumb_cgroups_look(run);
	fprintf(stderr, "%s: tracing … by %s\n", run->tool->card.name,
		run->instance.mechanism->name);
	if (run->child)
		plumb_command_release(run);
	status = finish(&loop, go_round(&loop, planned_end(&loop)));
	plumb_records_close(&loop.records);
	if (loop.in_flight)
		loop.in_flight->free(&loop.flights);
	plumb_snapshot_free(&loop.last);
	plumb_snapshot_free(&loop.total);
	return status;
}
