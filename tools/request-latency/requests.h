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

bool request_take_port(const char *item, struct plumb_options *options);
int requests_use(struct bpf_object *object);

/* --- uses.c --- */

/* With what requests did in which system calls, and for which peers. */
extern struct plumb_splitting request_splitting;

void uses_begin(void);
/* Called each time before the rows are read. */
void uses_read(const struct plumb_run *run);
