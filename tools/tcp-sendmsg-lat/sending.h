/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sending: messages that TCP has not taken yet. */
#ifndef SENDING_H
#define SENDING_H

#include <plumb/inflight/inflight.h>

/* As plumb_inflight.read. */
void sending_read(const struct plumb_run *run, const struct plumb_state *state,
		  struct plumb_flights *to);

#endif
