/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* words: names of futex words: a static variable of a file, or the area of memory. */
#pragma once

#include <stddef.h>
#include <plumb/core/ring.h>

#include "futex-latency.h"

/*
 * "server:queue_lock", "server:slots+0x28", "libc.so.6+0x1d2c60", "[heap]0x55d0c0a012b0",
 * "[anon]0x7f52…"; of a process that was gone before its memory was looked at, "0x7f52…".  A word
 * is named when it is first seen; PID: now, if it was not; 0: it is not looked for.  Returns TEXT.
 */
const char *words_name(const struct futex_word_key *word, uint32_t pid, char *text, size_t size);

/* The first word of the same name; of one that has no name, itself. */
const struct futex_word_key *words_first(const struct futex_word_key *word);

/* Of the records struct futex_seen. */
extern const struct plumb_ring_handlers words_seen;
