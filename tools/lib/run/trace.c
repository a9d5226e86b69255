/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "trace.h"

#include <errno.h>
#include <plumb/attach/cpus.h>
#include <plumb/base/audit.h>
#include <plumb/base/cli.h>
#include <plumb/base/clock.h>
#include <plumb/base/log.h>
#include <plumb/report/report.h>
#include <plumb/inflight/inflight.h>
#include <plumb/inflight/states.h>
#include <plumb/cost/calibrate.h>
#include <plumb/load/collect.h>
#include <plumb/session/command.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit-trace.h"
#include "hints.h"
#include "keeps.h"
#include "outputs.h"
#include "records.h"

/* The loop's own state. */
struct trace {
	struct plumb_session *s;
	struct plumb_snapshot last;  /* as of the latest interval; at first empty, but for its time */
	struct plumb_snapshot total; /* the whole run, at its end */
	uint64_t start;              /* ns, CLOCK_MONOTONIC */
	struct {
		struct timespec time;
		uint64_t clock;
	} began; /* from then on calls are counted */
	uint64_t intervals;
	uint64_t tick; /* when to call the tool's tick(), as START; 0: never */
	int signals;   /* a signalfd */
	struct plumb_records records;
	struct plumb_flights flights; /* as of the latest report */
	bool over;
};

static bool is_over_by_itself(const struct trace *run)
{
	uint64_t duration = run->s->options.duration;

	return duration && plumb_now() >= run->start + duration;
}

static void take_signal(struct trace *run)
{
	struct signalfd_siginfo info;

	while (read(run->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			if (run->s->child && plumb_command_has_ended(run->s)) {
				plumb_audit_ended("command");
				run->over = true;
			}
		} else {
			/* The policy's limit may be just as long. */
			if (is_over_by_itself(run))
				plumb_audit_ended("duration");
			plumb_audit_ended_by(info.ssi_signo, info.ssi_code);
			run->over = true;
		}
	}
}

/* Closes the pidfds of traced processes that have exited; when none is left, the run is over. */
static void take_ends(struct trace *run, const struct pollfd *fds)
{
	struct plumb_session *s = run->s;
	uint32_t left = 0;

	for (uint32_t i = 0; i < s->options.n_pids; i++) {
		if (s->pids[i] >= 0 && fds[i].revents) {
			close(s->pids[i]);
			s->pids[i] = -1;
		}
		left += s->pids[i] >= 0;
	}
	if (s->options.n_pids && !left) {
		plumb_audit_ended("processes");
		run->over = true;
	}
}

/* From NOW to THEN, as ppoll takes it. */
static struct timespec *time_left(uint64_t now, uint64_t then, struct timespec *left)
{
	uint64_t ns = then > now ? then - now : 0;

	*left = (struct timespec){ns / 1000000000, ns % 1000000000};
	return then ? left : NULL;
}

static void take_events(struct trace *run, const struct pollfd *fds)
{
	if (fds[0].revents)
		take_signal(run);
	if (fds[1].revents & (POLLERR | POLLHUP)) {
		plumb_audit_ended("output closed");
		run->over = true;
	}
	if (fds[2].revents && plumb_records_take(&run->records))
		run->over = true;
	take_ends(run, fds + 3);
}

/*
 * Waits until DEADLINE (ns, monotonic; 0: none), or until the run is over.  Pending events are
 * handled even after DEADLINE, because reports may take longer than their intervals.
 */
static void wait_until(struct trace *run, uint64_t deadline)
{
	struct pollfd fds[3 + PLUMB_MAX_LIST] = {
		{.fd = run->signals, .events = POLLIN},
		{.fd = STDOUT_FILENO, .events = 0}, /* POLLERR when the reader is gone */
		{.fd = plumb_records_fd(&run->records), .events = POLLIN},
	};
	uint32_t n_pids = run->s->options.n_pids;
	struct timespec left, *timeout;
	uint64_t now;

	while (!run->over) {
		now = plumb_now();
		if (run->records.again && now >= run->records.again &&
		    plumb_records_take(&run->records)) {
			run->over = true;
			return;
		}
		timeout = time_left(now, plumb_sooner(deadline, run->records.again), &left);
		for (uint32_t i = 0; i < n_pids; i++)
			fds[3 + i] = (struct pollfd){.fd = run->s->pids[i], .events = POLLIN};
		if (ppoll(fds, 3 + n_pids, timeout, NULL) > 0)
			take_events(run, fds);
		if (deadline && plumb_now() >= deadline)
			return;
	}
}

/* The same, but calls the tool's tick() when it is due. */
static void wait_ticking(struct trace *run, uint64_t deadline)
{
	uint64_t next;

	while (!run->over && run->tick && (!deadline || run->tick < deadline)) {
		wait_until(run, run->tick);
		if (run->over)
			return;
		next = run->s->tool->lifecycle.tick(plumb_now() - run->start);
		run->tick = next ? run->start + next : 0;
	}
	wait_until(run, deadline);
}

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
		.split = s->instance.bpf.config->split,
	};
}

/* The calls since the last interval, for outputs and the report; NOW is since the start. */
static int take_interval(struct trace *run, const struct plumb_snapshot *now, bool final)
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
		.seq = ++run->intervals,
		.final = final,
		.flights = &run->flights,
	};
	int err = plumb_snapshot_since(&since, now, &run->last);

	if (!err)
		err = plumb_outputs_take(&r);
	if (!err && run->s->options.interval)
		err = plumb_report_print(&r);
	plumb_snapshot_free(&since);
	return err;
}

/* The report of a run without INTERVAL.  A copy of ALL would need as much memory again. */
static int report_all(struct trace *run, struct plumb_snapshot *all)
{
	const struct plumb_run about = run_of(run->s);
	struct plumb_report r = {
		.run = &about,
		.session = run->s,
		.snap = all,
		.total = all,
		.start = run->began.time,
		.elapsed = all->clock - run->began.clock,
		.seq = 1,
		.final = true,
		.flights = &run->flights,
	};

	plumb_snapshot_prune(all);
	return plumb_report_print(&r);
}

/* The last one; nobody reads stdout any more if UNREAD. */
static int report_end(struct trace *run, bool unread)
{
	const struct plumb_options *o = &run->s->options;
	int err = 0;

	if (o->interval || o->sample)
		err = take_interval(run, &run->total, true);
	if (!err && !unread && !o->interval)
		err = report_all(run, &run->total);
	return err;
}

static void settle(const struct trace *run)
{
	if (run->s->tool->lifecycle.settle)
		run->s->tool->lifecycle.settle(run->s);
}

/* Finds the calls in flight while the programs are still attached. */
static void find_flights(struct trace *run, bool final)
{
	const struct plumb_inflight *inflight = run->s->tool->inflight;

	settle(run);
	plumb_states_settle(&run->s->instance.bpf);
	if (inflight)
		plumb_flights_find(run->s, &run->flights, final);
	if (inflight && inflight->sleeps)
		plumb_flights_read(run->s, &run->flights, UINT64_MAX, final);
}

static void read_flights(struct trace *run, const struct plumb_snapshot *now, bool final)
{
	const struct plumb_inflight *inflight = run->s->tool->inflight;

	if (inflight && !inflight->sleeps)
		plumb_flights_read(run->s, &run->flights, plumb_ledger_judge(now).in_flight, final);
}

/* Reports after each interval; finish() makes the last report, after detaching. */
static int loop(struct trace *run)
{
	const struct plumb_options *o = &run->s->options;
	const uint64_t interval = o->interval ?: o->sample;
	uint64_t end = o->duration ? run->start + o->duration : 0, next = 0;
	struct plumb_snapshot now;
	int err;

	if (run->s->statistics >= 0 && !run->s->tool->measure.sampled) {
		if (!end || end > run->start + PLUMB_STATISTICS_NS)
			wait_until(run, run->start + PLUMB_STATISTICS_NS);
		else
			wait_until(run, end);
		plumb_calibrate_end_statistics(run->s);
	}
	for (uint64_t i = 1; !run->over; i++) {
		next = interval ? run->start + i * interval : 0;
		if (end && (!next || end <= next))
			next = end;
		wait_ticking(run, next);
		if (!run->over && (next == end || i == o->count))
			plumb_audit_ended(next == end ? "duration" : "count");
		if (run->over || next == end || i == o->count)
			break;
		find_flights(run, false);
		err = plumb_collect(run->s, &now);
		if (!err) {
			read_flights(run, &now, false);
			err = take_interval(run, &now, false);
		}
		plumb_snapshot_free(&run->last);
		run->last = now;
		if (err)
			return err;
	}
	return 0;
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
	if (s->options.strict && plumb_cpus_have_lost()) {
		plumb_warn("--strict: events of a CPU that went online or offline were lost");
		return PLUMB_EXIT_JUDGED;
	}
	if (!s->child || s->child_status < 0)
		return 0;
	return WIFSIGNALED(s->child_status) ? 128 + WTERMSIG(s->child_status)
					    : WEXITSTATUS(s->child_status);
}

static void count_for_audit(const struct plumb_snapshot *total)
{
	struct plumb_verdict v = plumb_ledger_judge(total);

	plumb_audit_counted(v.recorded, v.lost);
}

static int finish(struct trace *run, int err)
{
	struct plumb_session *s = run->s;
	const struct plumb_run about = run_of(s);
	bool unread; /* the reader of stdout has gone; a file is saved all the same */
	uint64_t end;
	int saved = 0;

	if (!err)
		find_flights(run, true);
	end = plumb_now();
	plumb_audit_end_limit();
	if (s->tool->lifecycle.reports_first)
		*s->instance.bpf.live = 0;
	else
		plumb_instance_detach(&s->instance);
	plumb_audit_detached();
	plumb_calibrate_end_statistics(s);
	plumb_records_drain(&run->records);
	if (!err)
		err = run->records.err;
	unread = err == -EPIPE;
	if (!err || unread)
		err = plumb_collect(s, &run->total);
	if (!err)
		read_flights(run, &run->total, true);
	if (!err)
		count_for_audit(&run->total);
	else if (err == -EPIPE)
		plumb_audit_ended("output closed");
	/* Detaching is not part of the trace, and takes long for thousands of probes. */
	run->total.clock = end;
	if (!err && s->tool->view.save)
		saved = s->tool->view.save(&about, &run->total, end - run->start);
	if (!err)
		err = report_end(run, unread);
	if (plumb_outputs_close(err))
		saved = -EIO;
	if (!err && !unread && s->tool->lifecycle.finish)
		s->tool->lifecycle.finish(s, &run->total, run->total.clock - run->start);
	if (!err && !unread)
		plumb_hints_print(s, &run->total);
	if (saved || (err && err != -EPIPE))
		return PLUMB_EXIT_FAILED;
	return err || unread ? 0 : judge(run);
}

int plumb_trace(struct plumb_session *s, int signals)
{
	struct trace run = {.s = s, .signals = signals};
	int status;

	/* The rings' begin() may take long; this time is not part of the trace. */
	if (s->tool->lifecycle.reports_first)
		*s->instance.bpf.live = 0;
	if (plumb_records_open(&run.records, s))
		return PLUMB_EXIT_FAILED;
	if (s->tool->lifecycle.reports_first)
		*s->instance.bpf.live = 1;
	if (plumb_audit_trace(s)) {
		plumb_records_close(&run.records);
		return PLUMB_EXIT_FAILED;
	}
	plumb_calibrate_begin_statistics(s);
	settle(&run);
	if (plumb_outputs_open(s) || plumb_keeps_confine(s)) {
		plumb_records_close(&run.records);
		return PLUMB_EXIT_FAILED;
	}
	run.start = run.flights.began = plumb_now();
	plumb_audit_begin_limit();
	/* Calls are counted from then on, which may be long before START. */
	run.last.taken = s->attached.time;
	run.last.clock = s->attached.clock;
	if (s->tool->lifecycle.reports_first) {
		clock_gettime(CLOCK_REALTIME, &run.last.taken);
		run.last.clock = run.start;
	}
	run.began.time = run.last.taken;
	run.began.clock = run.last.clock;
	run.tick = s->tool->lifecycle.tick ? run.start : 0;
	fprintf(stderr, "%s: tracing … by %s\n", s->tool->card.name, s->instance.mechanism->name);
	if (s->child)
		plumb_command_release(s);
	status = finish(&run, loop(&run));
	plumb_records_close(&run.records);
	plumb_flights_free(&run.flights);
	plumb_snapshot_free(&run.last);
	plumb_snapshot_free(&run.total);
	return status;
}
