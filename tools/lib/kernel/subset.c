/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "raw-types.h"

#include <dirent.h>
#include <errno.h>
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

/* The names of an object's types, in a hash table. */
struct name {
	const char *text; /* NULL: the slot is free */
	size_t length;
	bool is_of_kernel;
};

struct names {
	struct name *slots;
	__u32 mask;
	__u64 sum; /* of all, in their order */
};

/* The types that are copied: BTF without its header. */
struct copy {
	FILE *types, *strings;
	char *type_data, *string_data;
	size_t type_bytes, string_bytes;
	__u32 n, name; /* the last id, and where the next name begins */
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

/* Whether relocations name types of its kind. */
static bool is_named(const struct btf_type *t)
{
	return t->name_off &&
	       (btf_is_composite(t) || btf_is_any_enum(t) || btf_is_typedef(t) || btf_is_int(t));
}

/* The slot of that name, or the free one for it. */
static struct name *find(struct names *names, const char *text, size_t length)
{
	__u32 hash = 2166136261; /* FNV-1a */
	struct name *name;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619;
	do
		name = &names->slots[hash++ & names->mask];
	while (name->text && (name->length != length || memcmp(name->text, text, length)));
	return name;
}

/* Those of types in BTF, without what distinguishes flavors: "___" and what follows. */
static int names_of(const struct btf *btf, struct names *names)
{
	const __u32 n = btf__type_cnt(btf);
	const struct btf_type *t;
	const char *text, *flavor;
	struct name *name;
	size_t length;

	names->mask = 1;
	while (names->mask < 2 * n)
		names->mask = 2 * names->mask + 1;
	names->slots = calloc(names->mask + 1, sizeof(*names->slots));
	if (!names->slots)
		return -ENOMEM;
	for (__u32 id = 1; id < n; id++) {
		t = btf__type_by_id(btf, id);
		if (!is_named(t))
			continue;
		text = btf__name_by_offset(btf, t->name_off);
		flavor = strstr(text, "___");
		length = flavor ? (size_t)(flavor - text) : strlen(text);
		name = find(names, text, length);
		*name = (struct name){.text = text, .length = length};
		names->sum = names->sum * 31 + (name - names->slots);
	}
	return 0;
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

/* The Ith of T's names; NULL: there are no more. */
static __u32 *name_in(struct btf_type *t, __u32 i)
{
	if (!i)
		return &t->name_off;
	if (i > btf_vlen(t))
		return NULL;
	return btf_is_composite(t) ? &btf_members(t)[i - 1].name_off
	       : btf_is_enum(t)    ? &btf_enum(t)[i - 1].name_off
	       : btf_is_enum64(t)  ? &btf_enum64(t)[i - 1].name_off
				   : NULL;
}

/* Writes the name; returns where it is. */
static __u32 copy_name(struct copy *c, const char *name)
{
	const __u32 at = c->name;

	if (!*name)
		return 0;
	c->name += fwrite(name, 1, strlen(name) + 1, c->strings);
	return at;
}

/* Copies what type ID of FROM contains, and then itself; its new id, 0 for none. */
static __u32 copy_type(struct copy *c, const struct raw_types *from, __u32 id)
{
	const struct btf_type *t = id ? raw_types_get(from, id) : NULL;
	__u32 *copied = t ? raw_types_copied(from, id) : NULL, *part;
	struct btf_type *own;

	if (!t || *copied)
		return t ? *copied : 0;
	*copied = 1; /* no type contains itself, but for damage */
	own = malloc(raw_type_size(t));
	if (!own)
		return 0;
	memcpy(own, t, raw_type_size(t));
	/* A prototype is only pointed to, but for a typedef of one: without parameters it is as
	 * good. */
	if (btf_is_ptr(own) || btf_is_func_proto(own)) {
		own->info = btf_kind(own) << 24; /* no parameters */
		own->type = 0;
	}
	for (__u32 i = 0; (part = name_in(own, i)); i++)
		*part = copy_name(c, raw_types_string(from, *part));
	for (__u32 i = 0; (part = part_of(own, i)); i++)
		*part = copy_type(c, from, *part);
	fwrite(own, raw_type_size(own), 1, c->types);
	free(own);
	return *copied = ++c->n;
}

/* Copies the types that are named; of a MODULE, those that the kernel lacks. */
static void copy_named(struct copy *c, const struct raw_types *from, bool module,
		       struct names *names)
{
	const struct btf_type *t;
	const char *text;
	struct name *name;

	for (__u32 id = from->first; id < from->n; id++) {
		t = raw_types_get(from, id);
		if (!is_named(t))
			continue;
		text = raw_types_string(from, t->name_off);
		name = find(names, text, strlen(text));
		if (!name->text || (module && name->is_of_kernel))
			continue;
		copy_type(c, from, id);
		name->is_of_kernel |= !module;
	}
}

static void copy_modules(struct copy *c, const struct raw_types *kernel, struct names *names)
{
	struct raw_types module;
	struct dirent *entry;
	char path[512];
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/kernel/btf", plumb_functions_root);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/sys/kernel/btf/%s", plumb_functions_root,
			 entry->d_name);
		if (*entry->d_name == '.' || !strcmp(entry->d_name, "vmlinux") ||
		    raw_types_open(&module, path, kernel))
			continue; /* or it has just been removed */
		copy_named(c, &module, true, names);
		raw_types_close(&module);
	}
	if (dir)
		closedir(dir);
}

/* Puts both into the file, instead of what it has. */
static int write_file(const void *data, size_t size, const void *more, size_t n_more)
{
	return ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size ||
			       pwrite(file, more, n_more, size) != (ssize_t)n_more
		       ? -EIO
		       : 0;
}

static int copy_begin(struct copy *c)
{
	c->types = open_memstream(&c->type_data, &c->type_bytes);
	c->strings = open_memstream(&c->string_data, &c->string_bytes);
	if (!c->types || !c->strings)
		return -ENOMEM;
	fwrite(&(struct btf_header){}, sizeof(struct btf_header), 1, c->types);
	c->name = fwrite("", 1, 1, c->strings);
	return 0;
}

static int copy_end(struct copy *c)
{
	const bool failed = ferror(c->types) || ferror(c->strings);
	int err = fclose(c->types) | fclose(c->strings);

	c->types = c->strings = NULL;
	if (failed || err)
		return -ENOMEM;
	*(struct btf_header *)c->type_data = (struct btf_header){
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(struct btf_header),
		.type_len = c->type_bytes - sizeof(struct btf_header),
		.str_off = c->type_bytes - sizeof(struct btf_header),
		.str_len = c->string_bytes,
	};
	return write_file(c->type_data, c->type_bytes, c->string_data, c->string_bytes);
}

static void copy_free(struct copy *c)
{
	if (c->types)
		fclose(c->types);
	if (c->strings)
		fclose(c->strings);
	free(c->type_data);
	free(c->string_data);
}

static int fill(struct names *names)
{
	char path[4096];
	struct raw_types kernel;
	struct copy copy = {};
	int err;

	snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", plumb_functions_root);
	err = raw_types_open(&kernel, path, NULL);
	if (err)
		return err;
	if (!names) {
		err = write_file(kernel.data, kernel.size, "", 0);
	} else {
		err = copy_begin(&copy);
		if (!err) {
			copy_named(&copy, &kernel, false, names);
			copy_modules(&copy, &kernel, names);
			err = copy_end(&copy);
		}
		copy_free(&copy);
	}
	raw_types_close(&kernel);
	return err;
}

int plumb_subset_fill(const struct bpf_object *object)
{
	static __u64 in_file; /* the sum of the names whose types the file has */
	struct btf *own = bpf_object__btf(object);
	const bool all = btf__find_by_name_kind(own, ".ksyms", BTF_KIND_DATASEC) > 0;
	struct names names = {};
	__u64 sum;
	int err;

	if (file < 0)
		return 0;
	err = all ? 0 : names_of(own, &names);
	sum = all ? 1 : names.sum;
	/* A calibration instance is of the same object. */
	if (!err && sum != in_file) {
		err = fill(all ? NULL : &names);
		in_file = err ? 0 : sum;
	}
	free(names.slots);
	return err;
}
