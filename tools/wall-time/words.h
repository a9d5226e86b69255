/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* words: the pieces of which a story is made.  Each returns TEXT. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <plumb/core/text.h>

#include "account.h"
#include "heads.h"

/* The name of the part's system call; "": none. */
const char *words_call(const struct part *p, char *text, size_t size);

/* A text of words_other(). */
#define OTHER (PLUMB_ESCAPED + 64)

/* Whether the part says which thread woke its threads, or had the CPU; "orders/7024 (flush)". */
bool words_has_other(const struct part *p);
const char *words_other(const struct part *p, char *text, size_t size);

/* Where: the call, and a function in it, and what that is about. */
const char *words_where(const struct part *p, char *text, size_t size);

/* "orders/7024 held it, 4 others passed it on" */
const char *words_head(const struct head *h, char *text, size_t size);
