/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Raw tracepoints: the kernel declares a type btf_trace_NAME for each.  It has the types of the
 * arguments, but not their names, which only the function __traceiter_NAME has.
 */
#include "targets.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/kernel/types.h>

#include <bpf/btf.h>

#define TYPES  "/sys/kernel/btf"
#define CALLER "__traceiter_"

static int by_name(const void *left, const void *right)
{
	const struct target *a = left, *b = right;

	return strcmp(a->name, b->name);
}

/*
 * In targets from FROM on, replace the prototype by the one with names, if that has as many
 * arguments.
 */
static void name_arguments(struct targets *p, size_t from, const struct btf *btf, uint32_t first)
{
	char name[256];
	struct target key = {.name = name}, *found;
	const struct btf_type *t, *mute, *named;

	qsort(p->list + from, p->n - from, sizeof(*p->list), by_name);
	for (uint32_t id = first; id < btf__type_cnt(btf); id++) {
		t = btf__type_by_id(btf, id);
		if (!btf_is_func(t) ||
		    strncmp(btf__name_by_offset(btf, t->name_off), CALLER, strlen(CALLER)))
			continue;
		snprintf(name, sizeof(name), "r:%s",
			 btf__name_by_offset(btf, t->name_off) + strlen(CALLER));
		found = bsearch(&key, p->list + from, p->n - from, sizeof(*p->list), by_name);
		mute = found ? btf__type_by_id(btf, found->prototype) : NULL;
		named = btf__type_by_id(btf, t->type);
		if (mute && btf_vlen(mute) == btf_vlen(named))
			found->prototype = t->type;
	}
}

static int add_all(struct targets *p, const struct btf *btf, uint32_t first)
{
	size_t from = p->n;
	int err = 0;

	for (uint32_t id = first; !err && id < btf__type_cnt(btf); id++) {
		const char *name;
		struct target like = {.hooks = 1 << PLUMB_RAW_TRACEPOINT, .n = 1, .btf = btf};

		like.prototype = plumb_btf_declared_tracepoint(btf, id, &name);
		if (!like.prototype)
			continue;
		err = targets_add(p, RAW_TRACEPOINT, &like, "r:%s", name);
	}
	if (p->n > from)
		name_arguments(p, from, btf, first);
	return err;
}

static int keep(struct targets *p, struct btf *btf)
{
	struct btf **types = reallocarray(p->types, p->n_types + 1, sizeof(*types));

	if (!types) {
		plumb_kernel_btf_put(btf);
		return -ENOMEM;
	}
	p->types = types;
	types[p->n_types++] = btf;
	return 0;
}

static int read_modules(struct targets *p, DIR *dir)
{
	struct btf *kernel = p->types[0], *btf;
	struct dirent *entry;
	char path[512];
	int err = 0;

	while (!err && (entry = readdir(dir))) {
		if (*entry->d_name == '.' || !strcmp(entry->d_name, "vmlinux"))
			continue;
		snprintf(path, sizeof(path), TYPES "/%s", entry->d_name);
		btf = btf__parse_split(path, kernel);
		if (!btf) {
			plumb_warn("raw tracepoints of module %s are not known: %s: %s",
				   entry->d_name, path, strerror(errno));
			continue;
		}
		err = keep(p, btf) ?: add_all(p, btf, btf__type_cnt(kernel));
	}
	return err;
}

int targets_read_raw_tracepoints(struct targets *p)
{
	struct btf *btf = plumb_kernel_btf_get();
	DIR *dir;
	int err;

	if (!btf)
		return plumb_error(errno, "raw tracepoints are not known: " TYPES "/vmlinux: %s",
				   strerror(errno));
	err = keep(p, btf) ?: add_all(p, btf, 1);
	dir = err ? NULL : opendir(TYPES);
	if (dir) {
		err = read_modules(p, dir);
		closedir(dir);
	}
	return err;
}
