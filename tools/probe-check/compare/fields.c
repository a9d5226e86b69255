/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fields: which fields of a record still exist, at which offset, of which type. */
#include "compare/compare.h"

#include <string.h>

struct field {
	const char *name, *type;
	json_int_t offset, size;
	int is_signed;
};

static struct field field_of(const json_t *fields, size_t i)
{
	struct field f = {};

	json_unpack(json_array_get(fields, i), "{s:s, s:s, s:I, s:I, s:b}", "name", &f.name, "type",
		    &f.type, "offset", &f.offset, "size", &f.size, "signed", &f.is_signed);
	return f;
}

static bool find(const json_t *fields, const char *name, struct field *found)
{
	for (size_t i = 0; i < json_array_size(fields); i++) {
		*found = field_of(fields, i);
		if (!strcmp(found->name, name))
			return true;
	}
	return false;
}

/*
 * Find the new name of F of the list FROM: the field of TO with its offset, size and type, whose
 * name FROM does not have.
 */
static bool find_renamed(const struct field *f, const json_t *from, const json_t *to,
			 struct field *found)
{
	struct field same;

	for (size_t i = 0; i < json_array_size(to); i++) {
		*found = field_of(to, i);
		if (f->offset == found->offset && f->size == found->size &&
		    compare_types_agree(f->type, found->type) && !find(from, found->name, &same))
			return true;
	}
	return false;
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

static void compare_field(const struct comparison *c, const struct field *was,
			  const struct field *is)
{
	const bool same_type = !strcmp(was->type, is->type),
		   same_sign = was->is_signed == is->is_signed;

	if (was->offset != is->offset)
		compare_tell(c, DIFFERENCE_MOVED,
			     "field %s moved from offset %" JSON_INTEGER_FORMAT
			     " to %" JSON_INTEGER_FORMAT,
			     was->name, was->offset, is->offset);
	if (was->size != is->size)
		compare_tell(c, DIFFERENCE_BREAKING,
			     "field %s had %" JSON_INTEGER_FORMAT
			     " bytes, has %" JSON_INTEGER_FORMAT "%s%s",
			     was->name, was->size, is->size, same_type ? "" : ", and is ",
			     same_type ? "" : is->type);
	else if (!same_type)
		compare_tell(
			c,
			compare_types_agree(was->type, is->type) ||
					(same_sign && is_value(was->type) && is_value(is->type))
				? DIFFERENCE_NOISE
				: DIFFERENCE_BREAKING,
			"field %s was %s, is %s", was->name, was->type, is->type);
	else if (!same_sign)
		compare_tell(c, is_char(was->type) ? DIFFERENCE_NOISE : DIFFERENCE_BREAKING,
			     "field %s is %s", was->name,
			     is->is_signed ? "signed now" : "unsigned now");
}

void compare_fields(const struct comparison *c, const json_t *was, const json_t *is)
{
	struct field old, new;

	for (size_t i = 0; i < json_array_size(was); i++) {
		old = field_of(was, i);
		if (find(is, old.name, &new))
			compare_field(c, &old, &new);
		else if (find_renamed(&old, was, is, &new))
			compare_tell(c, DIFFERENCE_BREAKING, "field %s is renamed: %s", old.name,
				     new.name);
		else
			compare_tell(c, DIFFERENCE_BREAKING, "field %s is gone", old.name);
	}
	for (size_t i = 0; i < json_array_size(is); i++) {
		new = field_of(is, i);
		if (!find(was, new.name, &old) && !find_renamed(&new, is, was, &old))
			compare_tell(c, DIFFERENCE_ADDED, "field %s is new", new.name);
	}
}
