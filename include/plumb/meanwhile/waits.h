/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* waits: what happened while one thread waited for a CPU, as text and in JSON. */
#pragma once

#include <stdio.h>
#include <plumb/bpf/sched/waits.h>
#include <plumb/meanwhile/meanwhile.h>

/*
 * Prints BEFORE, "(nice 0), only on CPU 3: " of the thread that waited, and "24.1ms nginx/123 (nice
 * 5), ..." of what took much of NS; nothing if there is none.
 */
void plumb_waits_print(const struct bpf_object *object, const struct plumb_waits *w, uint64_t ns,
		       const char *before, FILE *out);
/* Adds "waited", an object or null, and "meanwhile", an array, largest first. */
void plumb_waits_json(const struct bpf_object *object, const struct plumb_waits *w, json_t *j);
