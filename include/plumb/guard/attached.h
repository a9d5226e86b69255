/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attached: the audit record of hooks and programs that are attached. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <plumb/core/attaching.h>

/* All zero: nothing.  Of each list the record has the first 64, and its length. */
struct plumb_attached {
	json_t *hooks, *programs;
	size_t n_hooks, n_programs;
};

/* NAME as probe-list prints it; one that is there already is not added again. */
void plumb_attached_add_hook(struct plumb_attached *a, const char *name);
/* The hooks of probes, and the copies of programs for them. */
void plumb_attached_add_probes(struct plumb_attached *a, const struct plumb_probes *probes);
/* The programs of a loaded object. */
void plumb_attached_add_object(struct plumb_attached *a, const struct bpf_object *object);

/* Writes the record; FILTERS, which it takes, may be NULL.  Returns 0, or -errno after a message.
 */
int plumb_attached_write(struct plumb_attached *a, const char *mechanism, json_t *filters);
