/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* victims: from which threads interrupts and softirqs took time, since the beginning of the trace.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

struct bpf_object;
struct plumb_report;

/* Takes the loaded OBJECT, whose maps the next two read; 0. */
int victims_of(struct bpf_object *object);
void victims_print(FILE *out);
void victims_json(json_t *json, const struct plumb_report *r);
