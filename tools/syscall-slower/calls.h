/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * calls: prints slow calls, a line each, in the order in which they ended.  So each is
 * kept for some 10 ms first.
 */
#ifndef CALLS_H
#define CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_session;

/* STACKS: of the call where it was off its CPU longest; WAKERS: of who woke it. */
void calls_begin(bool json, bool stacks, bool wakers);

/* As struct plumb_ring wants them. */
void calls_attached(struct plumb_session *s);
int calls_add(const void *record, size_t size);
int calls_print(bool all, uint64_t *again);

#endif
