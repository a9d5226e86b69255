/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fields: the tool's keys and the parts of a call's time, by name. */
#ifndef IO_FIELDS_H
#define IO_FIELDS_H

#include <plumb/core/fields.h>
#include <plumb/split/split.h>

#include "file-io-breakdown.h"

#define IO_N_FIELDS 4

/* IO_N_FIELDS of them. */
const struct plumb_field *io_fields(void);

/* In the order in which they are printed. */
extern const struct plumb_part_name io_parts[IO_ALL_PARTS];

#endif
