/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "run.h"
#include "process.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/text.h>

#define SEC_NS   1000000000ULL
#define NEVER    UINT64_MAX
#define PATIENCE (10 * SEC_NS) /* limit for a tool to be ready, or for an exit */

struct now_running {
	struct run_plan *plan;
	const char *which;
	struct process workload, tool;
	bool ready;
	char figure[64], workload_said[200], tool_said[200]; /* the last line or figure of each */
};

enum event { READY, ENDED, LATE, SIGNALLED, UNREAD };

bool metric_find(const regex_t *regex, const char *line, char *text, size_t size)
{
	regmatch_t match[2];

	if (regexec(regex, line, 2, match, 0) || match[1].rm_so < 0)
		return false;
	snprintf(text, size, "%.*s", (int)(match[1].rm_eo - match[1].rm_so), line + match[1].rm_so);
	return true;
}

int metric_parse(const char *text, double *value)
{
	char *end;
	double n = strtod(text, &end);

	/* strtod() also accepts 0x10. */
	if (end == text || *end || strpbrk(text, "xX") || !isfinite(n) || n <= 0)
		return -EINVAL;
	*value = n;
	return 0;
}

static void workload_says(const char *line, void *context)
{
	struct now_running *r = context;

	plumb_escape_text(r->workload_said, line, sizeof(r->workload_said));
	plumb_info("workload: %s", r->workload_said);
	if (r->plan->metric)
		metric_find(&r->plan->metric_regex, line, r->figure, sizeof(r->figure));
}

static void tool_says(const char *line, void *context)
{
	struct now_running *r = context;

	plumb_escape_text(r->tool_said, line, sizeof(r->tool_said));
	plumb_info("tool: %s", r->tool_said);
	if (r->plan->ready && !regexec(&r->plan->ready_regex, line, 0, NULL, 0))
		r->ready = true;
}

/* Read all pending signals; return whether any but SIGCHLD is among them, which ends trace-bias. */
static bool take_signals(int signals)
{
	struct signalfd_siginfo info;
	bool end = false;

	while (read(signals, &info, sizeof(info)) == sizeof(info))
		end |= info.ssi_signo != SIGCHLD;
	return end;
}

/* Wait for the exit of WHOM (NULL: of workload or tool), a ready tool, a signal, or DEADLINE. */
static enum event await(struct now_running *r, const struct process *whom, uint64_t deadline)
{
	bool was_ready = r->ready;

	for (;;) {
		struct pollfd fds[] = {
			{.fd = r->plan->signals, .events = POLLIN},
			/* POLLERR if the reader is gone; ignored while processes are ended. */
			{.fd = whom ? -1 : STDOUT_FILENO},
			{.fd = r->workload.output, .events = POLLIN},
			{.fd = r->tool.output, .events = POLLIN},
		};
		uint64_t now = plumb_now();
		struct timespec left = {(deadline - now) / SEC_NS, (deadline - now) % SEC_NS};

		if (whom ? process_has_ended(whom)
			 : process_has_ended(&r->workload) || process_has_ended(&r->tool))
			return ENDED;
		if (r->ready && !was_ready)
			return READY;
		if (now >= deadline)
			return LATE;
		if (ppoll(fds, 4, deadline == NEVER ? NULL : &left, NULL) < 0)
			continue;
		if (fds[0].revents) {
			if (take_signals(r->plan->signals))
				return SIGNALLED;
			continue; /* check for its exit before reading: it is timed */
		}
		if (fds[1].revents & (POLLERR | POLLHUP))
			return UNREAD;
		process_read(&r->workload);
		process_read(&r->tool);
	}
}

char *run_tool_line(const char *tool, pid_t workload)
{
	const char *at, *rest = tool;
	char *line = NULL;
	size_t size;
	FILE *f = open_memstream(&line, &size);

	if (!f)
		abort();
	/* exec, so that signals reach the tool, and its pid is that of the shell. */
	fputs("exec ", f);
	for (; (at = strstr(rest, "{}")); rest = at + 2)
		fprintf(f, "%.*s%d", (int)(at - rest), rest, workload);
	fputs(rest, f);
	fclose(f);
	return line;
}

/* End a process: by SIGNAL and, if it does not exit in time, by SIGKILL. */
static void end(struct now_running *r, struct process *p, const char *what, int signal)
{
	if (!p->pid)
		return;
	process_signal(p, signal);
	if (await(r, p, plumb_now() + PATIENCE) == LATE)
		plumb_warn("the %s did not end within %llu s of SIG%s: it is killed", what,
			   PATIENCE / SEC_NS, sigabbrev_np(signal));
	if (!process_has_ended(p))
		process_signal(p, SIGKILL);
	process_reap(p);
}

/* Return the error for an unexpected event, after a message if the workload or the tool ended. */
static int interrupted(struct now_running *r, enum event e, const char *when)
{
	char fate[64];

	if (e == SIGNALLED)
		return -EINTR;
	if (e == UNREAD)
		return -EPIPE;
	if (!process_has_ended(&r->tool))
		return plumb_error(ESRCH, "%s: the workload ended %s", r->which, when);
	process_reap(&r->tool);
	return plumb_error(ESRCH, "%s: the tool %s %s%s%s", r->which,
			   process_fate(&r->tool, fate, sizeof(fate)), when,
			   *r->tool_said ? ": " : "", r->tool_said);
}

/* Start the tool and wait until it is ready. */
static int attach_tool(struct now_running *r)
{
	const struct run_plan *plan = r->plan;
	char *line = run_tool_line(plan->tool, r->workload.pid);
	char *const command[] = {"sh", "-c", line, NULL};
	enum event e;
	int err = process_start(&r->tool, command, tool_says, r);

	if (!err)
		err = process_release(&r->tool);
	free(line);
	if (err)
		return plumb_error(err, "cannot start a shell for the tool: %s", strerror(-err));
	if (plan->ready) {
		e = await(r, NULL, plumb_now() + PATIENCE);
		if (e == LATE)
			return plumb_error(ETIMEDOUT,
					   "%s: the tool printed no line like '%s' within %llu s; "
					   "see --ready, --settle",
					   r->which, plan->ready, PATIENCE / SEC_NS);
		if (e != READY)
			return interrupted(r, e, "before it was ready");
	}
	e = await(r, NULL, plumb_now() + plan->settle);
	return e == LATE ? 0 : interrupted(r, e, "before the workload began");
}

static int prepare(struct now_running *r, bool traced)
{
	uint64_t begin = plumb_now();
	enum event e;
	int err;

	if (traced) {
		err = attach_tool(r);
		r->plan->held = plumb_now() - begin;
		return err;
	}
	e = await(r, NULL, begin + r->plan->held);
	return e == LATE ? 0 : interrupted(r, e, "before it was released");
}

static uint64_t migrations_of(pid_t pid)
{
	char path[64], line[256];
	uint64_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/sched", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "se.nr_migrations : %" SCNu64, &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

static double ns_of(const struct timeval *t)
{
	return t->tv_sec * 1e9 + t->tv_usec * 1e3;
}

/* After the workload was reaped: check its status, and parse its metric. */
static int judge_workload(struct now_running *r, struct run *run)
{
	char fate[64];

	if (r->workload.status)
		return plumb_error(ECHILD, "%s: %s %s%s%s", r->which, r->plan->workload[0],
				   process_fate(&r->workload, fate, sizeof(fate)),
				   *r->workload_said ? ": " : "", r->workload_said);
	if (!r->plan->metric)
		return 0;
	if (!*r->figure)
		return plumb_error(ENODATA, "%s: --metric: nothing that %s printed matches '%s'",
				   r->which, r->plan->workload[0], r->plan->metric);
	if (metric_parse(r->figure, &run->values[METRIC]))
		return plumb_error(EINVAL, "%s: --metric: not a number above 0: '%s'", r->which,
				   r->figure);
	return 0;
}

static int time_workload(struct now_running *r, struct run *run)
{
	uint64_t begin = plumb_now();
	int err = process_release(&r->workload);
	enum event e;

	if (err)
		return plumb_error(err, "cannot run %s: %s", r->plan->workload[0], strerror(-err));
	e = await(r, NULL, NEVER);
	run->values[WALL] = plumb_now() - begin;
	if (!process_has_ended(&r->workload))
		return interrupted(r, e, "while the workload ran");
	run->migrations = migrations_of(r->workload.pid);
	process_reap(&r->workload);
	run->values[CPU] = ns_of(&r->workload.usage.ru_utime) + ns_of(&r->workload.usage.ru_stime);
	return judge_workload(r, run);
}

int run_once(struct run_plan *plan, bool traced, const char *which, struct run *run)
{
	struct now_running r = {.plan = plan, .which = which};
	int err;

	r.tool.output = -1;
	err = process_start(&r.workload, plan->workload, workload_says, &r);
	if (err)
		return plumb_error(err, "cannot start %s: %s", plan->workload[0], strerror(-err));
	err = prepare(&r, traced);
	if (!err)
		err = time_workload(&r, run);
	end(&r, &r.workload, "workload", SIGTERM);
	end(&r, &r.tool, "tool", SIGINT);
	return err;
}
