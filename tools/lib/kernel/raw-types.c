/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "raw-types.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/btf.h>

size_t raw_type_size(const struct btf_type *type)
{
	static const struct {
		__u8 fixed, each; /* bytes after the type, and for each of what it has */
	} after[] = {
		[BTF_KIND_INT] = {sizeof(__u32), 0},
		[BTF_KIND_PTR] = {},
		[BTF_KIND_ARRAY] = {sizeof(struct btf_array), 0},
		[BTF_KIND_STRUCT] = {0, sizeof(struct btf_member)},
		[BTF_KIND_UNION] = {0, sizeof(struct btf_member)},
		[BTF_KIND_ENUM] = {0, sizeof(struct btf_enum)},
		[BTF_KIND_FUNC_PROTO] = {0, sizeof(struct btf_param)},
		[BTF_KIND_VAR] = {sizeof(struct btf_var), 0},
		[BTF_KIND_DATASEC] = {0, sizeof(struct btf_var_secinfo)},
		[BTF_KIND_DECL_TAG] = {sizeof(struct btf_decl_tag), 0},
		[BTF_KIND_ENUM64] = {0, sizeof(struct btf_enum64)},
	};
	const __u32 kind = btf_kind(type);

	return kind && kind < sizeof(after) / sizeof(after[0])
		       ? sizeof(*type) + after[kind].fixed + btf_vlen(type) * after[kind].each
		       : 0;
}

static int read_all(int fd, char *data, size_t size)
{
	ssize_t n = 1;

	for (size_t at = 0; at < size && n > 0; at += n)
		n = read(fd, data + at, size - at);
	return n > 0 ? 0 : -EIO;
}

static int get_data(struct raw_types *t, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		err = -errno;
	} else {
		t->size = st.st_size;
		t->data = mmap(NULL, t->size, PROT_READ, MAP_PRIVATE, fd, 0);
		t->is_mapped = t->data != MAP_FAILED;
		if (!t->is_mapped) {
			t->data = malloc(t->size ?: 1);
			err = t->data ? read_all(fd, t->data, t->size) : -ENOMEM;
		}
	}
	if (fd >= 0)
		close(fd);
	return err;
}

static int find_parts(struct raw_types *t, __u32 *bytes)
{
	const struct btf_header *h = t->data;

	if (t->size < sizeof(*h) || h->magic != BTF_MAGIC ||
	    (__u64)h->hdr_len + h->type_off + h->type_len > t->size ||
	    (__u64)h->hdr_len + h->str_off + h->str_len > t->size || !h->str_len)
		return -EINVAL;
	t->types = (const char *)t->data + h->hdr_len + h->type_off;
	t->strings = (const char *)t->data + h->hdr_len + h->str_off;
	t->first_string = t->base ? t->base->end_of_strings : 0;
	t->end_of_strings = t->first_string + h->str_len;
	*bytes = h->type_len;
	return t->strings[h->str_len - 1] ? -EINVAL : 0;
}

static int find_types(struct raw_types *t, __u32 bytes)
{
	__u32 *at = malloc(bytes / sizeof(struct btf_type) * sizeof(*at) + 1), n = 0;
	const struct btf_type *type;
	size_t size = 0;

	t->at = at;
	if (!at)
		return -ENOMEM;
	for (__u32 i = 0; i < bytes; i += size) {
		type = (const void *)(t->types + i);
		size = i + sizeof(*type) <= bytes ? raw_type_size(type) : 0;
		if (!size || size > bytes - i)
			return -EINVAL;
		at[n++] = i;
	}
	t->first = t->base ? t->base->n : 1;
	t->n = t->first + n;
	t->copied = calloc(n ?: 1, sizeof(*t->copied));
	return t->copied ? 0 : -ENOMEM;
}

int raw_types_open(struct raw_types *t, const char *path, const struct raw_types *base)
{
	__u32 bytes;
	int err;

	*t = (struct raw_types){.base = base};
	err = get_data(t, path);
	err = err ?: find_parts(t, &bytes);
	err = err ?: find_types(t, bytes);
	if (err)
		raw_types_close(t);
	return err;
}

void raw_types_close(struct raw_types *t)
{
	if (t->is_mapped)
		munmap(t->data, t->size);
	else
		free(t->data);
	free((void *)t->at);
	free(t->copied);
	*t = (struct raw_types){};
}

__u32 *raw_types_copied(const struct raw_types *t, __u32 id)
{
	while (id < t->first)
		t = t->base;
	return &t->copied[id - t->first];
}

const char *raw_types_string(const struct raw_types *t, __u32 offset)
{
	while (t && offset < t->first_string)
		t = t->base;
	return t && offset < t->end_of_strings ? t->strings + offset - t->first_string : "";
}
