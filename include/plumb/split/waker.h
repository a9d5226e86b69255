/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* waker: wakers as text and in JSON. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <plumb/bpf/sched/waker.h>

static inline bool plumb_waker_has_stack(const struct plumb_waker *w)
{
	return (w->kind >= PLUMB_WAKER_THREAD && w->kind < PLUMB_WAKER_INTERRUPT) ||
	       w->kind >= PLUMB_OWNER_SLEEPS;
}

/* "woken by nginx/123", with the tid, or the pid if that is 0; "" if it is not known. */
const char *plumb_waker_text(const struct plumb_waker *w, char *text, size_t size);
/* An object; null if it is not known. */
json_t *plumb_waker_json(const struct plumb_waker *w);
