/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fields: the tool's parts of the key, as text and JSON. */
#pragma once

#include <plumb/core/fields.h>

#include "slab-latency.h"

struct bpf_object;

#define SLAB_N_FIELDS 8

extern const struct plumb_field slab_fields[SLAB_N_FIELDS];

/* Names of caches are read from this object's programs from now on. */
void slab_fields_use(struct bpf_object *object);
/* Reads the other names of caches: those that there are before the trace. */
void slab_merged_read(void);
/* Those of the cache of KEY: a new array. */
json_t *slab_merged_json(const void *key);
/* Reads the kernel's symbols. */
void slab_fields_begin(void);
