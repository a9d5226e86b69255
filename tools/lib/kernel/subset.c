/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <plumb/kernel/subset.h>
#include <plumb/kernel/types.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#define LARGEST (64UL << 20) /* bytes of the kernel's types */

/* Names; the data of one is not NULL if the kernel has it. */
struct names {
	struct hsearch_data table;
	char **all;
	size_t n;
};

/* The types that are copied from one BTF to another. */
struct copy {
	const struct btf *from;
	struct btf *to;
	__u32 *ids; /* new ones, by id; 0: not copied */
};

static int file = -1;

const char *plumb_subset_path(void)
{
	static char path[32];
	struct rlimit most; /* for files in memory, too */

	if (file < 0 && !getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur >= LARGEST)
		file = memfd_create("types", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	return file < 0 || access(path, R_OK) ? NULL : path;
}

/* The name by which a relocation may name the type; NULL: none. */
static const char *name_of(const struct btf *btf, __u32 id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	if (!t->name_off ||
	    !(btf_is_composite(t) || btf_is_any_enum(t) || btf_is_typedef(t) || btf_is_int(t)))
		return NULL;
	return btf__name_by_offset(btf, t->name_off);
}

/* Those of types in BTF, without what distinguishes flavors: "___" and what follows. */
static int names_of(const struct btf *btf, struct names *names)
{
	const __u32 n = btf__type_cnt(btf);
	const char *name, *flavor;
	ENTRY *entry;
	char *own;

	names->all = calloc(n, sizeof(*names->all));
	if (!names->all || !hcreate_r(2 * n, &names->table))
		return -ENOMEM;
	for (__u32 id = 1; id < n; id++) {
		name = name_of(btf, id);
		if (!name)
			continue;
		flavor = strstr(name, "___");
		own = flavor ? strndup(name, flavor - name) : strdup(name);
		if (!own)
			return -ENOMEM;
		names->all[names->n++] = own;
		hsearch_r((ENTRY){.key = own}, ENTER, &entry, &names->table);
	}
	return 0;
}

static void names_free(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->all[i]);
	free(names->all);
	hdestroy_r(&names->table);
}

/* The Ith type of which T has the contents, not only the address; NULL: there are no more. */
static __u32 *part_of(struct btf_type *t, __u32 i)
{
	if (btf_is_composite(t))
		return i < btf_vlen(t) ? &btf_members(t)[i].type : NULL;
	if (btf_is_array(t))
		return i == 0 ? &btf_array(t)->type : i == 1 ? &btf_array(t)->index_type : NULL;
	if (btf_is_typedef(t) || btf_is_mod(t) || btf_is_type_tag(t))
		return i ? NULL : &t->type;
	return NULL;
}

/* Copies type ID and what it contains; negative: an error. */
static int copy_type(struct copy *c, __u32 id)
{
	struct btf_type *t = (struct btf_type *)btf__type_by_id(c->from, id);
	int err = 0;
	__u32 *part;

	if (!id || c->ids[id])
		return 0;
	/* A prototype is only pointed to, but for a typedef of one: without parameters it is as
	 * good. */
	err = btf_is_func_proto(t) ? btf__add_func_proto(c->to, 0)
	      : btf_is_ptr(t)      ? btf__add_ptr(c->to, 0)
				   : btf__add_type(c->to, c->from, t);
	if (err < 0)
		return err;
	c->ids[id] = err;
	for (__u32 i = 0; err >= 0 && (part = part_of(t, i)); i++)
		err = copy_type(c, *part);
	return err;
}

/* Gives the copies from FIRST on the new ids of what they contain. */
static void renumber(const struct copy *c, __u32 first)
{
	struct btf_type *t;
	__u32 *part;

	for (__u32 id = first; id < btf__type_cnt(c->to); id++) {
		t = (struct btf_type *)btf__type_by_id(c->to, id);
		for (__u32 i = 0; (part = part_of(t, i)); i++)
			*part = c->ids[*part];
	}
}

/* Copies the types in FROM that are named, from FIRST on; of a MODULE, those that the kernel lacks.
 */
static int copy_named(struct copy *c, const struct btf *from, __u32 first, bool module,
		      struct names *names)
{
	const __u32 n = btf__type_cnt(from), copied = btf__type_cnt(c->to);
	__u32 *ids = reallocarray(c->ids, n, sizeof(*ids));
	ENTRY name, *named;
	int err = 0;

	if (!ids)
		return -ENOMEM;
	memset(&ids[first], 0, (n - first) * sizeof(*ids));
	c->ids = ids;
	c->from = from;
	for (__u32 id = first; err >= 0 && id < n; id++) {
		name.key = (char *)name_of(from, id);
		if (!name.key || !hsearch_r(name, FIND, &named, &names->table) ||
		    (module && named->data))
			continue;
		err = copy_type(c, id);
		if (!module)
			named->data = named;
	}
	renumber(c, copied);
	return err < 0 ? err : 0;
}

static int copy_modules(struct copy *c, struct btf *kernel, struct names *names)
{
	struct dirent *entry;
	struct btf *module;
	char path[512];
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/kernel/btf", plumb_functions_root);
	dir = opendir(path);
	while (dir && !err && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/sys/kernel/btf/%s", plumb_functions_root,
			 entry->d_name);
		if (*entry->d_name == '.' || !strcmp(entry->d_name, "vmlinux"))
			continue;
		module = btf__parse_split(path, kernel);
		if (module) /* else it has just been removed */
			err = copy_named(c, module, btf__type_cnt(kernel), true, names);
		btf__free(module);
	}
	if (dir)
		closedir(dir);
	return err;
}

static int write_types(const struct btf *btf)
{
	__u32 size;
	const void *data = btf__raw_data(btf, &size);

	if (!data)
		return -ENOMEM;
	return ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size ? -EIO : 0;
}

int plumb_subset_fill(const struct bpf_object *object)
{
	struct btf *own = bpf_object__btf(object);
	struct btf *kernel;
	struct copy copy = {};
	struct names names = {};
	int err;

	if (file < 0)
		return 0;
	kernel = plumb_kernel_btf_get();
	copy.to = btf__new_empty();
	err = !kernel ? -errno : copy.to ? 0 : -ENOMEM;
	if (!err && btf__find_by_name_kind(own, ".ksyms", BTF_KIND_DATASEC) > 0) {
		err = write_types(kernel);
	} else {
		err = err ?: names_of(own, &names);
		err = err ?: copy_named(&copy, kernel, 1, false, &names);
		err = err ?: copy_modules(&copy, kernel, &names);
		err = err ?: write_types(copy.to);
	}
	names_free(&names);
	free(copy.ids);
	btf__free(copy.to);
	plumb_kernel_btf_put(kernel);
	return err;
}
