/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heads: the thread for which others wait, also those that are woken by one another. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Waits of a thread that another one ended. */
struct plumb_ended_wait {
	uint64_t what;          /* the place of the wait */
	uint32_t waiter, waker; /* threads; WAKER 0: not known */
	int64_t ns;
	uint64_t n;
	const void *by; /* of the caller's, about the waker */
};

/*
 * Threads that wait for the same often wake one another: each that got it passes it on.  The head
 * is the waker that ends most of the waits, at least five, and at least twice as much as it waits
 * itself.
 */
struct plumb_head {
	uint64_t what;
	uint32_t tid;
	const void *by; /* of one of the waits that it ended */
	size_t passed;  /* other threads that woke waiting ones */
	size_t more;    /* other threads that hardly wait themselves: WHAT is several locks */
};

/* The heads of N waits, by WHAT: *N_HEADS of them, allocated. */
struct plumb_head *plumb_heads_of(const struct plumb_ended_wait *waits, size_t n, size_t *n_heads);

/* "orders/7024 held it, 4 others passed it on", of NAME, which DID that; returns TEXT. */
const char *plumb_head_text(const struct plumb_head *h, const char *name, const char *did,
			    char *text, size_t size);
