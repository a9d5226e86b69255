/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/kernel/cgroup.h>
#include <plumb/core/fields.h>
#include <plumb/bpf/key/key.h>
#include <plumb/core/text.h>
#include <plumb/core/tool.h>
#include <stdio.h>
#include <string.h>

static void format_pid(const void *key, char *text, size_t size)
{
	snprintf(text, size, "%u", ((const struct plumb_who *)key)->pid);
}

static json_t *json_pid(const void *key)
{
	return json_integer(((const struct plumb_who *)key)->pid);
}

static void format_tid(const void *key, char *text, size_t size)
{
	snprintf(text, size, "%u", ((const struct plumb_who *)key)->tid);
}

static json_t *json_tid(const void *key)
{
	return json_integer(((const struct plumb_who *)key)->tid);
}

static void format_comm(const void *key, char *text, size_t size)
{
	plumb_escape(text, ((const struct plumb_who *)key)->comm, size);
}

static void format_process(const void *key, char *text, size_t size)
{
	plumb_escape(text, ((const struct plumb_who *)key)->process, size);
}

static void format_cgroup(const void *key, char *text, size_t size)
{
	plumb_cgroup_path(((const struct plumb_who *)key)->cgroup, text, size);
}

static void format_cgroup_id(const void *key, char *text, size_t size)
{
	snprintf(text, size, "%llu", (unsigned long long)((const struct plumb_who *)key)->cgroup);
}

static json_t *json_cgroup_id(const void *key)
{
	return json_integer(((const struct plumb_who *)key)->cgroup);
}

static void format_cpu(const void *key, char *text, size_t size)
{
	snprintf(text, size, "%u", ((const struct plumb_who *)key)->cpu);
}

static json_t *json_cpu(const void *key)
{
	return json_integer(((const struct plumb_who *)key)->cpu);
}

const struct plumb_field plumb_common_fields[] = {
	{"pid", PLUMB_BY_PID, true, format_pid, json_pid},
	{"tid", PLUMB_BY_TID, true, format_tid, json_tid},
	{"comm", PLUMB_BY_COMM, false, format_comm, NULL},
	{"process", PLUMB_BY_PROCESS, false, format_process, NULL},
	{"cgroup", PLUMB_BY_CGROUP, false, format_cgroup, NULL},
	{"cgroup_id", PLUMB_BY_CGROUP_ID, true, format_cgroup_id, json_cgroup_id},
	{"cpu", PLUMB_BY_CPU, true, format_cpu, json_cpu},
};
const size_t plumb_n_common_fields = sizeof(plumb_common_fields) / sizeof(plumb_common_fields[0]);

const struct plumb_field *plumb_field_at(const struct plumb_tool *tool, size_t i)
{
	if (i < plumb_n_common_fields)
		return &plumb_common_fields[i];
	i -= plumb_n_common_fields;
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
