/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* requests: those in flight, and what else happened to requests. */
#ifndef BLOCK_REQUESTS_H
#define BLOCK_REQUESTS_H

#include <jansson.h>
#include <stdio.h>
#include <plumb/core/inflight.h>

struct bpf_object;
struct plumb_options;
struct plumb_report;

extern const struct plumb_inflight block_inflight;

/* Whether O selects threads, so that there are others. */
void block_requests_of(const struct plumb_options *o);

/* Takes the loaded OBJECT, whose counters the next two read; 0. */
int block_requests_use(struct bpf_object *object);
void block_counts_print(FILE *out);
void block_counts_json(json_t *json, const struct plumb_report *r);

#endif
