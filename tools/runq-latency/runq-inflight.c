/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runq-inflight.h"

#include <stdlib.h>
#include <plumb/bpf/sched/waker.h>
#include <plumb/core/clock.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/map.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* A wait in sched_waits (sched.bpf.h), and its thread. */
struct wait {
	uint64_t since;
	uint32_t tid;
};

struct waits {
	const struct plumb_run *run;
	struct plumb_flights *to;
	struct wait *all;
	size_t n;
};

/* Return the thread id of the task at an address; 0: the task has ended. */
static uint32_t tid_of(int program, uint64_t task)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &task, .ctx_size_in = sizeof(task));

	return bpf_prog_test_run_opts(program, &run) ? 0 : run.retval;
}

/* Return whether a task has a CPU.  If it was woken before it slept, it has a wait nevertheless. */
static bool has_cpu(const struct plumb_run *run, uint64_t task)
{
	int map = bpf_object__find_map_fd_by_name(run->instance.bpf.object, "plumb_stays");
	struct sched_stay stay;

	for (uint32_t cpu = 0; cpu < run->instance.bpf.config->cpus; cpu++)
		if (!plumb_map_lookup(map, &cpu, &stay) && stay.task == task)
			return true;
	return false;
}

/* Read the waits in the table that are not over. */
static void read_table(struct waits *w)
{
	const struct bpf_object *object = w->run->instance.bpf.object;
	int since = plumb_states_offset(object, "sched_wait", "since"),
	    task = plumb_states_offset(object, "sched_wait", "task"),
	    program = bpf_program__fd(bpf_object__find_program_by_name(object, "thread_number"));
	size_t one = plumb_states_size(object, "sched_wait"), size = 0;
	const char *table = plumb_states_variable(object, "sched_waits", &size);

	w->all = calloc(size / one + 1, sizeof(*w->all));
	if (!w->all)
		abort();
	for (; table && size >= one; table += one, size -= one) {
		struct wait *wait = &w->all[w->n];
		uint64_t address = plumb_state_word(table, task);

		wait->since = plumb_state_word(table, since);
		if (!wait->since || has_cpu(w->run, address))
			continue;
		wait->tid = tid_of(program, address);
		w->n += !!wait->tid;
	}
}

/* Return whether a thread has waited since before the trace: it last ran before it. */
static bool waits_since_before(const struct plumb_flights *f, uint32_t pid, uint32_t tid)
{
	uint64_t ran = plumb_thread_slept(pid, tid);

	return ran && ran + PLUMB_SECOND / 10 < f->began;
}

static void find_wait(void *context, uint32_t pid, uint32_t tid)
{
	struct plumb_flight f = PLUMB_FLIGHT(pid, tid);
	const struct waits *w = context;
	struct plumb_thread_stat stat;

	if (plumb_thread_stat(pid, tid, &stat) || stat.state != 'R' ||
	    !plumb_thread_is_named(&w->run->options, pid, tid))
		return;
	f.what = stat.cpu;
	for (size_t i = 0; i < w->n && !f.start; i++)
		if (w->all[i].tid == tid)
			f.start = w->all[i].since;
	if (!f.start && waits_since_before(w->to, pid, tid)) {
		f.start = w->to->began;
		f.before = f.at_least = true;
	}
	if (f.start)
		plumb_flights_add(w->to, &f);
}

static void read_waits(const struct plumb_run *run, struct plumb_flights *to)
{
	struct waits w = {.run = run, .to = to};

	read_table(&w);
	to->cut = !plumb_threads_each(run, plumb_now() + 5 * PLUMB_SECOND, find_wait, &w);
	free(w.all);
}

/* A thread that is runnable in /proc waits for the CPU that /proc names, unless it has that CPU. */
const struct plumb_inflight runq_inflight = {
	.heading = "CPU",
	.json = "cpu",
	.sleeps = true,
	.read_rest = read_waits,
};
