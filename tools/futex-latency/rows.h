/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rows: the keys of rows and their columns. */
#pragma once

#include <plumb/core/report.h>
#include <plumb/core/tool.h>

#define FUTEX_N_FIELDS 6

extern const struct plumb_field futex_fields[FUTEX_N_FIELDS];
extern const struct plumb_column futex_columns[];

/* Words of the same name are one row: those of other processes, if rows are not by pid. */
void rows_unify(void *key);

/* OBJECT has the stacks. */
void rows_use(const struct bpf_object *object);
