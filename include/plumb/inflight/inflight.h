/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inflight: the calls and sleeps that have not ended, each with its thread and its age.
 *
 * Those that began in the trace are in the programs' states of threads.  A thread that has none has
 * not begun anything since the programs were attached: what /proc says that it is inside, it has
 * been inside since before.  That holds only while the programs are attached, so threads are looked
 * at then; the states are read when the trace has ended, and agree with the ledger.
 */
#ifndef PLUMB_INFLIGHT_H
#define PLUMB_INFLIGHT_H

#include <jansson.h>
#include <plumb/report/inflight.h>
#include <plumb/report/stacks.h>
#include <plumb/inflight/states.h>
#include <plumb/session/threads.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void plumb_flights_add(struct plumb_flights *f, const struct plumb_flight *one);
void plumb_flights_free(struct plumb_flights *f);

/*
 * The two steps, for a tool that has plumb_tool.inflight: which threads are inside, which takes
 * programs that are attached; and, from then on or later, since when.  IN_FLIGHT is what the ledger
 * has: where that is 0, no states are read.
 */
void plumb_flights_find(const struct plumb_session *s, struct plumb_flights *f, bool final);
void plumb_flights_read(const struct plumb_session *s, struct plumb_flights *f, uint64_t in_flight,
			bool final);

/* As plumb_inflight.frames: what the programs took, or what the kernel says of a thread asleep. */
void plumb_flight_frames(const struct plumb_session *s, const struct plumb_flight *f,
			 struct plumb_frames *frames);

/* What tools of system calls have in common; what SELECTION is about is the tool's. */
struct syscall_config;
bool plumb_flight_find_syscall(const struct syscall_config *selection, struct plumb_flight *f);
void plumb_flight_read_syscall(const struct plumb_session *s, const struct plumb_state *state,
			       struct plumb_flights *to);
void plumb_flight_name_syscall(const struct plumb_session *s, const struct plumb_flight *f,
			       char *text, size_t size);

/* And tools of kernel functions. */
bool plumb_flight_find_function(const struct plumb_session *s, struct plumb_flight *f);
void plumb_flight_read_function(const struct plumb_session *s, const struct plumb_state *state,
				struct plumb_flights *to);
bool plumb_flight_is_ageless(const struct plumb_session *s);
void plumb_flight_read_inflight_slots(const struct plumb_session *s, struct plumb_flights *to);
void plumb_flight_name_function(const struct plumb_session *s, const struct plumb_flight *f,
				char *text, size_t size);

#endif
