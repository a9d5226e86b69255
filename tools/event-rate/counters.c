/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/reasons.h>
#include <plumb/functions/probe.h>
#include <plumb/kernel/map.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

int counters_add(struct counters *c, const struct event *e)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (events_are_same(&c->events[i], e))
			return 0;
	if (c->n == RATE_MAX_COUNTERS)
		return -E2BIG;
	c->events[c->n++] = *e;
	return 0;
}

uint32_t counters_of(const struct counters *c, uint64_t software, bool all_modes)
{
	uint32_t these = 0;

	for (uint32_t i = 0; i < c->n; i++)
		if (event_is_software(&c->events[i], software) && !c->events[i].modes == all_modes)
			these |= 1U << i;
	return these;
}

/* Opens a counter on the first CPU that is online, and closes it; 0 or -errno. */
static int try_event(const struct event *e, int cpus)
{
	int fd = -ENODEV;

	for (int cpu = 0; cpu < cpus && fd == -ENODEV; cpu++)
		fd = event_open(e, cpu);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static bool has_pmu(int cpus)
{
	static const struct event cycles = {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES,
					    0};

	return !try_event(&cycles, cpus);
}

static int refuse(const struct event *e, int err, int cpus)
{
	char why[192];

	event_refusal(e, err, has_pmu(cpus), why, sizeof(why));
	return plumb_error(event_is_unsupported(err) ? EOPNOTSUPP : -err, "%s: %s", e->name, why);
}

/* Opens event I on all CPUs. */
static int open_event(struct counters *c, uint32_t i)
{
	const struct event *e = &c->events[i];
	size_t opened = 0;
	int fd;

	for (int cpu = 0; cpu < c->cpus; cpu++) {
		fd = event_open(e, cpu);
		if (fd >= 0)
			opened++;
		else if (fd != -ENODEV) /* the CPU is offline */
			return refuse(e, fd, c->cpus);
		c->fds[cpu * c->n + i] = fd;
	}
	return opened ? 0 : refuse(e, -ENODEV, c->cpus);
}

int counters_open(struct counters *c, uint32_t direct)
{
	int err = 0;

	c->cpus = libbpf_num_possible_cpus();
	if (c->cpus < 0)
		return plumb_error(-c->cpus, "cannot count the CPUs");
	c->fds = malloc(c->cpus * c->n * sizeof(*c->fds));
	if (!c->fds)
		return plumb_error(ENOMEM, "no memory for %u counters on %d CPUs", c->n, c->cpus);
	for (size_t i = 0; i < (size_t)c->cpus * c->n; i++)
		c->fds[i] = -1;
	for (uint32_t i = 0; i < c->n && !err; i++) {
		err = event_check_allowed(&c->events[i]);
		if (err)
			return refuse(&c->events[i], err, c->cpus);
		if (!(direct & 1U << i))
			err = open_event(c, i);
	}
	return err;
}

int counters_fill(const struct counters *c, const struct bpf_object *object)
{
	int map = bpf_object__find_map_fd_by_name(object, "rate_events");

	for (uint32_t at = 0; at < c->cpus * c->n; at++)
		if (c->fds[at] >= 0 && bpf_map_update_elem(map, &at, &c->fds[at], BPF_ANY))
			return -errno;
	return 0;
}

static bool has_counter(const struct counters *c, int cpu)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->fds[cpu * c->n + i] >= 0)
			return true;
	return false;
}

void counters_settle(const struct counters *c, const struct bpf_object *object)
{
	const struct bpf_program *p = bpf_object__find_program_by_name(object, "on_report");
	__u64 arguments[1] = {};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments, .ctx_size_in = sizeof(arguments),
		    .flags = BPF_F_TEST_RUN_ON_CPU);

	for (int cpu = 0; cpu < c->cpus; cpu++) {
		run.cpu = cpu;
		if (has_counter(c, cpu) && bpf_prog_test_run_opts(bpf_program__fd(p), &run))
			plumb_info("CPU %d: its counters cannot be read: %m", cpu);
	}
}

struct rate_state counters_state(const struct counters *c, const struct bpf_object *object,
				 uint32_t i)
{
	int map = bpf_object__find_map_fd_by_name(object, "rate_states");
	struct rate_state sum = {}, one;

	for (uint32_t at = i; at < c->cpus * c->n; at += c->n) {
		if (plumb_map_lookup(map, &at, &one))
			continue;
		sum.value += one.value;
		sum.enabled += one.enabled;
		sum.running += one.running;
		sum.unread += one.unread;
		sum.surplus += one.surplus;
	}
	return sum;
}

static void list_one(const char *name, const char *alias, const char *kind, const char *here,
		     FILE *out)
{
	char both[64];

	snprintf(both, sizeof(both), "%s%s%s", name, alias ? " OR " : "", alias ?: "");
	fprintf(out, "%-47s %-14s %s\n", both, kind, here);
}

void counters_list(FILE *out)
{
	int err, cpus = libbpf_num_possible_cpus();
	bool pmu = has_pmu(cpus);
	struct event e;
	char why[192];

	for (size_t i = 0; event_at(i, &e); i++) {
		err = event_check_allowed(&e) ?: try_event(&e, cpus);
		list_one(e.name, event_alias(i), event_kind(&e),
			 err ? plumb_errno_name(err) : "yes", out);
	}
	list_one("rNNN", NULL, "raw hardware", pmu ? "yes" : "no", out);
	list_one("CATEGORY:NAME", "t:CATEGORY:NAME", "tracepoint", "probe-list 't:*:*'", out);
	list_one("probe:FUNCTION", "k:FUNCTION", "function", "probe-list FUNCTION", out);
	e = (struct event){"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0};
	err = try_event(&e, cpus);
	if (err)
		fprintf(out, "cycles: %s\n", event_refusal(&e, err, false, why, sizeof(why)));
}
