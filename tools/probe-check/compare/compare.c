/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* compare: find the differences between snapshots that programs made for the first may notice. */
#include "compare/compare.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const snapshot_part_names[SNAPSHOT_PARTS] = {
	[SNAPSHOT_FUNCTIONS] = "functions",
	[SNAPSHOT_PROTOTYPES] = "prototypes",
	[SNAPSHOT_RECORDS] = "records",
	[SNAPSHOT_FORMATS] = "tracepoints",
};

void compare_tell(const struct comparison *c, enum difference_class class, const char *format, ...)
{
	char target[512], text[1024];
	va_list args;

	snprintf(target, sizeof(target), "%s%s", c->prefix, c->name);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	c->tell(c->context, class, target, text);
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key)) ?: "";
}

typedef void comparer(const struct comparison *c, const json_t *was, const json_t *is);

static void compare_function(const struct comparison *c, const json_t *was, const json_t *is)
{
	const json_t *old = json_object_get(was, "arguments"),
		     *new = json_object_get(is, "arguments");
	const char *returned = text_of(was, "returns"), *returns = text_of(is, "returns");

	if (!old)
		return; /* only its name was known */
	if (!new) {
		compare_tell(c, DIFFERENCE_BREAKING, "its types are no longer known");
		return;
	}
	compare_arguments(c, old, json_object_get(was, "types"), new, json_object_get(is, "types"));
	if (strcmp(returned, returns))
		compare_tell(c,
			     compare_types_agree(returned, returns) ? DIFFERENCE_NOISE
								    : DIFFERENCE_BREAKING,
			     "returned %s, returns %s", returned, returns);
}

static void compare_prototype(const struct comparison *c, const json_t *was, const json_t *is)
{
	compare_arguments(c, was, NULL, is, NULL);
}

static const struct part {
	const char *prefix;
	comparer *compare;
} parts[SNAPSHOT_PARTS] = {
	[SNAPSHOT_FUNCTIONS] = {"k:", compare_function},
	[SNAPSHOT_PROTOTYPES] = {"raw_tp:", compare_prototype},
	[SNAPSHOT_RECORDS] = {"record:", compare_fields},
	[SNAPSHOT_FORMATS] = {"t:", compare_fields},
};

static void tell_gone(const struct comparison *c, enum snapshot_part part, const json_t *is)
{
	const char *event = strchr(c->name, ':'), *name;
	char other[256];
	json_t *value;

	if (part == SNAPSHOT_FUNCTIONS && c->kernel && !event &&
	    kernel_other_name(c->kernel, c->name, other, sizeof(other))) {
		compare_tell(c, DIFFERENCE_BREAKING, "gone, but there is %s", other);
		return;
	}
	if (part == SNAPSHOT_FORMATS && event)
		json_object_foreach((json_t *)is, name, value)
		{
			if (!strcmp(strchrnul(name, ':'), event)) {
				compare_tell(c, DIFFERENCE_BREAKING, "renamed: t:%s", name);
				return;
			}
		}
	compare_tell(c, DIFFERENCE_BREAKING, "gone");
}

/* Compare all items of WAS, in order; what only IS has is no difference.  Return their number. */
static size_t compare_all(struct comparison *c, enum snapshot_part part, const json_t *was,
			  const json_t *is)
{
	const json_t *other;
	json_t *value;

	c->prefix = parts[part].prefix;
	json_object_foreach((json_t *)was, c->name, value)
	{
		other = json_object_get(is, c->name);
		if (other)
			parts[part].compare(c, value, other);
		else
			tell_gone(c, part, is);
	}
	return json_object_size(was);
}

/* On another architecture the same arguments are in other registers. */
static void compare_arch(struct comparison *c, const char *was, const char *is)
{
	c->prefix = "";
	c->name = "arch";
	if (*was && *is && strcmp(was, is))
		compare_tell(c, DIFFERENCE_BREAKING, "was %s, is %s", was, is);
}

/* Why PART of the two cannot be compared; NULL: it can. */
static const char *obstacle(const json_t *was, const json_t *is, enum snapshot_part part)
{
	const char *name = snapshot_part_names[part],
		   *formats = snapshot_part_names[SNAPSHOT_FORMATS];
	bool before = json_object_get(was, name), now = json_object_get(is, name);

	if (part == SNAPSHOT_RECORDS && json_object_get(was, formats) &&
	    json_object_get(is, formats))
		return "the formats of tracepoints say the same";
	if (before && now)
		return NULL;
	if (part == SNAPSHOT_FORMATS)
		return now ? "the snapshot has none, as its kernel did not run"
			   : "only a running kernel has them";
	return now ? "the snapshot has none" : "this kernel has no types (BTF) that tell";
}

static size_t count_without_types(const json_t *functions)
{
	const char *name;
	size_t n = 0;
	json_t *value;

	json_object_foreach((json_t *)functions, name, value) n += !json_object_size(value);
	return n;
}

void snapshot_compare(const json_t *was, const json_t *is, const struct kernel *k,
		      snapshot_difference *tell, void *context, struct compared *compared)
{
	struct comparison c = {.tell = tell, .context = context, .kernel = k};

	*compared = (struct compared){
		.by_name = count_without_types(json_object_get(was, "functions")),
	};
	compare_arch(&c, text_of(was, "arch"), text_of(is, "arch"));
	for (enum snapshot_part part = 0; part < SNAPSHOT_PARTS; part++) {
		const char *name = snapshot_part_names[part];

		compared->why_not[part] = obstacle(was, is, part);
		if (!compared->why_not[part])
			compared->n[part] = compare_all(&c, part, json_object_get(was, name),
							json_object_get(is, name));
	}
}
