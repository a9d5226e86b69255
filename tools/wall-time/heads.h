/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heads: the thread for which others wait, also those that are woken by one another. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "account.h"

/*
 * Threads that wait for the same often wake one another: each that got it passes it on.  The head
 * is the waker that itself waits least for it, and less than a quarter of what they do on average.
 */
struct head {
	uint32_t what; /* of the parts that it is the head of */
	struct wall_other other;
	size_t passed; /* other threads that woke waiting ones */
	size_t more;   /* other threads that hardly wait themselves: WHAT is several locks */
};

/* Whether there is something to hold where the threads of P sleep, unlike a pipe. */
bool heads_is_lock(const struct part *p);

/* The heads in parts that have not been joined yet: *N of them, allocated. */
struct head *heads_of(const struct part *parts, size_t n_parts, size_t *n);
