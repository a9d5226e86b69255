/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fields: the tool's parts of the key, as text and JSON. */
#ifndef SLAB_FIELDS_H
#define SLAB_FIELDS_H

#include <plumb/core/fields.h>

struct bpf_object;

extern const struct plumb_field slab_fields[];
extern const size_t slab_n_fields;

/* Names of caches are read from this object's programs from now on. */
void slab_fields_use(struct bpf_object *object);
/* The other names of the cache of KEY. */
json_t *slab_merged_json(const void *key);
/* Reads the kernel's symbols. */
void slab_fields_begin(void);

#endif
