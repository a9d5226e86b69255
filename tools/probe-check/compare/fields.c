/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fields: which fields of a record still exist, at which offset, of which type. */
#include "compare/compare.h"

#include <inttypes.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key)) ?: "";
}

static int64_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static const json_t *find_field(const json_t *fields, const char *name)
{
	for (size_t i = 0; i < json_array_size(fields); i++)
		if (!strcmp(text_of(json_array_get(fields, i), "name"), name))
			return json_array_get(fields, i);
	return NULL;
}

static bool is_like(const json_t *a, const json_t *b)
{
	return number_of(a, "offset") == number_of(b, "offset") &&
	       number_of(a, "size") == number_of(b, "size") &&
	       compare_types_agree(text_of(a, "type"), text_of(b, "type"));
}

/*
 * The new name of FIELD of the list FROM: the field of TO with its offset, size and type, whose
 * name FROM does not have.
 */
static const json_t *find_renamed(const json_t *field, const json_t *from, const json_t *to)
{
	for (size_t i = 0; i < json_array_size(to); i++) {
		const json_t *other = json_array_get(to, i);

		if (is_like(field, other) && !find_field(from, text_of(other, "name")))
			return other;
	}
	return NULL;
}

/* Return whether the record holds the value itself, and no array, address or offset of it. */
static bool is_value(const char *type)
{
	return !strpbrk(type, "*[") && strncmp(type, "__data_loc", strlen("__data_loc"));
}

/* A char is signed on some architectures before 6.2, and on none since then. */
static bool is_char(const char *type)
{
	size_t skip = strncmp(type, "__data_loc ", 11) ? 0 : 11;

	skip += strncmp(type + skip, "const ", 6) ? 0 : 6;
	return !strncmp(type + skip, "char", 4) && strchr(" *[", type[skip + 4]);
}

static void compare_type(const struct comparison *c, const json_t *was, const json_t *is)
{
	const char *name = text_of(was, "name"), *old = text_of(was, "type"),
		   *new = text_of(is, "type");
	int64_t size = number_of(was, "size"), size_now = number_of(is, "size");
	bool is_signed = json_is_true(json_object_get(is, "signed")),
	     same_sign = json_is_true(json_object_get(was, "signed")) == is_signed;

	if (size != size_now)
		compare_tell(c, DIFFERENCE_BREAKING,
			     "field %s had %" PRId64 " bytes, has %" PRId64 "%s%s", name, size,
			     size_now, strcmp(old, new) ? ", and is " : "",
			     strcmp(old, new) ? new : "");
	else if (strcmp(old, new))
		compare_tell(c,
			     compare_types_agree(old, new) ||
					     (same_sign && is_value(old) && is_value(new))
				     ? DIFFERENCE_NOISE
				     : DIFFERENCE_BREAKING,
			     "field %s was %s, is %s", name, old, new);
	else if (!same_sign)
		compare_tell(c, is_char(old) ? DIFFERENCE_NOISE : DIFFERENCE_BREAKING,
			     "field %s is %s", name, is_signed ? "signed now" : "unsigned now");
}

static void compare_field(const struct comparison *c, const json_t *was, const json_t *is)
{
	int64_t offset = number_of(was, "offset"), offset_now = number_of(is, "offset");

	if (offset != offset_now)
		compare_tell(c, DIFFERENCE_MOVED,
			     "field %s moved from offset %" PRId64 " to %" PRId64,
			     text_of(was, "name"), offset, offset_now);
	compare_type(c, was, is);
}

void compare_fields(const struct comparison *c, const json_t *was, const json_t *is)
{
	for (size_t i = 0; i < json_array_size(was); i++) {
		const json_t *old = json_array_get(was, i),
			     *new = find_field(is, text_of(old, "name")), *renamed;

		renamed = new ? NULL : find_renamed(old, was, is);
		if (new)
			compare_field(c, old, new);
		else if (renamed)
			compare_tell(c, DIFFERENCE_BREAKING, "field %s is renamed: %s",
				     text_of(old, "name"), text_of(renamed, "name"));
		else
			compare_tell(c, DIFFERENCE_BREAKING, "field %s is gone",
				     text_of(old, "name"));
	}
	for (size_t i = 0; i < json_array_size(is); i++) {
		const json_t *new = json_array_get(is, i);

		if (!find_field(was, text_of(new, "name")) && !find_renamed(new, is, was))
			compare_tell(c, DIFFERENCE_ADDED, "field %s is new", text_of(new, "name"));
	}
}
