/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/privileges.h>
#include <plumb/core/text.h>
#include <plumb/symbols/symbols.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "merged.h"
#include "slab-latency.h"

static int caches = -1; /* the map slab_caches */
static struct plumb_symbolizer *symbolizer;

void slab_fields_use(struct bpf_object *object)
{
	caches = bpf_object__find_map_fd_by_name(object, "slab_caches");
}

void slab_fields_begin(void)
{
	symbolizer = plumb_symbolizer_new(false);
	plumb_retain(PLUMB_CAP(SYSLOG), 0, "names of callers");
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
	size_t merged, n;

	name_cache(key, text, size);
	merged = merged_count(text);
	n = strlen(text);
	if (merged)
		snprintf(text + n, size - n, "+%zu", merged);
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
	char text[PLUMB_ESCAPED];

	name_cache(key, text, sizeof(text));
	return merged_names(text);
}

/* With the offset: a function can allocate at several places. */
static void format_caller(const void *key, char *text, size_t size)
{
	const struct slab_key *k = key;
	struct plumb_frame_name f = {};

	if (!k->caller) {
		snprintf(text, size, "-");
		return;
	}
	if (symbolizer)
		plumb_symbolize_kernel(symbolizer, k->caller, true, &f);
	if (symbolizer && !f.function) { /* of a module that came meanwhile */
		plumb_symbolizer_note_kernel(symbolizer);
		plumb_symbolize_kernel(symbolizer, k->caller, true, &f);
	}
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

static json_t *json_node(const void *key)
{
	const struct slab_key *k = key;

	return k->node < 0 ? json_null() : json_integer(k->node);
}

const struct plumb_field slab_fields[] = {
	{"cache", SLAB_BY_CACHE, .format = format_cache, .json = json_cache},
	{"caller", SLAB_BY_CALLER, .format = format_caller},
	{PLUMB_NAMED_FIELD("path", SLAB_BY_PATH, PLUMB_NAME, slab_key, path, paths)},
	{PLUMB_NAMED_FIELD("op", SLAB_BY_OP, PLUMB_NAME, slab_key, op, ops)},
	{PLUMB_FIELD("asked", SLAB_BY_ASKED, PLUMB_NUMBER, slab_key, asked)},
	{PLUMB_FIELD("given", SLAB_BY_GIVEN, PLUMB_NUMBER, slab_key, given)},
	{"node", SLAB_BY_NODE, .number = true, .format = format_node, .json = json_node},
	{PLUMB_NAMED_FIELD("context", SLAB_BY_CONTEXT, PLUMB_NAME, slab_key, context, contexts)},
};
const size_t slab_n_fields = sizeof(slab_fields) / sizeof(slab_fields[0]);
