/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "audit-parts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT    (JSON_COMPACT | JSON_ENSURE_ASCII)
#define MOST_CUTS 200
#define SHORT     64 /* bytes: a word is not cut below */

/* The list or word that takes most, and what has it. */
struct longest {
	json_t *value, *parent;
	const char *key; /* if the parent is an object */
	size_t index;    /* else */
	size_t size;
};

static size_t size_of(const json_t *value)
{
	return json_dumpb(value, NULL, 0, FORMAT | JSON_ENCODE_ANY);
}

static void consider(json_t *value, json_t *parent, const char *key, size_t index,
		     struct longest *longest)
{
	const json_t *before = longest->value;
	const char *name;
	json_t *inner;
	size_t i, size;

	if (json_is_object(value)) {
		json_object_foreach(value, name, inner) consider(inner, value, name, 0, longest);
		return;
	}
	json_array_foreach(value, i, inner) consider(inner, value, NULL, i, longest);
	/* Of a list with one long word, which may be {"hex"}, the word is cut. */
	if (longest->value != before && 2 * longest->size > size_of(value))
		return;
	if (json_is_array(value) ? json_array_size(value) < 2 : json_string_length(value) <= SHORT)
		return;
	size = size_of(value);
	if (size > longest->size)
		*longest = (struct longest){value, parent, key, index, size};
}

/* The first half of the word, in whole characters, and whole bytes of {"hex"}. */
static json_t *half_of(const json_t *word)
{
	const char *text = json_string_value(word);
	size_t n = json_string_length(word) / 4 * 2;

	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return json_stringn(text, n);
}

/* Returns whether there was something to be cut. */
static bool cut_longest(json_t *record)
{
	struct longest longest = {};
	size_t n;

	consider(record, NULL, NULL, 0, &longest);
	if (!longest.value)
		return false;
	if (json_is_array(longest.value)) {
		n = json_array_size(longest.value);
		for (size_t keep = n / 2; n > keep;)
			json_array_remove(longest.value, --n);
	} else if (longest.key) {
		json_object_set_new(longest.parent, longest.key, half_of(longest.value));
	} else {
		json_array_set_new(longest.parent, longest.index, half_of(longest.value));
	}
	return true;
}

char *plumb_audit_fit(const json_t *record, const struct plumb_sink *sink)
{
	char *line = json_dumps(record, FORMAT);
	json_t *copy = NULL;

	for (int i = 0; line && i < MOST_CUTS; i++) {
		if (plumb_sink_length(sink, line, strlen(line)) <= plumb_sink_room(sink))
			break;
		copy = copy ?: json_deep_copy(record);
		json_object_set_new(copy, "cut", json_true());
		if (!copy || !cut_longest(copy))
			break;
		free(line);
		line = json_dumps(copy, FORMAT);
	}
	json_decref(copy);
	return line;
}
