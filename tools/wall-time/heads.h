/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heads: the thread for which others wait (split/heads.h), by system call and its operation. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <plumb/split/heads.h>

#include "account.h"

struct head {
	struct plumb_head chain; /* chain.what: that of the parts that it is the head of */
	struct wall_other other;
	const char *start; /* its start function; "": not known */
};

/* Whether there is something to hold where the threads of P sleep, unlike a pipe. */
bool heads_is_lock(const struct part *p);

/* The heads in parts that have not been joined yet: *N of them, allocated. */
struct head *heads_of(const struct part *parts, size_t n_parts, size_t *n);
