/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "merging/seen.h"
#include "reading/memory.h"
#include <search.h>

static uint64_t hash_of(const struct line *l)
{
	const uint64_t numbers[] = {l->seq, l->start, l->host.n};
	const struct span of_numbers = {(const char *)numbers, sizeof(numbers)};

	return span_hash(of_numbers, span_hash(l->tool, span_hash(l->host, SPAN_HASH)));
}

static int in_order(const void *a, const void *b)
{
	const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;

	return (x > y) - (x < y);
}

bool seen_before(struct seen *s, const struct line *l)
{
	const void *hash = (void *)(uintptr_t)hash_of(l);

	if (l->n_hosts || s->n >= SEEN_MOST)
		return false;
	if (tfind(hash, &s->hashes, in_order))
		return true;
	get((void *)tsearch(hash, &s->hashes, in_order));
	s->n++;
	return false;
}

bool seen_hold(struct seen *s, const struct line *l, const char *text, size_t n)
{
	uint64_t hash = hash_of(l);
	struct held *h = s->held;

	while (h && h->hash != hash)
		h = h->next;
	if (h && (h->length > l->length || (h->length == l->length && h->count >= l->count)))
		return false;
	if (!h) {
		h = get(calloc(1, sizeof(*h)));
		h->next = s->held;
		s->held = h;
	}
	free(h->text);
	h->hash = hash;
	h->start = l->start;
	h->length = l->length;
	h->count = l->count;
	h->text = get(calloc(1, n + 1));
	memcpy(h->text, text, n);
	return true;
}

struct held *seen_release(struct seen *s, uint64_t time)
{
	struct held **at = &s->held, *h;

	while (*at && (*at)->start >= time)
		at = &(*at)->next;
	h = *at;
	if (h)
		*at = h->next;
	return h;
}

/* Of a key that is no memory. */
static void keep(void *hash)
{
}

void seen_free(struct seen *s)
{
	struct held *h;

	tdestroy(s->hashes, keep);
	while ((h = seen_release(s, UINT64_MAX))) {
		free(h->text);
		free(h);
	}
	*s = (struct seen){};
}
