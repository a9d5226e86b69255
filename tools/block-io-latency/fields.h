/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fields: the tool's own keys, as text and in JSON. */
#ifndef BLOCK_FIELDS_H
#define BLOCK_FIELDS_H

#include <plumb/tool/fields.h>

#include "block-io-latency.h"

#define BLOCK_N_FIELDS 6

extern const struct plumb_field block_fields[BLOCK_N_FIELDS];

/* Errors of keys are of type blk_status_t. */
extern bool block_has_status;

const char *block_op_name(uint32_t op);

#endif
