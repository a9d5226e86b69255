/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* requests: what request-latency says of requests: their keys, those in flight, slow ones. */
#pragma once

#include <plumb/core/inflight.h>
#include <plumb/core/tool.h>
#include <plumb/recorder/in-order.h>
#include <plumb/split/split.h>
#include "request-latency.h"

struct plumb_run;

#define REQUEST_FIELDS 8

extern const struct plumb_field request_fields[REQUEST_FIELDS];
extern const struct plumb_part_name request_parts[REQUEST_PARTS];
extern uint32_t request_unseen; /* of these, by number: nobody looks for them */
extern const struct plumb_inflight request_inflight;
extern struct plumb_in_order request_slow_ones;

extern const char *const request_stages[REQUEST_STAGES];

const char *request_server(uint64_t path, uint32_t port, char *text, size_t size);
bool request_take_port(const char *item, struct plumb_options *options);
int requests_use(struct bpf_object *object);

/* --- uses.c --- */

/* With what requests did in which system calls, and for which peers. */
extern struct plumb_splitting request_splitting;

/* Room for the name of a call or a peer, for which use_name() is NULL: the thread is in no call. */
#define USE_TEXT 96
const char *use_name(unsigned int part, uint64_t number, char *text, size_t size);
const struct plumb_part_name *request_part(unsigned int part);

void uses_begin(void);
/* Called each time before the rows are read. */
void uses_read(const struct plumb_run *run);

/* --- slow.c --- */

enum { REQUEST_STEP_QUEUED = REQUEST_PARTS, REQUEST_STEP_UNKNOWN };

/* A part of a request, from then to then; WHAT: the number of its call or peer. */
struct request_step {
	unsigned int part;
	uint64_t what, from, until;
};

struct request_steps {
	struct request_step all[3 * REQUEST_SPANS + 3];
	size_t n;
	bool cut; /* earlier ones were not kept */
};

void request_steps_of(const struct request_slow *r, struct request_steps *s);
/* TEXT has USE_TEXT + 32 bytes. */
const char *request_step_name(const struct request_step *s, char *text, size_t size);

/* Those for a trace. */
extern struct request_kept {
	bool asked;
	struct request_slow *all;
	size_t n;
	uint64_t dropped; /* later ones */
} request_kept;

/* For plumb_picture_save(), with a report: the requests that are kept, as trace events. */
int request_trace(void *report, FILE *out);
