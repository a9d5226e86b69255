/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fields.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/privileges.h>
#include <plumb/core/text.h>
#include <plumb/symbols/symbols.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static int caches = -1; /* the map slab_caches */

void slab_fields_use(struct bpf_object *object)
{
	caches = bpf_object__find_map_fd_by_name(object, "slab_caches");
}

void slab_fields_begin(void)
{
	plumb_retain(PLUMB_CAP(SYSLOG), 0, "names of callers");
}

/*
 * The kernel merges caches into one, of which it keeps the first name.  By name, the names of all
 * that are one cache with it.
 */
static json_t *merged;

/* In /sys/kernel/slab the names of one cache are links to one folder. */
static void add_link(json_t *folders, int slab, const char *link)
{
	char folder[256], name[PLUMB_ESCAPED];
	ssize_t n = readlinkat(slab, link, folder, sizeof(folder) - 1);
	json_t *names;

	if (n <= 0) /* not a link */
		return;
	folder[n] = 0;
	plumb_escape(name, link, sizeof(name));
	names = json_object_get(folders, folder);
	if (!names) {
		names = json_array();
		json_object_set_new_nocheck(folders, folder, names);
	}
	json_array_append_new(names, json_string(name));
	json_object_set(merged, name, names);
}

void slab_merged_read(void)
{
	DIR *slab = opendir("/sys/kernel/slab");
	json_t *folders = json_object();
	struct dirent *e;

	merged = json_object();
	while (slab && (e = readdir(slab)))
		add_link(folders, dirfd(slab), e->d_name);
	if (slab)
		closedir(slab);
	json_decref(folders);
}

/* The names that mm/slab_common.c gives these caches. */
static void format_kmalloc(uint64_t cache, char *text, size_t size)
{
	static const char *const prefixes[] = {"kmalloc-", "dma-kmalloc-", "kmalloc-rcl-",
					       "kmalloc-cg-"};
	const uint64_t class = SLAB_CLASS(cache);
	const unsigned int bytes = class == 1 ? 96 : class == 2 ? 192 : 1U << (class & 31);

	if (cache == SLAB_UNKNOWN)
		snprintf(text, size, "-");
	else if (class == SLAB_CLASS_PAGES)
		snprintf(text, size, "[pages]");
	else if (class == SLAB_CLASS_ZERO)
		snprintf(text, size, "[zero]");
	else
		snprintf(text, size, bytes < 1024 ? "%s%u" : "%s%uk",
			 prefixes[SLAB_TYPE(cache) & 3], bytes < 1024 ? bytes : bytes / 1024);
}

static void name_cache(const struct slab_key *k, char *text, size_t size)
{
	struct slab_cache c;

	if (SLAB_IS_KMALLOC(k->cache))
		format_kmalloc(k->cache, text, size);
	else if (!bpf_map_lookup_elem(caches, &k->cache, &c))
		plumb_escape(text, c.name, size);
	else
		snprintf(text, size, "%#" PRIx64, (uint64_t)k->cache);
}

static void format_cache(const void *key, char *text, size_t size)
{
	size_t names, n;

	name_cache(key, text, size);
	names = json_array_size(json_object_get(merged, text));
	n = strlen(text);
	if (names > 1)
		snprintf(text + n, size - n, "+%zu", names - 1);
}

/* Without the number, which changes when modules are loaded. */
static json_t *json_cache(const void *key)
{
	char text[PLUMB_ESCAPED];

	name_cache(key, text, sizeof(text));
	return json_string(text);
}

json_t *slab_merged_json(const void *key)
{
	json_t *others = json_array(), *name;
	char text[PLUMB_ESCAPED];
	size_t i;

	name_cache(key, text, sizeof(text));
	json_array_foreach(json_object_get(merged, text), i, name)
	{
		if (strcmp(json_string_value(name), text) != 0)
			json_array_append(others, name);
	}
	return others;
}

/* With the offset: a function can allocate at several places. */
static void format_caller(const void *key, char *text, size_t size)
{
	const struct slab_key *k = key;
	struct plumb_frame_name f;

	if (!k->caller) {
		snprintf(text, size, "-");
		return;
	}
	plumb_symbolize_caller(k->caller, &f);
	if (!f.function)
		snprintf(text, size, "%#" PRIx64, (uint64_t)k->caller);
	else
		snprintf(text, size, "%s+%#" PRIx64 "%s%s%s", f.function, f.offset,
			 f.module ? " [" : "", f.module ?: "", f.module ? "]" : "");
}

static const char *const paths[SLAB_PATHS] = {"fast", "slow", "new-slab", "new-slab"};
static const char *const ops[SLAB_REFILL] = {"alloc", "bulk", "free", "kfree", "bulk-free"};
static const char *const contexts[SLAB_CONTEXTS] = {"-", "thread", "softirq", "interrupt"};

static void format_node(const void *key, char *text, size_t size)
{
	const struct slab_key *k = key;

	if (k->node < 0)
		snprintf(text, size, "any");
	else
		snprintf(text, size, "%d", k->node);
}

const struct plumb_field slab_fields[SLAB_N_FIELDS] = {
	{"cache", SLAB_BY_CACHE, .format = format_cache, .json = json_cache},
	{"caller", SLAB_BY_CALLER, .format = format_caller},
	{PLUMB_NAMED_FIELD("path", SLAB_BY_PATH, PLUMB_NAME, slab_key, path, paths)},
	{PLUMB_NAMED_FIELD("op", SLAB_BY_OP, PLUMB_NAME, slab_key, op, ops)},
	{PLUMB_FIELD("asked", SLAB_BY_ASKED, PLUMB_NUMBER, slab_key, asked)},
	{PLUMB_FIELD("given", SLAB_BY_GIVEN, PLUMB_NUMBER, slab_key, given)},
	{"node", SLAB_BY_NODE, .number = true, .format = format_node},
	{PLUMB_NAMED_FIELD("context", SLAB_BY_CONTEXT, PLUMB_NAME, slab_key, context, contexts)},
};
