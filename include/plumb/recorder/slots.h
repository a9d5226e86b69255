/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* slots: assigns slots to keys before the trace, so that the programs need not do it. */
#pragma once

#include <stdint.h>

struct bpf_object;

/*
 * Called by a tool's fill(): assigns slot I + 1 to KEY; 0 or -errno.  Does nothing if there are
 * fewer slots: a calibration instance has one.
 */
int plumb_slot_fill(struct bpf_object *object, uint32_t i, const void *key);
