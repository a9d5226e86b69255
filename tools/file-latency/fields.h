/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fields: the tool's own keys, as text and in JSON. */
#pragma once

#include <plumb/core/fields.h>

#include "file-latency.h"

struct bpf_object;

#define FILE_N_FIELDS 8

extern const struct plumb_field file_fields[FILE_N_FIELDS];

/* The object whose map has the paths of files. */
void file_fields_use(const struct bpf_object *object);

/* "read"; "io_uring:read" with FILE_BY_URING. */
void file_op_format(uint32_t op, char *text, size_t size);
/* The operation of that name, FILE_OPS: none. */
enum file_op file_op_find(const char *name);
