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

/* The session, as reports need it. */
static struct plumb_run run_of(const struct plumb_session *s)
{
	return (struct plumb_run){
		.tool = s->tool,
		.options = &s->options,
		.mechanism = s->instance.mechanism,
		.hooks = s->instance.bpf.hooks,
		.refused = s->refused,
		.n_refused = s->n_refused,
		.overhead = &s->overhead,
		.object = s->instance.bpf.object,
		.rings = s->tool->options.selection ? s->tool->options.rings(s) : -1,
		.watched = s->watched,
		.split = s->instance.bpf.config->split,
		.no_return = s->instance.has_returns        ? s->instance.no_return
			     : s->tool->measure.ends_inside ? "this mechanism does not look there"
							    : NULL,
	};
}

/* Gives the interval to the parts, and to the report. */
static int take(const struct trace *run, struct plumb_report *r)
{
	int err = plumb_parts_interval(r);

	if (!err && run->s->options.interval)
		err = plumb_report_print(r);
	return err;
}

/* Gives the interval in progress to the parts. */
static int dump(const struct trace *run, struct plumb_report *r)
{
	(void)run;
	return plumb_parts_progress(r);
}

/* Calls EACH with the calls since the last interval; NOW is since the start. */
static int with_interval(struct trace *run, const struct plumb_snapshot *now, bool final,
			 int (*each)(const struct trace *run, struct plumb_report *r))
{
	struct plumb_snapshot since = {};
	const struct plumb_run about = run_of(run->s);
	struct plumb_report r = {
		.run = &about,
		.session = run->s,
		.snap = &since,
		.total = now,
		.start = run->last.taken,
		.elapsed = now->clock - run->last.clock,
		.seq = run->intervals + 1,
		.final = final,
		.flights = &run->flights,
	};
	int err = plumb_parts_may_report() ?: plumb_snapshot_since(&since, now, &run->last);

	if (!err)
		err = each(run, &r);
	plumb_snapshot_free(&since);
	return err;
}

/* Calls EACH with the whole run.  A copy of its rows would need as much memory again. */
static int with_all(struct trace *run, int (*each)(struct plumb_report *r))
{
	const struct plumb_run about = run_of(run->s);
	struct plumb_report r = {
		.run = &about,
		.session = run->s,
		.snap = &run->total,
		.total = &run->total,
		.start = run->s->counting.time,
		.elapsed = run->total.clock - run->s->counting.clock,
		.seq = 1,
		.final = true,
		.flights = &run->flights,
	};

	return each(&r);
}

/* The last one; nobody reads stdout any more if UNREAD. */
static int report_end(struct trace *run, bool unread)
{
	const struct plumb_options *o = &run->s->options;
	int err = 0;

	if (o->interval || o->sample)
		err = with_interval(run, &run->total, true, take);
	if (!err && !unread && !o->interval && !o->keep.on) {
		plumb_snapshot_prune(&run->total);
		err = with_all(run, plumb_report_print);
	}
	return err;
}

static void settle(const struct trace *run)
{
	if (run->s->tool->lifecycle.settle)
		run->s->tool->lifecycle.settle(run->s);
}

/* Before the maps are read. */
static void refresh(const struct trace *run)
{
	settle(run);
	if (run->in_flight)
		run->in_flight->settle(&run->s->instance.bpf);
}

/* Finds the calls in flight while the programs are still attached. */
static void find_flights(struct trace *run, bool final)
{
	const struct plumb_inflight *inflight = run->s->tool->inflight;

	refresh(run);
	if (run->in_flight)
		run->in_flight->find(run->s, &run->flights, final);
	if (run->in_flight && inflight->sleeps)
		run->in_flight->read(run->s, &run->flights, UINT64_MAX, plumb_now(), final);
}

static void read_flights(struct trace *run, const struct plumb_snapshot *now, uint64_t at,
			 bool final)
{
	const struct plumb_inflight *inflight = run->s->tool->inflight;

	if (run->in_flight && !inflight->sleeps)
		run->in_flight->read(run->s, &run->flights, plumb_ledger_judge(now).in_flight, at,
				     final);
}

/* Writes what --keep has, and the interval in progress; or ends the run, whose end is the dump. */
static int dump_now(struct trace *run)
{
	struct plumb_snapshot now;
	int err;

	run->over = run->s->options.keep.exit_on_dump;
	if (run->over)
		return 0;
	find_flights(run, false);
	err = plumb_collect(run->s, &now);
	if (err)
		return err;
	read_flights(run, &now, plumb_now(), false);
	err = with_interval(run, &now, false, dump);
	plumb_snapshot_free(&now);
	return err;
}

/* Waits until DEADLINE by WAIT, and dumps when it is asked for. */
static int wait_dumping(struct trace *run, uint64_t deadline,
			void (*wait)(struct trace *run, uint64_t deadline))
{
	int err = 0;

	wait(run, deadline);
	while (!err && !run->over && run->asked) {
		run->asked = false;
		if (plumb_parts_are_due(true))
			err = dump_now(run);
		if (!err)
			wait(run, deadline);
	}
	return err;
}

/* Calls in flight are found for reports only: it may take long, and a dump has them as of then. */
static int end_interval(struct trace *run)
{
	const bool kept = run->s->options.keep.on;
	struct plumb_snapshot now;
	int err;

	if (kept)
		refresh(run);
	else
		find_flights(run, false);
	err = plumb_collect(run->s, &now);
	if (!err) {
		if (!kept)
			read_flights(run, &now, plumb_now(), false);
		err = with_interval(run, &now, false, take);
	}
	run->intervals++;
	plumb_snapshot_free(&run->last);
	run->last = now;
	if (!err && plumb_parts_are_due(false))
		err = dump_now(run);
	return err;
}

/* The end of interval I, or of the present one: what has passed meanwhile is in one interval. */
static uint64_t end_of_interval(const struct trace *run, uint64_t interval, uint64_t *i)
{
	const uint64_t since = plumb_now() - run->grid;

	if (interval && since / interval >= *i)
		*i = since / interval + 1;
	return interval ? run->grid + *i * interval : 0;
}

/* Reports after each interval; finish() makes the last report, after detaching. */
static int loop(struct trace *run, uint64_t end)
{
	const struct plumb_options *o = &run->s->options;
	const uint64_t interval = o->interval ?: o->sample;
	const struct plumb_part *early = plumb_parts_early(run->s);
	uint64_t next = 0, first = interval ? (run->start - run->grid) / interval + 1 : 1;
	int err = 0;

	if (early) {
		err = wait_dumping(run, plumb_sooner(end, run->start + early->early_ns),
				   wait_until);
		early->early(run->s);
	}
	for (uint64_t i = first; !err && !run->over; i++) {
		next = end_of_interval(run, interval, &i);
		if (end && (!next || end <= next))
			next = end;
		err = wait_dumping(run, next, wait_ticking);
		if (err || run->over)
			break;
		if (next == end || run->intervals + 1 == o->count) {
			plumb_parts_ended(next == end ? "duration" : "count");
			break;
		}
		err = end_interval(run);
	}
	return err;
}

static int judge(const struct trace *run)
{
	const struct plumb_session *s = run->s;
	struct plumb_verdict v = plumb_ledger_judge(&run->total);

	if (s->options.strict && plumb_ledger_is_broken(&v, s->options.strict_percent)) {
		plumb_warn("--strict: %s%llu calls were lost", v.at_least < v.lost ? "up to " : "",
			   (unsigned long long)v.lost);
		return PLUMB_EXIT_JUDGED;
	}
	if (s->options.strict && (plumb_cpus_changed() || plumb_cpus_have_lost())) {
		plumb_warn("--strict: events of a CPU that went online or offline were lost");
		return PLUMB_EXIT_JUDGED;
	}
	if (!s->child || s->child_status < 0)
		return 0;
	return WIFSIGNALED(s->child_status) ? 128 + WTERMSIG(s->child_status)
					    : WEXITSTATUS(s->child_status);
}

/* When the run ends by itself, as START; 0: not known. */
static uint64_t planned_end(const struct trace *run)
{
	const uint64_t duration = run->s->options.duration;

	return plumb_sooner(duration ? run->start + duration : 0, plumb_parts_end_at(run->grid));
}

static int finish(struct trace *run, int err)
{
	struct plumb_session *s = run->s;
	bool unread; /* the reader of stdout has gone; a file is saved all the same */
	uint64_t end;
	int saved = 0;

	err = err ?: plumb_parts_may_report();
	if (!err)
		find_flights(run, true);
	if (s->tool->lifecycle.reports_first)
		*s->instance.bpf.live = 0;
	end = plumb_now();
	err = plumb_parts_end() ?: err;
	if (!s->tool->lifecycle.reports_first) {
		s->instance.probes.may_leave = true;
		plumb_instance_detach(&s->instance);
	}
	plumb_parts_detached(s);
	if (err != -ETIME)
		plumb_records_drain(&run->records);
	err = err ?: run->records.err;
	unread = err == -EPIPE;
	if (!err || unread)
		err = plumb_collect(s, &run->total);
	if (!err)
		read_flights(run, &run->total, end, true);
	if (!err)
		plumb_parts_total(&run->total);
	else if (err == -EPIPE)
		plumb_parts_ended("output closed");
	/* Detaching is not part of the trace, and takes long for thousands of probes. */
	run->total.clock = end;
	if (!err && s->tool->view.save)
		saved = with_all(run, s->tool->view.save);
	err = err ?: report_end(run, unread);
	if (plumb_parts_close())
		saved = -EIO;
	if (!err && !unread && s->tool->lifecycle.finish)
		s->tool->lifecycle.finish(s, &run->total, run->total.clock - run->start);
	if (!err && !unread)
		plumb_parts_finish(s, &run->total);
	if (saved || (err && err != -EPIPE))
		return PLUMB_EXIT_FAILED;
	return err || unread ? 0 : judge(run);
}

/* Programs that wait for plumb_live count nothing from before the time of the start. */
static void begin(struct trace *run)
{
	struct plumb_session *s = run->s;

	if (s->tool->lifecycle.reports_first) {
		settle(run);
		clock_gettime(CLOCK_REALTIME, &s->counting.time);
		s->counting.clock = plumb_now();
		*s->instance.bpf.live = 1;
	}
	run->start = run->flights.began = plumb_now();
	run->grid = s->started ?: run->start;
	run->last.taken = s->counting.time;
	run->last.clock = s->counting.clock;
}

int plumb_trace(struct plumb_session *s, int signals)
{
	struct trace run = {
		.s = s,
		.signals = signals,
		.in_flight = plumb_parts_in_flight(s->tool),
	};
	int status;

	if (plumb_records_open(&run.records, s))
		return PLUMB_EXIT_FAILED;
	settle(&run);
	if (plumb_parts_open(s) || plumb_parts_confine(s)) {
		plumb_records_close(&run.records);
		return PLUMB_EXIT_FAILED;
	}
	begin(&run);
	plumb_parts_begin(s);
	run.wake = -1;
	run.tick = s->tool->lifecycle.tick ? run.start : 0;
	plumb_cgroups_look(s);
	fprintf(stderr, "%s: tracing … by %s\n", s->tool->card.name, s->instance.mechanism->name);
	if (s->child)
		plumb_command_release(s);
	status = finish(&run, loop(&run, planned_end(&run)));
	plumb_records_close(&run.records);
	if (run.in_flight)
		run.in_flight->free(&run.flights);
	plumb_snapshot_free(&run.last);
	plumb_snapshot_free(&run.total);
	return status;
}
