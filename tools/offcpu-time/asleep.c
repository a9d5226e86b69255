/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "asleep.h"

#include <string.h>

struct offcpu_config offcpu_selection = {.max_ns = UINT64_MAX};

/* The state as a key, of a thread whose stay began before the trace. */
static uint32_t state_of(char state)
{
	return state == 'S'   ? OFFCPU_SLEEPING
	       : state == 'D' ? OFFCPU_UNINTERRUPTIBLE
			      : OFFCPU_OTHER;
}

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

static bool find_sleep(const struct plumb_session *s, struct plumb_flight *f)
{
	(void)s;
	return is_asleep(f->pid, f->tid, &f->what);
}

/* A state keeps when its thread left its CPU even after it is back; /proc shows whether it is. */
static void read(const struct plumb_session *s, const struct plumb_state *state,
		 struct plumb_flights *to)
{
	static int left = -2, kernel, user;
	struct plumb_flight f = {.pid = state->pid, .tid = state->tid};
	const char *value = state->value;

	if (left < -1) {
		left = plumb_states_offset(s->instance.bpf.object, "offcpu_thread", "left");
		kernel = plumb_states_offset(s->instance.bpf.object, "offcpu_thread", "kernel");
		user = plumb_states_offset(s->instance.bpf.object, "offcpu_thread", "user");
	}
	f.start = plumb_state_word(value, left);
	f.kernel = *(const int32_t *)(value + kernel); /* kernel[0]: of the last sleep */
	f.user = *(const int32_t *)(value + user);
	if (f.start && is_asleep(f.pid, f.tid, &f.what))
		plumb_flights_add(to, &f);
}

static void name(const struct plumb_session *s, const struct plumb_flight *f, char *text,
		 size_t size)
{
	char stack[256], *function;

	(void)s;
	plumb_thread_read(f->pid, f->tid, "wchan", text, size);
	if (*text && strcmp(text, "0") != 0)
		return;
	/* Before 5.16 wchan is found by frame pointers, which those kernels do not have. */
	plumb_thread_read(f->pid, f->tid, "stack", stack, sizeof(stack));
	function = strstr(stack, "] ");
	snprintf(text, size, "%.*s", function ? (int)strcspn(function + 2, "+\n") : 1,
		 function ? function + 2 : "-");
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
};
