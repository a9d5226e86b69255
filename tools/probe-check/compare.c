/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* compare: in what two snapshots differ, as far as a program that relies on the first may notice.
 */
#include "snapshot.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct comparison {
	snapshot_difference *tell;
	void *context;
	char target[512];
};

static void tell(const struct comparison *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void tell(const struct comparison *c, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	c->tell(c->context, c->target, text);
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key)) ?: "";
}

static json_int_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* --- functions --- */

static void compare_arguments(const struct comparison *c, const json_t *was, const json_t *is)
{
	size_t n_was = json_array_size(was), n_is = json_array_size(is);

	if (n_was != n_is)
		tell(c, "takes %zu argument%s, took %zu", n_is, n_is == 1 ? "" : "s", n_was);
	for (size_t i = 0; i < n_was || i < n_is; i++) {
		const char *old = json_string_value(json_array_get(was, i)),
			   *new = json_string_value(json_array_get(is, i));

		if (!new)
			tell(c, "argument %zu was %s, and is gone", i, old);
		else if (!old)
			tell(c, "argument %zu is new: %s", i, new);
		else if (strcmp(old, new))
			tell(c, "argument %zu was %s, is %s", i, old, new);
	}
}

static void compare_function(const struct comparison *c, const json_t *was, const json_t *is)
{
	const json_t *old = json_object_get(was, "arguments"),
		     *new = json_object_get(is, "arguments");

	if (!is) {
		tell(c, "gone");
		return;
	}
	if (!old)
		return; /* nothing was known of it but its name */
	if (!new) {
		tell(c, "its types are no longer known");
		return;
	}
	compare_arguments(c, old, new);
	if (strcmp(text_of(was, "returns"), text_of(is, "returns")))
		tell(c, "returned %s, returns %s", text_of(was, "returns"), text_of(is, "returns"));
}

/* --- tracepoints --- */

static const json_t *find_field(const json_t *fields, const char *name)
{
	for (size_t i = 0; i < json_array_size(fields); i++)
		if (!strcmp(text_of(json_array_get(fields, i), "name"), name))
			return json_array_get(fields, i);
	return NULL;
}

static void compare_field(const struct comparison *c, const json_t *was, const json_t *is)
{
	const char *name = text_of(was, "name");

	if (!is) {
		tell(c, "field %s is gone", name);
		return;
	}
	if (number_of(was, "offset") != number_of(is, "offset"))
		tell(c, "field %s moved from offset %" PRId64 " to %" PRId64, name,
		     (int64_t)number_of(was, "offset"), (int64_t)number_of(is, "offset"));
	if (strcmp(text_of(was, "type"), text_of(is, "type")))
		tell(c, "field %s was %s, is %s", name, text_of(was, "type"), text_of(is, "type"));
	else if (number_of(was, "size") != number_of(is, "size"))
		tell(c, "field %s had %" PRId64 " bytes, has %" PRId64, name,
		     (int64_t)number_of(was, "size"), (int64_t)number_of(is, "size"));
	else if (json_is_true(json_object_get(was, "signed")) !=
		 json_is_true(json_object_get(is, "signed")))
		tell(c, "field %s is %s", name,
		     json_is_true(json_object_get(is, "signed")) ? "signed now" : "unsigned now");
}

static void compare_tracepoint(const struct comparison *c, const json_t *was, const json_t *is)
{
	if (!is) {
		tell(c, "gone");
		return;
	}
	for (size_t i = 0; i < json_array_size(was); i++) {
		const json_t *field = json_array_get(was, i);

		compare_field(c, field, find_field(is, text_of(field, "name")));
	}
	for (size_t i = 0; i < json_array_size(is); i++) {
		const char *name = text_of(json_array_get(is, i), "name");

		if (!find_field(was, name))
			tell(c, "field %s is new", name);
	}
}

/* Of all names in WAS, in their order; what only IS has cannot be missed. */
static void compare_all(struct comparison *c, const char *prefix, const json_t *was,
			const json_t *is,
			void (*compare)(const struct comparison *, const json_t *, const json_t *))
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)was, name, value)
	{
		snprintf(c->target, sizeof(c->target), "%s%s", prefix, name);
		compare(c, value, json_object_get(is, name));
	}
}

/* What is declared alike is in other registers then. */
static void compare_arch(struct comparison *c, const char *was, const char *is)
{
	snprintf(c->target, sizeof(c->target), "arch");
	if (*was && *is && strcmp(was, is))
		tell(c, "was %s, is %s", was, is);
}

void snapshot_compare(const json_t *was, const json_t *is, snapshot_difference *tell_one,
		      void *context)
{
	struct comparison c = {.tell = tell_one, .context = context};
	const json_t *tracepoints = json_object_get(is, "tracepoints");

	compare_arch(&c, text_of(was, "arch"), text_of(is, "arch"));
	compare_all(&c, "k:", json_object_get(was, "functions"), json_object_get(is, "functions"),
		    compare_function);
	if (tracepoints)
		compare_all(&c, "t:", json_object_get(was, "tracepoints"), tracepoints,
			    compare_tracepoint);
}
