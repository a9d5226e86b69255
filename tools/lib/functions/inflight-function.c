/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* inflight, of kernel functions: /proc/PID/stack; frames and in-flight slots of frames.bpf.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/bpf/function/function.h>
#include <plumb/core/memory.h>
#include <plumb/core/tool.h>
#include <plumb/functions/functions.h>
#include <plumb/functions/probe.h>
#include <plumb/inflight/inflight.h>

#include <bpf/libbpf.h>

/* Offsets of fields and sizes of structs of the programs. */
static struct layout {
	bool known;
	int depth, frames;
	size_t frame, inflight_slot;
	int place, target, start;
	int inflight_slot_start, inflight_slot_pid, inflight_slot_tid;
} at;

static void find_layout(const struct bpf_object *o)
{
	at.depth = plumb_states_offset(o, "function_thread", "depth");
	at.frames = plumb_states_offset(o, "function_thread", "frames");
	at.frame = plumb_states_size(o, "plumb_frame");
	at.place = plumb_states_offset(o, "plumb_frame", "place");
	at.target = plumb_states_offset(o, "plumb_frame", "target");
	at.start = plumb_states_offset(o, "plumb_frame", "start");
	at.inflight_slot = plumb_states_size(o, "plumb_inflight_call_slot");
	at.inflight_slot_start = plumb_states_offset(o, "plumb_inflight_call_slot", "start");
	at.inflight_slot_pid = plumb_states_offset(o, "plumb_inflight_call_slot", "pid");
	at.inflight_slot_tid = plumb_states_offset(o, "plumb_inflight_call_slot", "tid");
	at.known = true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct plumb_function *const *)a)->name,
		      (*(const struct plumb_function *const *)b)->name);
}

/* Finds a traced function by name; NULL: there is none. */
static const struct plumb_function *find(const struct plumb_functions *functions, char *name)
{
	static const struct plumb_function **sorted;
	const struct plumb_function key = {.name = name}, *wanted = &key, **found;

	if (!sorted) {
		sorted = plumb_zeroed(functions->n, sizeof(*sorted));
		for (size_t i = 0; i < functions->n; i++)
			sorted[i] = &functions->all[i];
		qsort(sorted, functions->n, sizeof(*sorted), by_name);
	}
	found = bsearch(&wanted, sorted, functions->n, sizeof(*sorted), by_name);
	return found ? *found : NULL;
}

/* Finds the innermost traced function in which the thread sleeps. */
static bool find_function(const struct plumb_run *run, struct plumb_flight *f)
{
	const struct plumb_functions *functions = run->tool->mechanisms.functions;
	const struct plumb_function *found = NULL;
	char text[16384], *rest = text, *line, *name;
	struct plumb_thread_stat stat;
	int err;

	/* For a thread that runs, /proc shows the stack of its last sleep. */
	if (plumb_thread_stat(f->pid, f->tid, &stat) || stat.state == 'R')
		return false;
	err = plumb_thread_read(f->pid, f->tid, "stack", text, sizeof(text));
	f->hidden = err == -EACCES || err == -EPERM;
	while (!found && (line = strsep(&rest, "\n"))) {
		name = strstr(line, "] ");
		if (!name)
			continue;
		name += 2;
		name[strcspn(name, "+ ")] = 0;
		found = find(functions, name);
	}
	if (found)
		f->what = found - functions->all;
	return found;
}

static const void *frame_at(const void *state, uint32_t i)
{
	return (const char *)state + at.frames + i * at.frame;
}

/* The calls on its stack, and the one that waits on its way out. */
static void read_functions(const struct plumb_run *run, const struct plumb_state *state,
			   struct plumb_flights *to)
{
	struct plumb_flight f = PLUMB_FLIGHT(state->pid, state->tid);
	const void *frame;
	uint32_t depth;

	if (!at.known)
		find_layout(run->instance.bpf.object);
	depth = *(const uint32_t *)((const char *)state->value + at.depth);
	for (uint32_t i = 0; i < depth; i++) {
		frame = frame_at(state->value, i);
		f.start = plumb_state_word(frame, at.start);
		f.what = PLUMB_TARGET_INDEX(plumb_state_word(frame, at.target));
		if (plumb_state_word(frame, at.place))
			plumb_flights_add(to, &f);
	}
	f = plumb_flight_of(run, state, "function_thread");
	plumb_flights_take(run, state, &f, to);
}

static void read_inflight_slots(const struct plumb_run *run, struct plumb_flights *to)
{
	const struct function_config *config = run->instance.bpf.function;
	struct plumb_flight f = {.kernel = PLUMB_NO_STACK, .user = PLUMB_NO_STACK};
	const char *inflight_slot;
	size_t size;

	if (!config || !config->inflight_slots)
		return;
	if (!at.known)
		find_layout(run->instance.bpf.object);
	inflight_slot =
		plumb_states_variable(run->instance.bpf.object, "plumb_inflight_call_slots", &size);
	for (; inflight_slot && size >= at.inflight_slot;
	     inflight_slot += at.inflight_slot, size -= at.inflight_slot) {
		f.start = plumb_state_word(inflight_slot, at.inflight_slot_start);
		f.pid = *(const uint32_t *)(inflight_slot + at.inflight_slot_pid);
		f.tid = *(const uint32_t *)(inflight_slot + at.inflight_slot_tid);
		if (f.start > 1) /* PLUMB_CALL_REJECTED */
			plumb_flights_add(to, &f);
	}
}

static bool are_traced(const struct plumb_run *run)
{
	return run->instance.bpf.function;
}

/* True if calls are only in session cookies, which the loader cannot read. */
static bool are_ageless(const struct plumb_run *run)
{
	return run->instance.bpf.function && !run->instance.bpf.function->frames;
}

static void name_function(const struct plumb_run *run, const struct plumb_flight *f, char *text,
			  size_t size)
{
	plumb_probe_name(run->tool->mechanisms.functions, f->what, text, size);
}

const struct plumb_inflight_kind plumb_functions_inflight = {
	.find = find_function,
	.read = read_functions,
	.read_rest = read_inflight_slots,
	.name = name_function,
	.is_traced = are_traced,
	.is_ageless = are_ageless,
};
