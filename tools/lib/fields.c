/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/cgroup.h>
#include <plumb/fields.h>
#include <plumb/key.h>
#include <stdio.h>

void plumb_copy_printable(char *to, const char *from, size_t size)
{
	size_t i;

	for (i = 0; i + 1 < size && from[i]; i++)
		to[i] = (unsigned char)from[i] < ' ' || from[i] == 0x7f ? '?' : from[i];
	to[i] = 0;
}

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
	char comm[PLUMB_COMM_LEN];

	plumb_copy_printable(comm, ((const struct plumb_who *)key)->comm, sizeof(comm));
	snprintf(text, size, "%s", comm);
}

static void format_cgroup(const void *key, char *text, size_t size)
{
	plumb_cgroup_path(((const struct plumb_who *)key)->cgroup, text, size);
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
	{"cgroup", PLUMB_BY_CGROUP, false, format_cgroup, NULL},
	{"cpu", PLUMB_BY_CPU, true, format_cpu, json_cpu},
};
const size_t plumb_n_common_fields = sizeof(plumb_common_fields) / sizeof(plumb_common_fields[0]);
