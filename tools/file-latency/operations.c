/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "operations.h"

#include <plumb/kernel/map.h>
#include <plumb/session/session.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "fields.h"

/* In plumb_flight.what: it is an operation, not the number of a function. */
#define IS_OPERATION (1U << 16)

static const __u32 *target_ops;

void operations_use(const __u32 *targets)
{
	target_ops = targets;
}

/* With tracepoints the state is that of file-latency-raw.bpf.c. */
static void read_call(const struct plumb_session *s, const struct plumb_state *state,
		      struct plumb_flights *to)
{
	static int start = -2, op;
	struct plumb_flight f = {.pid = state->pid,
				 .tid = state->tid,
				 .kernel = PLUMB_NO_STACK,
				 .user = PLUMB_NO_STACK};

	if (start < -1) {
		start = plumb_states_offset(s->instance.bpf.object, "file_thread", "start");
		op = plumb_states_offset(s->instance.bpf.object, "file_thread", "op");
	}
	f.start = plumb_state_word(state->value, start);
	f.what = plumb_state_word(state->value, op) | IS_OPERATION;
	if (f.start)
		plumb_flights_add(to, &f);
}

void operations_read(const struct plumb_session *s, const struct plumb_state *state,
		     struct plumb_flights *to)
{
	if (s->instance.bpf.function)
		plumb_flight_read_function(s, state, to);
	else
		read_call(s, state, to);
}

void operations_read_uring(const struct plumb_session *s, struct plumb_flights *to)
{
	int map = bpf_object__find_map_fd_by_name(s->instance.bpf.object, "uring_requests");
	struct uring_id id, *previous = NULL;
	struct uring_request r;

	/* If one is deleted meanwhile, the iteration restarts: some are read twice. */
	for (size_t n = 0; n < FILE_REQUESTS && !bpf_map_get_next_key(map, previous, &id); n++) {
		previous = &id;
		if (plumb_map_lookup(map, &id, &r) || !r.start)
			continue;
		plumb_flights_add(to, &(struct plumb_flight){
					      .start = r.start,
					      .pid = r.pid,
					      .tid = r.tid,
					      .what = r.op | IS_OPERATION,
					      .kernel = PLUMB_NO_STACK,
					      .user = PLUMB_NO_STACK,
				      });
	}
}

void operations_name(const struct plumb_session *s, const struct plumb_flight *f, char *text,
		     size_t size)
{
	(void)s;
	if (f->what & IS_OPERATION)
		file_op_format(f->what & ~IS_OPERATION, text, size);
	else
		file_op_format(target_ops[f->what & (FILE_TARGETS - 1)], text, size);
}
