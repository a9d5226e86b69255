/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "sending.h"

/* With tracepoints the state has no stack of calls: it is that of tcp-sendmsg-lat-raw.bpf.c. */
static void read_message(const struct plumb_session *s, const struct plumb_state *state,
			 struct plumb_flights *to)
{
	static int start = -2, ret;
	struct plumb_flight f = {.pid = state->pid,
				 .tid = state->tid,
				 .kernel = PLUMB_NO_STACK,
				 .user = PLUMB_NO_STACK};

	if (start < -1) {
		start = plumb_states_offset(s->instance.bpf.object, "sending_thread", "start");
		ret = plumb_states_offset(s->instance.bpf.object, "sending_thread", "ret");
	}
	f.start = plumb_state_word(state->value, start);
	if (!f.start)
		f.start = plumb_flight_held_since(s, state->value, ret);
	if (f.start)
		plumb_flights_add(to, &f);
}

void sending_read(const struct plumb_session *s, const struct plumb_state *state,
		  struct plumb_flights *to)
{
	if (s->instance.bpf.function)
		plumb_flight_read_function(s, state, to);
	else
		read_message(s, state, to);
}
