/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fields: the tool's own keys, as text and in JSON. */
#ifndef BLOCK_FIELDS_H
#define BLOCK_FIELDS_H

#include <plumb/core/fields.h>

#include "block-io-latency.h"

#define BLOCK_N_FIELDS 7

extern const struct plumb_field block_fields[BLOCK_N_FIELDS];

const char *block_op_name(uint32_t op);
const char *block_stage_name(uint32_t stage);

#endif
