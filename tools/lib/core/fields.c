/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/bpf/key/key.h>
#include <plumb/core/fields.h>
#include <plumb/core/json.h>
#include <plumb/core/part.h>
#include <plumb/core/reasons.h>
#include <plumb/core/text.h>
#include <plumb/core/tool.h>
#include <plumb/kernel/cgroup.h>

static uint64_t number_of(const struct plumb_field *f, const void *key)
{
	uint64_t number = 0;

	memcpy(&number, (const char *)key + f->at, f->size); /* all architectures: little-endian */
	return number;
}

static void format_flags(const struct plumb_field *f, uint64_t flags, char *text, size_t size)
{
	size_t n = 0;

	snprintf(text, size, "-");
	for (size_t i = 0; i < f->n_names; i++)
		if (flags >> i & 1 && n < size)
			n += snprintf(text + n, size - n, "%s%s", n ? "," : "", f->names[i]);
}

/* "4K": 4096 bytes and more, fewer than 8192. */
static void format_bytes(unsigned long long bytes, char *text, size_t size)
{
	const char *suffix = "";

	for (const char *next = "KMG"; *next && bytes >= 1024; next++) {
		bytes /= 1024;
		suffix = next;
	}
	snprintf(text, size, "%llu%.1s", bytes, suffix);
}

const char *plumb_field_format(const struct plumb_field *f, const void *key, char *text,
			       size_t size)
{
	char word[64];
	uint64_t number = 0;

	if (f->format) {
		f->format(key, text, size);
		return text;
	}
	if (f->member == PLUMB_TEXT) {
		plumb_escape(text, (const char *)key + f->at, size);
	} else if (f->member == PLUMB_WORD) {
		snprintf(word, sizeof(word), "%.*s", (int)f->size, (const char *)key + f->at);
		plumb_escape(text, *word ? word : "-", size);
	} else {
		number = number_of(f, key);
	}
	if (f->member == PLUMB_NUMBER)
		snprintf(text, size, "%llu", (unsigned long long)number);
	else if (f->member == PLUMB_SIGNED)
		snprintf(text, size, "%lld", (long long)number);
	else if (f->member == PLUMB_NAME)
		snprintf(text, size, "%s", f->names[number < f->n_names ? number : f->n_names - 1]);
	else if (f->member == PLUMB_FLAGS)
		format_flags(f, number, text, size);
	else if (f->member == PLUMB_ERRNO)
		snprintf(text, size, "%s", number ? plumb_errno_name(number) : "0");
	else if (f->member == PLUMB_BYTES_2)
		format_bytes(number, text, size);
	return text;
}

/* Null if the number is not known ("-"); text if it is no decimal one, or too large for JSON. */
static json_t *json_of_number(const char *text)
{
	long long number;
	char *end;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (end == text)
		return json_null();
	return *end || errno ? json_string(text) : json_integer(number);
}

json_t *plumb_field_json(const struct plumb_field *f, const void *key)
{
	char text[4096];

	if (f->json)
		return f->json(key);
	if (f->number && f->size)
		return json_integer(number_of(f, key));
	plumb_field_format(f, key, text, sizeof(text));
	return f->number ? json_of_number(text) : plumb_json_text(text);
}

static void format_cgroup(const void *key, char *text, size_t size)
{
	plumb_cgroup_path(((const struct plumb_who *)key)->cgroup, text, size);
}

const struct plumb_field plumb_common_fields[] = {
	{PLUMB_FIELD("pid", PLUMB_BY_PID, PLUMB_NUMBER, plumb_who, pid)},
	{PLUMB_FIELD("tid", PLUMB_BY_TID, PLUMB_NUMBER, plumb_who, tid)},
	{PLUMB_FIELD("comm", PLUMB_BY_COMM, PLUMB_TEXT, plumb_who, comm)},
	{PLUMB_FIELD("process", PLUMB_BY_PROCESS, PLUMB_TEXT, plumb_who, process)},
	{"cgroup", PLUMB_BY_CGROUP, .format = format_cgroup},
	{PLUMB_FIELD("cgroup_id", PLUMB_BY_CGROUP_ID, PLUMB_NUMBER, plumb_who, cgroup)},
	{PLUMB_FIELD("cpu", PLUMB_BY_CPU, PLUMB_NUMBER, plumb_who, cpu)},
};
const size_t plumb_n_common_fields = sizeof(plumb_common_fields) / sizeof(plumb_common_fields[0]);

const struct plumb_field *plumb_field_at(const struct plumb_tool *tool, size_t i)
{
	if (i < plumb_n_common_fields)
		return &plumb_common_fields[i];
	i -= plumb_n_common_fields;
	for (const struct plumb_part *const *p = plumb_parts; *p; p++)
		for (const struct plumb_field *f = (*p)->fields; f && f->name; f++)
			if (!i--)
				return f;
	return i < tool->keys.n_fields ? &tool->keys.fields[i] : NULL;
}

const struct plumb_field *plumb_field_find(const struct plumb_tool *tool, const char *name)
{
	const struct plumb_field *f;

	for (size_t i = 0; (f = plumb_field_at(tool, i)); i++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}
