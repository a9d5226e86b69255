/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/kernel/lists.h>
#include <plumb/kernel/types.h>
#include <stdio.h>

#include <bpf/btf.h>

static struct btf *shared;
static unsigned int users;

struct btf *plumb_kernel_btf_get(void)
{
	char path[4096];

	if (!users) {
		snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", plumb_functions_root);
		shared = btf__parse(path, NULL);
	}
	users += shared != NULL;
	return shared;
}

void plumb_kernel_btf_put(struct btf *btf)
{
	if (!btf || btf != shared) {
		btf__free(btf);
	} else if (!--users) {
		btf__free(shared);
		shared = NULL;
	}
}

const struct btf_type *plumb_tracepoint_prototype(const struct btf *btf, const char *name)
{
	const struct btf_type *t;
	char type[64];
	int id;

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
	if (id < 0)
		return NULL;
	t = btf__type_by_id(btf, id);
	t = btf__type_by_id(btf, t->type); /* a pointer */
	return btf__type_by_id(btf, t->type);
}
