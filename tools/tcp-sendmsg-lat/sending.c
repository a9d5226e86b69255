/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "sending.h"

/* With tracepoints the state has no stack of calls: it is that of tcp-sendmsg-lat-raw.bpf.c. */
void sending_read(const struct plumb_run *run, const struct plumb_state *state,
		  struct plumb_flights *to)
{
	const bool function = run->instance.bpf.function;
	const char *type = function ? "function_thread" : "sending_thread";
	static int start = -2, ret;
	struct plumb_flight f = {.pid = state->pid,
				 .tid = state->tid,
				 .kernel = PLUMB_NO_STACK,
				 .user = PLUMB_NO_STACK};

	if (start < -1) {
		start = plumb_states_offset(run->instance.bpf.object, type, "start");
		ret = plumb_states_offset(run->instance.bpf.object, type, "ret");
	}
	if (function)
		plumb_flight_read_function(run, state, to);
	else
		f.start = plumb_state_word(state->value, start);
	if (!f.start)
		f.start = plumb_flight_held_since(run, state->value, ret);
	if (f.start)
		plumb_flights_add(to, &f);
}
