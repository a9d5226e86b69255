/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* types names: functions and tracepoints in the kernel's BTF. */
#include <stdio.h>
#include <string.h>
#include <plumb/kernel/renamed.h>
#include <plumb/kernel/types.h>

#include <bpf/btf.h>

const char *plumb_btf_function(const struct btf *btf, const char *name)
{
	const char *here = name;

	for (size_t i = 0; here; here = plumb_other_name(name, i++))
		if (btf__find_by_name_kind(btf, here, BTF_KIND_FUNC) > 0)
			return here;
	return NULL;
}

static int find_tracepoint(const struct btf *btf, const char *name)
{
	char type[64];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
}

const char *plumb_btf_tracepoint(const struct btf *btf, const char *name)
{
	const char *here = name;

	for (size_t i = 0; here; here = plumb_other_name(name, i++))
		if (find_tracepoint(btf, here) > 0)
			return here;
	return NULL;
}

const struct btf_type *plumb_tracepoint_prototype(const struct btf *btf, const char *name)
{
	const struct btf_type *t;
	int id;

	name = plumb_btf_tracepoint(btf, name);
	id = name ? find_tracepoint(btf, name) : -1;
	if (id < 0)
		return NULL;
	t = btf__type_by_id(btf, id);
	t = btf__type_by_id(btf, t->type); /* a pointer */
	return btf__type_by_id(btf, t->type);
}

__u32 plumb_btf_declared_tracepoint(const struct btf *btf, __u32 id, const char **name)
{
	static const char prefix[] = "btf_trace_";
	const struct btf_type *t = btf__type_by_id(btf, id), *pointer, *prototype;
	const char *text = btf__name_by_offset(btf, t->name_off);

	/* typedef void (*btf_trace_NAME)(void *, ARGUMENT...); */
	if (!btf_is_typedef(t) || !text || strncmp(text, prefix, strlen(prefix)))
		return 0;
	*name = text + strlen(prefix);
	pointer = btf__type_by_id(btf, t->type);
	prototype = pointer && btf_is_ptr(pointer) ? btf__type_by_id(btf, pointer->type) : NULL;
	return prototype && btf_is_func_proto(prototype) && btf_vlen(prototype) ? pointer->type : 0;
}
