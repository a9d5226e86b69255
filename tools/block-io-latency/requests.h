/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* requests: their keys; those in flight, slow ones, and what else happened to requests. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include <plumb/core/fields.h>
#include <plumb/core/inflight.h>
#include <plumb/recorder/in-order.h>

#include "block-io-latency.h"

struct bpf_object;

#define BLOCK_N_FIELDS 7

extern const struct plumb_field block_fields[BLOCK_N_FIELDS];
extern const struct plumb_inflight block_inflight;
/* Slow ones (--slower) are printed one line each, in the order in which they ended. */
extern struct plumb_in_order block_slow_requests;

/* Some threads, not all. */
extern bool block_selects;

/* Whether O, with SLOWER, asks for the stages of requests. */
bool block_requests_of(const struct plumb_options *o, bool slower);

/* Takes the loaded OBJECT, whose counters the next three read; 0. */
int block_requests_use(struct bpf_object *object);
/* The sum of that member of struct block_counts. */
uint64_t block_counted(size_t at);
void block_counts_print(FILE *out);
void block_counts_json(json_t *json, const struct plumb_report *r);

/* witness.c */
extern const struct plumb_witness block_witness;
