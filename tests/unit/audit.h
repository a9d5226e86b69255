/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* audit: runs with records, in an /etc of their own, and their records. */
#pragma once

#include "apart.h"
#include "own-etc.h"
#include <errno.h>
#include <jansson.h>
#include <plumb/guard/audit.h>

#define LOG "/etc/log"
#define RAN "/etc/ran" /* is there if a run was allowed to begin */

static const char *sink = LOG;
static int (*body)(void);

static inline int run(void)
{
	plumb_audit_begin("syscall-count", sink);
	write_all(RAN, "", 0);
	return body ? body() : 0;
}

/* Its exit status, with no file from before. */
static inline int run_apart(int (*f)(void))
{
	unlink(RAN);
	body = f;
	return apart(run);
}

static inline bool has_run(void)
{
	return !access(RAN, F_OK);
}

/* Each a line of ASCII, which ends. */
static inline json_t *records_of(const char *path)
{
	json_t *all = json_array(), *one;
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while (f && (n = getline(&line, &room, f)) > 0) {
		for (ssize_t i = 0; i < n - 1; i++)
			check((unsigned char)line[i] >= ' ' && (unsigned char)line[i] <= 0x7f, "%s",
			      line);
		check(line[n - 1] == '\n', "%s", line);
		one = json_loads(line, 0, NULL);
		check(json_is_object(one), "%s", line);
		json_array_append_new(all, one);
	}
	free(line);
	if (f)
		fclose(f);
	return all;
}

/* Their events, "begin end". */
static inline const char *events_of(const char *path)
{
	static char text[128];
	json_t *all = records_of(path), *one;
	size_t i;

	*text = 0;
	json_array_foreach(all, i, one)
	{
		strncat(text, i ? " " : "", sizeof(text) - strlen(text) - 1);
		strncat(text, json_string_value(json_object_get(one, "event")),
			sizeof(text) - strlen(text) - 1);
	}
	json_decref(all);
	return text;
}

/* The last one, of a run that began with an empty file. */
static inline json_t *last_of(const char *path)
{
	json_t *all = records_of(path), *last;

	assert_true(json_array_size(all) > 0);
	last = json_incref(json_array_get(all, json_array_size(all) - 1));
	json_decref(all);
	return last;
}

static inline const char *text_of(const json_t *record, const char *name)
{
	return json_string_value(json_object_get(record, name));
}

/* "null" and JSON's own for what is no string. */
static inline const char *shown(const json_t *record, const char *name)
{
	static char *text;

	free(text);
	text = json_dumps(json_object_get(record, name), JSON_ENCODE_ANY | JSON_COMPACT);
	return text;
}
