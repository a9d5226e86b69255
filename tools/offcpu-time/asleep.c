/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "asleep.h"

#include <string.h>
#include <plumb/kernel/map.h>

#include <bpf/libbpf.h>

struct offcpu_config offcpu_selection = {.max_ns = UINT64_MAX};

/* The state as a key, of a thread whose stay began before the trace. */
static uint32_t state_of(char state)
{
	return state == 'S'   ? OFFCPU_SLEEPING
	       : state == 'D' ? OFFCPU_UNINTERRUPTIBLE
			      : OFFCPU_OTHER;
}

enum { ASLEEP, RUNNABLE, RUNNING }; /* plumb_flight.own */

/* Return whether a thread is asleep or stopped: not runnable, and not an idle kernel thread (I).
 * *WHAT is its state. */
static bool is_asleep(uint32_t pid, uint32_t tid, uint64_t *what)
{
	struct plumb_thread_stat stat;

	if (plumb_thread_stat(pid, tid, &stat) || !strchr("SDTt", stat.state))
		return false;
	*what = state_of(stat.state);
	return true;
}

static bool find_sleep(const struct plumb_run *run, struct plumb_flight *f)
{
	(void)run;
	return is_asleep(f->pid, f->tid, &f->what);
}

/* When TASK came to the CPU that it has; 0: it has none. */
static uint64_t came(const struct plumb_run *run, uint64_t task)
{
	const struct bpf_map *map =
		bpf_object__find_map_by_name(run->instance.bpf.object, "plumb_stays");
	struct {
		uint64_t task, began, rest[6]; /* sched_stay */
	} stay;

	for (uint32_t cpu = 0; cpu < bpf_map__max_entries(map); cpu++)
		if (!plumb_map_lookup(bpf_map__fd(map), &cpu, &stay) && stay.task == task)
			return stay.began;
	return 0;
}

/*
 * A state keeps when its thread left its CPU even after it is back: /proc shows whether it is
 * asleep, and the CPUs whether it has one.
 */
static void read(const struct plumb_run *run, const struct plumb_state *state,
		 struct plumb_flights *to)
{
	static int left = -2, task, kernel, user, preempted, what;
	struct plumb_flight f = {.pid = state->pid, .tid = state->tid};
	const struct bpf_object *object = run->instance.bpf.object;
	const char *value = state->value;
	struct plumb_thread_stat stat;
	uint64_t came_back;
	size_t kernel_of;
	bool asleep;

	if (left < -1) {
		left = plumb_states_offset(object, "offcpu_thread", "left");
		task = plumb_states_offset(object, "offcpu_thread", "task");
		kernel = plumb_states_offset(object, "offcpu_thread", "kernel");
		user = plumb_states_offset(object, "offcpu_thread", "user");
		preempted = plumb_states_offset(object, "offcpu_thread", "preempted");
		what = plumb_states_offset(object, "offcpu_thread", "what");
	}
	f.start = plumb_state_word(value, left);
	f.user = *(const int32_t *)(value + user);
	if (!f.start)
		return;
	asleep = is_asleep(f.pid, f.tid, &f.what);
	if (!asleep) {
		if (plumb_thread_stat(f.pid, f.tid, &stat) || stat.state != 'R')
			return;
		came_back = came(run, plumb_state_word(value, task));
		f.own = came_back >= f.start ? RUNNING : RUNNABLE;
		f.end = f.own == RUNNING ? came_back : 0;
		f.what = *(const uint32_t *)(value + what);
	}
	/* kernel[0] is of the last sleep. */
	kernel_of = asleep ? 0 : *(const uint32_t *)(value + preempted) & 1;
	f.kernel = ((const int32_t *)(value + kernel))[kernel_of];
	plumb_flights_add(to, &f);
}

static void name(const struct plumb_run *run, const struct plumb_flight *f, char *text, size_t size)
{
	char stack[256], *function;

	(void)run;
	if (f->own) {
		snprintf(text, size, "%s", f->own == RUNNING ? "[running]" : "[runnable]");
		return;
	}
	plumb_thread_read(f->pid, f->tid, "wchan", text, size);
	if (*text && strcmp(text, "0") != 0)
		return;
	/* Before 5.16 wchan is found by frame pointers, which those kernels do not have. */
	plumb_thread_read(f->pid, f->tid, "stack", stack, sizeof(stack));
	function = strstr(stack, "] ");
	snprintf(text, size, "%.*s", function ? (int)strcspn(function + 2, "+\n") : 1,
		 function ? function + 2 : "-");
}

static void print(const struct plumb_run *run, const struct plumb_flights *f, size_t n, FILE *out)
{
	bool some = false;

	(void)run;
	for (size_t i = 0; i < n; i++)
		some |= f->all[i].own == RUNNING;
	if (some)
		fputs("[running]: back on a CPU; AGE is the time that it had none\n", out);
}

const struct plumb_inflight asleep = {
	.heading = "WCHAN",
	.json = "wchan",
	.min_ns = &offcpu_selection.min_ns,
	.max_ns = &offcpu_selection.max_ns,
	.sleeps = true,
	.find = find_sleep,
	.proc = "stack",
	.read = read,
	.name = name,
	.frames = plumb_flight_frames,
	.print = print,
};
