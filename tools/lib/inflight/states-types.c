/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* states-types: what tools that read states of their own need: where they are, and their calls. */
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/inflight/inflight.h>
#include <plumb/inflight/states.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

static const struct btf_type *find_struct(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);

	return id > 0 ? btf__type_by_id(btf, id) : NULL;
}

size_t plumb_states_size(const struct bpf_object *object, const char *type)
{
	const struct btf_type *t = find_struct(bpf_object__btf(object), type);

	return t ? t->size : 0;
}

int plumb_states_offset(const struct bpf_object *object, const char *type, const char *name)
{
	const struct btf *btf = bpf_object__btf(object);
	const struct btf_type *t = find_struct(btf, type);

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), name))
			return btf_member_bit_offset(t, i) / 8;
	return -1;
}

const void *plumb_states_variable(const struct bpf_object *object, const char *name, size_t *size)
{
	const struct btf *btf = bpf_object__btf(object);
	int id = btf__find_by_name_kind(btf, ".bss", BTF_KIND_DATASEC);
	const struct btf_type *section = id > 0 ? btf__type_by_id(btf, id) : NULL;
	const struct btf_var_secinfo *v;
	struct bpf_map *map;
	const char *bss = NULL;

	bpf_object__for_each_map(map, object) if (bpf_map__is_internal(map) &&
						  strstr(bpf_map__name(map), ".bss")) bss =
		bpf_map__initial_value(map, size);
	for (int i = 0; section && bss && i < btf_vlen(section); i++) {
		v = &btf_var_secinfos(section)[i];
		if (strcmp(btf__name_by_offset(btf, btf__type_by_id(btf, v->type)->name_off), name))
			continue;
		*size = v->size;
		return bss + v->offset;
	}
	return NULL;
}

void plumb_flights_add(struct plumb_flights *f, const struct plumb_flight *one)
{
	*plumb_append(f->all, f->n) = *one;
}
