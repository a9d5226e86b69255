/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* keys: the keys that the tool adds to --by, and their columns. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <plumb/core/fields.h>
#include <plumb/core/options.h>

#include "labels.h"

extern uint64_t tcp_size_step; /* as in struct tcp_config */
extern struct tcp_labels tcp_labels;

#define TCP_N_FIELDS 9
extern const struct plumb_field tcp_fields[TCP_N_FIELDS];

/* As plumb_keys.parse: takes "size", "size:BYTES" and "port". */
bool tcp_take_key(const char *item, struct plumb_options *options);
