/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* calls: prints slow calls, one line each, in the order in which they ended. */
#ifndef CALLS_H
#define CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kept;
struct plumb_run;

/* STACKS: print the stack of the longest time off the CPU; WAKERS: that of the waking thread. */
void calls_begin(bool json, bool stacks, bool wakers);

/* The longest calls, which are kept from then on; never freed. */
struct kept *calls_keep(void);

/* The callbacks of struct plumb_ring. */
void calls_attached(struct plumb_run *run);
int calls_add(const void *record, size_t size);
int calls_print(bool all, uint64_t *again);

#endif
