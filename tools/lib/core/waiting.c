/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "waiting.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <plumb/core/cgroups.h>
#include <plumb/core/clock.h>
#include <plumb/core/command.h>
#include <plumb/core/filter.h>
#include <plumb/core/part.h>

/* Of what is polled. */
enum { WAKE = 3, CGROUPS, FIRST_PID };

static bool is_over_by_itself(const struct loop *loop)
{
	uint64_t duration = loop->run->options.duration;

	return duration && plumb_now() >= loop->start + duration;
}

static void take_signal(struct loop *loop)
{
	struct signalfd_siginfo info;

	while (read(loop->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			if (loop->run->child && plumb_command_has_ended(loop->run)) {
				plumb_parts_ended("command");
				loop->over = true;
			}
		} else if (info.ssi_signo == SIGUSR1) {
			loop->asked = true;
		} else {
			/* The policy's limit may be just as long. */
			if (is_over_by_itself(loop))
				plumb_parts_ended("duration");
			plumb_parts_ended_by(info.ssi_signo, info.ssi_code);
			loop->over = true;
		}
	}
}

/* Closes the pidfds of traced processes that have exited; when none is left, the run is over. */
static void take_ends(struct loop *loop, const struct pollfd *fds)
{
	struct plumb_run *run = loop->run;
	uint32_t left = 0;

	for (uint32_t i = 0; i < run->options.n_pids; i++) {
		if (run->pids[i] >= 0 && fds[i].revents) {
			close(run->pids[i]);
			run->pids[i] = -1;
		}
		left += run->pids[i] >= 0;
	}
	if (run->options.n_pids && !left) {
		plumb_parts_ended("processes");
		loop->over = true;
	}
}

/* From NOW to THEN, as ppoll takes it. */
static struct timespec *time_left(uint64_t now, uint64_t then, struct timespec *left)
{
	uint64_t ns = then > now ? then - now : 0;

	*left = (struct timespec){ns / 1000000000, ns % 1000000000};
	return then ? left : NULL;
}

static bool has_to_look(const struct plumb_run *run)
{
	return run->options.n_cgroups || run->options.n_tids || run->instance.probes.n_each_cpu;
}

/* At what was named or opened once, and may have gone or come since. */
static void look(struct loop *loop)
{
	struct plumb_probes *probes = &loop->run->instance.probes;

	plumb_cgroups_look(loop->run);
	if (probes->by)
		probes->by->look_at_cpus(probes);
	if (plumb_filter_threads_are_over(loop->run)) {
		plumb_parts_ended("threads");
		loop->over = true;
	}
	loop->look = plumb_now() + PLUMB_SECOND;
}

static void take_events(struct loop *loop, const struct pollfd *fds)
{
	if (fds[0].revents)
		take_signal(loop);
	if (fds[1].revents & (POLLERR | POLLHUP)) {
		plumb_parts_ended("output closed");
		loop->over = true;
	}
	if (fds[CGROUPS].revents)
		look(loop);
	if (fds[2].revents && !loop->over && plumb_records_take(&loop->records))
		loop->over = true;
	take_ends(loop, fds + FIRST_PID);
}

void wait_until(struct loop *loop, uint64_t deadline)
{
	const bool writes_stdout = !loop->run->options.keep.out;
	struct pollfd fds[FIRST_PID + PLUMB_MAX_LIST] = {
		{.fd = loop->signals, .events = POLLIN},
		/* POLLERR when the reader is gone */
		{.fd = writes_stdout ? STDOUT_FILENO : -1, .events = 0},
		{.fd = plumb_records_fd(&loop->records), .events = POLLIN},
		{.fd = loop->wake, .events = POLLIN},
		{.fd = plumb_cgroups_fd(), .events = POLLIN},
	};
	uint32_t n_pids = loop->run->options.n_pids;
	struct timespec left, *timeout;
	uint64_t now, next;

	while (!loop->over && !loop->asked) {
		now = plumb_now();
		next = 0;
		if (plumb_parts_are_over(now, &next)) {
			plumb_parts_ended("duration");
			loop->over = true;
			return;
		}
		if (loop->records.again && now >= loop->records.again &&
		    plumb_records_take(&loop->records)) {
			loop->over = true;
			return;
		}
		if (now >= loop->look && has_to_look(loop->run))
			look(loop);
		if (loop->over)
			return;
		next = plumb_sooner(plumb_sooner(next, loop->look),
				    plumb_sooner(deadline, loop->records.again));
		timeout = time_left(now, next, &left);
		for (uint32_t i = 0; i < n_pids; i++)
			fds[FIRST_PID + i] =
				(struct pollfd){.fd = loop->run->pids[i], .events = POLLIN};
		if (ppoll(fds, FIRST_PID + n_pids, timeout, NULL) > 0)
			take_events(loop, fds);
		if (fds[WAKE].revents) {
			loop->tick = plumb_now();
			return;
		}
		if (deadline && plumb_now() >= deadline)
			return;
	}
}

void wait_ticking(struct loop *loop, uint64_t deadline)
{
	const struct plumb_tool *tool = loop->run->tool;
	uint64_t next;

	loop->wake = loop->tick && tool->files ? tool->files->fd() : -1;
	while (!loop->over && !loop->asked) {
		next = plumb_sooner(loop->tick, deadline);
		wait_until(loop, next);
		if (loop->over || loop->asked || (deadline && plumb_now() >= deadline))
			break;
		if (!loop->tick || plumb_now() < loop->tick)
			continue;
		next = (tool->files ? tool->files->tick
				    : tool->lifecycle.tick)(plumb_now() - loop->start);
		loop->tick = next ? loop->start + next : 0;
	}
	loop->wake = -1;
}
