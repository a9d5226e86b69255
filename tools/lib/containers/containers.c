/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* containers: keys of containers and pods, and -g of them. */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/bpf/key/key.h>
#include <plumb/core/fields.h>
#include <plumb/core/memory.h>
#include <plumb/core/options.h>
#include <plumb/core/part.h>
#include <plumb/core/text.h>
#include <plumb/kernel/cgroup.h>

#include "containers.h"

/*
 * What a cgroup was called when it was asked for first.  It stays that: a name that became known
 * later would be another row, for what was counted already.
 */
struct called {
	uint64_t id;
	char *container, *pod, *both; /* escaped */
};

static void *by_id; /* a tree of them */
static uint32_t by;

static int compare(const void *a, const void *b)
{
	const struct called *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static char *escaped(const char *text)
{
	char to[4 * CONTAINERS_TEXT];

	plumb_escape(to, text, sizeof(to));
	return plumb_copied(to);
}

/* One whose path is not known, and may become so, is called as -b cgroup calls it. */
static const struct called *called(uint64_t id)
{
	const char *path = plumb_cgroup_raw_path(id);
	struct containers_names names;
	struct plumb_place place;
	struct called **found;
	static struct called unknown;

	if (!path) {
		free(unknown.container);
		unknown.container = plumb_text("cgroup:%llu", (unsigned long long)id);
		unknown.pod = unknown.container;
		return &unknown;
	}
	found = tfind(&(struct called){.id = id}, &by_id, compare);
	if (found)
		return *found;
	found = plumb_required(tsearch(plumb_zeroed(1, sizeof(**found)), &by_id, compare));
	(*found)->id = id;
	place = plumb_place_of(path);
	containers_name("", &place, &names);
	(*found)->container = escaped(names.container);
	(*found)->pod = escaped(names.pod);
	(*found)->both = plumb_text("%s %s", (*found)->container, (*found)->pod);
	return *found;
}

static uint64_t cgroup_of(const void *key)
{
	return ((const struct plumb_who *)key)->cgroup;
}

static void format_container(const void *key, char *text, size_t size)
{
	snprintf(text, size, "%s", called(cgroup_of(key))->container);
}

static void format_pod(const void *key, char *text, size_t size)
{
	snprintf(text, size, "%s", called(cgroup_of(key))->pod);
}

static const struct plumb_field fields[] = {
	{"container", PLUMB_BY_CONTAINER, .format = format_container},
	{"pod", PLUMB_BY_POD, .format = format_pod},
	{},
};

/* What cgroups of one row have in common. */
static const char *group_of(uint64_t id)
{
	const struct called *c = called(id);

	return by == PLUMB_BY_CONTAINER ? c->container : by == PLUMB_BY_POD ? c->pod : c->both;
}

static int prepare(struct plumb_options *o, const struct plumb_tool *tool)
{
	(void)tool;
	by = o->by & (PLUMB_BY_CONTAINER | PLUMB_BY_POD);
	if (by && !(o->by & PLUMB_BY_CGROUP))
		plumb_cgroup_group = group_of;
	return containers_find(o);
}

const struct plumb_part plumb_containers_part = {
	.name = "containers",
	.fields = fields,
	.prepare = prepare,
};
