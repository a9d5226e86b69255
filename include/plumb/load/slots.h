/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* slots: keys that have their slots before the trace, so that the programs need not give them any.
 */
#ifndef PLUMB_SLOTS_H
#define PLUMB_SLOTS_H

#include <stdint.h>

struct bpf_object;

/*
 * In a tool's fill: gives KEY the slot I + 1; 0 or -errno.  Nothing where there are fewer slots: a
 * calibration instance has one.
 */
int plumb_slot_fill(struct bpf_object *object, uint32_t i, const void *key);

#endif
