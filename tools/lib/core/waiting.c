/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "waiting.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <plumb/core/cgroups.h>
#include <plumb/core/clock.h>
#include <plumb/core/command.h>
#include <plumb/core/part.h>

/* Of what is polled. */
enum { WAKE = 3, CGROUPS, FIRST_PID };

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
				plumb_parts_ended("command");
				run->over = true;
			}
		} else if (info.ssi_signo == SIGUSR1) {
			run->asked = true;
		} else {
			/* The policy's limit may be just as long. */
			if (is_over_by_itself(run))
				plumb_parts_ended("duration");
			plumb_parts_ended_by(info.ssi_signo, info.ssi_code);
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
		plumb_parts_ended("processes");
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

/* At what was named or opened once, and may have gone or come since. */
static void look(struct trace *run)
{
	struct plumb_probes *probes = &run->s->instance.probes;

	plumb_cgroups_look(run->s);
	if (probes->by)
		probes->by->look_at_cpus(probes);
	run->look = plumb_now() + PLUMB_SECOND;
}

static void take_events(struct trace *run, const struct pollfd *fds)
{
	if (fds[0].revents)
		take_signal(run);
	if (fds[1].revents & (POLLERR | POLLHUP)) {
		plumb_parts_ended("output closed");
		run->over = true;
	}
	if (fds[CGROUPS].revents)
		look(run);
	if (fds[2].revents && !run->over && plumb_records_take(&run->records))
		run->over = true;
	take_ends(run, fds + FIRST_PID);
}

void wait_until(struct trace *run, uint64_t deadline)
{
	const bool writes_stdout = !run->s->options.keep.out;
	struct pollfd fds[FIRST_PID + PLUMB_MAX_LIST] = {
		{.fd = run->signals, .events = POLLIN},
		/* POLLERR when the reader is gone */
		{.fd = writes_stdout ? STDOUT_FILENO : -1, .events = 0},
		{.fd = plumb_records_fd(&run->records), .events = POLLIN},
		{.fd = run->wake, .events = POLLIN},
		{.fd = plumb_cgroups_fd(), .events = POLLIN},
	};
	uint32_t n_pids = run->s->options.n_pids;
	struct timespec left, *timeout;
	uint64_t now, next;

	while (!run->over && !run->asked) {
		now = plumb_now();
		next = 0;
		if (plumb_parts_are_over(now, &next)) {
			plumb_parts_ended("duration");
			run->over = true;
			return;
		}
		if (run->records.again && now >= run->records.again &&
		    plumb_records_take(&run->records)) {
			run->over = true;
			return;
		}
		if (now >= run->look &&
		    (run->s->options.n_cgroups || run->s->instance.probes.n_each_cpu))
			look(run);
		next = plumb_sooner(plumb_sooner(next, run->look),
				    plumb_sooner(deadline, run->records.again));
		timeout = time_left(now, next, &left);
		for (uint32_t i = 0; i < n_pids; i++)
			fds[FIRST_PID + i] =
				(struct pollfd){.fd = run->s->pids[i], .events = POLLIN};
		if (ppoll(fds, FIRST_PID + n_pids, timeout, NULL) > 0)
			take_events(run, fds);
		if (fds[WAKE].revents) {
			run->tick = plumb_now();
			return;
		}
		if (deadline && plumb_now() >= deadline)
			return;
	}
}

void wait_ticking(struct trace *run, uint64_t deadline)
{
	const struct plumb_lifecycle *tool = &run->s->tool->lifecycle;
	uint64_t next;

	run->wake = run->tick && tool->tick_fd ? tool->tick_fd() : -1;
	while (!run->over && !run->asked) {
		next = plumb_sooner(run->tick, deadline);
		wait_until(run, next);
		if (run->over || run->asked || (deadline && plumb_now() >= deadline))
			break;
		if (!run->tick || plumb_now() < run->tick)
			continue;
		next = tool->tick(plumb_now() - run->start);
		run->tick = next ? run->start + next : 0;
	}
	run->wake = -1;
}
