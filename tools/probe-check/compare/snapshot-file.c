/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* snapshot-file: write and read files of snapshots.  What is read is not trusted. */
#include "compare/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/file.h>
#include <plumb/core/log.h>
#include <plumb/files/atomic-file.h>

/* Bytes.  All functions and tracepoints of a kernel take a tenth of it. */
#define LARGEST (64 << 20)

int snapshot_write(const json_t *snapshot, const char *path)
{
	struct plumb_atomic_file r;
	int err = plumb_atomic_file_begin(&r, path);

	if (!err) {
		if (json_dumpf(snapshot, r.out, JSON_INDENT(1) | JSON_SORT_KEYS) ||
		    fputc('\n', r.out) == EOF)
			err = -(errno ?: EIO);
		err = plumb_atomic_file_end(&r, err);
	}
	return err ? plumb_error(err, "--save: cannot write %s: %s", path,
				 plumb_atomic_file_error(err))
		   : 0;
}

/* Return whether J is an object with members of these types (json_unpack()). */
#define has_form(j, ...) (!json_unpack_ex((json_t *)(j), NULL, JSON_VALIDATE_ONLY, __VA_ARGS__))

static bool is_list(const json_t *list, bool (*is)(const json_t *))
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!is(json_array_get(list, i)))
			return false;
	return json_is_array(list);
}

static bool is_text(const json_t *text)
{
	return json_is_string(text);
}

static bool are_texts(const json_t *list)
{
	return is_list(list, is_text);
}

static bool is_function(const json_t *f)
{
	const json_t *arguments = json_object_get(f, "arguments"),
		     *types = json_object_get(f, "types");

	if (!arguments)
		return json_is_object(f) && !json_object_get(f, "returns");
	return has_form(f, "{s:s}", "returns") && are_texts(arguments) &&
	       (!types ||
		(are_texts(types) && json_array_size(types) == json_array_size(arguments)));
}

static bool is_field(const json_t *f)
{
	return has_form(f, "{s:s, s:s, s:I, s:I, s:b}", "name", "type", "offset", "size", "signed");
}

static bool is_tracepoint(const json_t *fields)
{
	return is_list(fields, is_field);
}

static bool are_all(const json_t *object, bool (*is)(const json_t *))
{
	const char *name;
	json_t *value;

	if (!json_is_object(object))
		return false;
	json_object_foreach((json_t *)object, name, value) if (!is(value)) return false;
	return true;
}

/* What is wrong with the form of a snapshot; NULL: nothing. */
static const char *flaw_of(const json_t *s)
{
	static const struct {
		const char *name, *flaw;
		bool (*is)(const json_t *item);
	} parts[] = {
		{"functions", "its functions are damaged", is_function},
		{"tracepoints", "its tracepoints are damaged", is_tracepoint},
		{"records", "its records of tracepoints are damaged", is_tracepoint},
		{"prototypes", "its prototypes of tracepoints are damaged", are_texts},
	};
	const char *schema = json_string_value(json_object_get(s, "schema"));
	size_t n = 0;

	if (!schema || strncmp(schema, "plumb-snapshot/", strlen("plumb-snapshot/")))
		return "it is not a snapshot of probe-check --save";
	if (strcmp(schema, "plumb-snapshot/1"))
		return "it is of another version of probe-check";
	if (!has_form(s, "{s:s, s:s}", "kernel", "arch"))
		return "it does not name its kernel";
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const json_t *part = json_object_get(s, parts[i].name);

		/* Functions are always there. */
		if ((part || !i) && !are_all(part, parts[i].is))
			return parts[i].flaw;
		n += json_object_size(part);
	}
	return n ? NULL : "there is nothing in it";
}

json_t *snapshot_read(const char *path)
{
	size_t size;
	char *text = plumb_file_read("--against", path, LARGEST, &size);
	json_error_t error;
	const char *flaw;
	json_t *s;

	if (!text)
		return NULL;
	s = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	free(text);
	if (!s) {
		plumb_warn("--against: %s: line %d: %s", path, error.line, error.text);
		return NULL;
	}
	flaw = flaw_of(s);
	if (!flaw)
		return s;
	plumb_warn("--against: %s: %s", path, flaw);
	json_decref(s);
	return NULL;
}
