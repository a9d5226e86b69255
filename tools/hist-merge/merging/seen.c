/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "merging/seen.h"
#include "reading/memory.h"
#include "reading/scan.h"
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL; /* Knuth, vol. 3, 6.4 */
	return hash ^ hash >> 32;
}

static uint64_t hash_of(const struct line *l)
{
	uint64_t hash = span_hash(l->tool, span_hash(l->host, l->host.n));

	return mix(mix(hash, l->seq), l->start) ?: 1;
}

static uint64_t *place(const struct seen *s, uint64_t hash)
{
	size_t i = hash & (s->slots - 1);

	while (s->hashes[i] && s->hashes[i] != hash)
		i = (i + 1) & (s->slots - 1);
	return &s->hashes[i];
}

static void make_room(struct seen *s)
{
	struct seen old = *s;

	if (s->n * 2 < s->slots)
		return;
	s->slots = s->slots * 2 ?: 1024;
	s->hashes = get(calloc(s->slots, sizeof(*s->hashes)));
	for (size_t i = 0; i < old.slots; i++)
		if (old.hashes[i])
			*place(s, old.hashes[i]) = old.hashes[i];
	free(old.hashes);
}

bool seen_before(struct seen *s, const struct line *l)
{
	uint64_t hash = hash_of(l), *at;

	if (l->n_hosts || s->n >= SEEN_MOST)
		return false;
	make_room(s);
	at = place(s, hash);
	if (*at)
		return true;
	*at = hash;
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

void seen_free(struct seen *s)
{
	struct held *h;

	free(s->hashes);
	while ((h = seen_release(s, UINT64_MAX))) {
		free(h->text);
		free(h);
	}
	*s = (struct seen){};
}
