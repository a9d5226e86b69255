/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* names: locks, their owners and callers as text. */
#pragma once

#include <plumb/core/fields.h>

#include "lock-latency.h"

#define LOCK_N_FIELDS 6
extern const struct plumb_field lock_fields[LOCK_N_FIELDS];

/* Reads the addresses of the kernel's variables, and TEXTS; 0, or -errno. */
int lock_names_read(struct lock_text texts[LOCK_TEXTS]);

/* The first address whose function has the same name as that of CALLER; or UNKNOWN. */
uint64_t lock_first_caller(uint64_t caller, uint64_t unknown);

/* "i_rwsem of data.db"; and "postgres/4711"; return TEXT. */
char *lock_name_of(const struct lock_id *id, char *text, size_t size);
char *lock_holder_name(const struct lock_holder *owner, char *text, size_t size);
