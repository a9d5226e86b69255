/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/file.h>
#include <plumb/core/log.h>
#include <plumb/kernel/renamed.h>
#include <plumb/kernel/types.h>

#include <bpf/btf.h>

#define LARGEST (2UL << 30) /* a vmlinux with its debugging information */

const char *plumb_functions_root = "";

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

struct btf *plumb_types_read(const char *file)
{
	int fd = plumb_file_open("--btf", file, LARGEST);
	struct btf *btf;
	char opened[32];

	if (fd < 0)
		return NULL;
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	btf = btf__parse(opened, NULL);
	if (!btf)
		plumb_warn("--btf: no types in %s: it is neither BTF nor ELF with BTF", file);
	close(fd);
	return btf;
}

struct btf *plumb_types_get(const char *file)
{
	struct btf *btf = file ? btf__parse(file, NULL) : plumb_kernel_btf_get();

	if (!btf)
		plumb_error(EOPNOTSUPP, "the kernel's types cannot be read: %s",
			    file ?: "/sys/kernel/btf/vmlinux");
	return btf;
}
