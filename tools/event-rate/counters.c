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

struct counters counters;
static int cpus; /* possible ones */
static int *fds; /* of event I on CPU C at C * n + I; -1: the CPU is offline, or needs none */

int counters_add(const struct event *e)
{
	for (uint32_t i = 0; i < counters.n; i++)
		if (events_are_same(&counters.events[i], e))
			return 0;
	if (counters.n == RATE_MAX_COUNTERS)
		return -E2BIG;
	counters.events[counters.n++] = *e;
	return 0;
}

uint32_t counters_of(uint64_t software, bool all_modes)
{
	uint32_t these = 0;

	for (const struct event *e = counters.events; e < counters.events + counters.n; e++)
		if (event_is_software(e, software) && !e->modes == all_modes)
			these |= 1U << (e - counters.events);
	return these;
}

/* Opens a counter on the first CPU that is online, and closes it; 0 or -errno. */
static int try_event(const struct event *e)
{
	int fd = -ENODEV;

	for (int cpu = 0; cpu < cpus && fd == -ENODEV; cpu++)
		fd = event_open(e, cpu);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static const struct event cycles = {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0};

static bool has_pmu(void)
{
	return !try_event(&cycles);
}

static int refuse(const struct event *e, int err)
{
	char why[192];

	event_refusal(e, err, has_pmu(), why, sizeof(why));
	return plumb_error(event_is_unsupported(err) ? EOPNOTSUPP : -err, "%s: %s", e->name, why);
}

/* Opens event I on all CPUs. */
static int open_event(uint32_t i)
{
	const struct event *e = &counters.events[i];
	size_t opened = 0;
	int fd;

	for (int cpu = 0; cpu < cpus; cpu++) {
		fd = event_open(e, cpu);
		if (fd >= 0)
			opened++;
		else if (fd != -ENODEV) /* the CPU is offline */
			return refuse(e, fd);
		fds[cpu * counters.n + i] = fd;
	}
	return opened ? 0 : refuse(e, -ENODEV);
}

int counters_open(uint32_t direct)
{
	int err = 0;

	cpus = libbpf_num_possible_cpus();
	if (cpus < 0)
		return plumb_error(-cpus, "cannot count the CPUs");
	fds = malloc(cpus * counters.n * sizeof(*fds));
	if (!fds)
		return plumb_error(ENOMEM, "no memory for %u counters on %d CPUs", counters.n,
				   cpus);
	for (size_t i = 0; i < (size_t)cpus * counters.n; i++)
		fds[i] = -1;
	for (uint32_t i = 0; i < counters.n && !err; i++) {
		err = event_check_allowed(&counters.events[i]);
		if (err)
			return refuse(&counters.events[i], err);
		if (!(direct & 1U << i))
			err = open_event(i);
	}
	return err;
}

int counters_fill(const struct bpf_object *object)
{
	int map = bpf_object__find_map_fd_by_name(object, "rate_events");

	for (uint32_t at = 0; at < cpus * counters.n; at++)
		if (fds[at] >= 0 && bpf_map_update_elem(map, &at, &fds[at], BPF_ANY))
			return -errno;
	return 0;
}

static bool has_counter(int cpu)
{
	for (uint32_t i = 0; i < counters.n; i++)
		if (fds[cpu * counters.n + i] >= 0)
			return true;
	return false;
}

void counters_settle(const struct bpf_object *object)
{
	const struct bpf_program *p = bpf_object__find_program_by_name(object, "on_report");
	__u64 arguments[1] = {};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments, .ctx_size_in = sizeof(arguments),
		    .flags = BPF_F_TEST_RUN_ON_CPU);

	for (int cpu = 0; cpu < cpus; cpu++) {
		run.cpu = cpu;
		if (has_counter(cpu) && bpf_prog_test_run_opts(bpf_program__fd(p), &run))
			plumb_info("CPU %d: its counters cannot be read: %m", cpu);
	}
}

struct rate_state counters_state(const struct bpf_object *object, uint32_t i)
{
	int map = bpf_object__find_map_fd_by_name(object, "rate_states");
	struct rate_state sum = {}, one;

	for (uint32_t at = i; at < cpus * counters.n; at += counters.n) {
		if (plumb_map_lookup(map, &at, &one))
			continue;
		sum.value += one.value;
		sum.enabled += one.enabled;
		sum.running += one.running;
		sum.unread += one.unread;
		sum.surplus += one.surplus;
		sum.pooled += one.pooled;
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
	struct event e;
	char why[192];
	bool pmu;
	int err;

	cpus = libbpf_num_possible_cpus();
	pmu = has_pmu();
	for (size_t i = 0; event_at(i, &e); i++) {
		err = event_check_allowed(&e) ?: try_event(&e);
		list_one(e.name, event_alias(i), event_kind(&e),
			 err ? plumb_errno_name(err) : "yes", out);
	}
	list_one("rNNN", NULL, "raw hardware", pmu ? "yes" : "no", out);
	list_one("CATEGORY:NAME", "t:CATEGORY:NAME", "tracepoint", "probe-list 't:*:*'", out);
	list_one("probe:FUNCTION", "k:FUNCTION", "function", "probe-list FUNCTION", out);
	err = try_event(&cycles);
	if (err)
		fprintf(out, "cycles: %s\n", event_refusal(&cycles, err, false, why, sizeof(why)));
}
