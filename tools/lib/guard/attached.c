/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/guard/attached.h>
#include <plumb/guard/audit.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define MOST 64

static void add(json_t **list, size_t *n, json_t *item)
{
	*list = *list ?: json_array();
	if ((*n)++ < MOST)
		json_array_append_new(*list, item);
	else
		json_decref(item);
}

void plumb_attached_add_hook(struct plumb_attached *a, const char *name)
{
	json_t *hook = plumb_json_bytes(name), *item;
	size_t i;

	json_array_foreach(a->hooks, i, item) if (json_equal(item, hook))
	{
		json_decref(hook);
		return;
	}
	add(&a->hooks, &a->n_hooks, hook);
}

/* A descriptor may be one of several of a program. */
static bool has_program(const struct plumb_attached *a, uint32_t id)
{
	const json_t *item;
	size_t i;

	json_array_foreach(a->programs, i, item) if (json_integer_value(json_object_get(
							     item, "id")) == id) return true;
	return false;
}

static void add_program(struct plumb_attached *a, int fd)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);
	char tag[2 * BPF_TAG_SIZE + 1];

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) || has_program(a, info.id))
		return;
	for (size_t i = 0; i < BPF_TAG_SIZE; i++)
		snprintf(tag + 2 * i, 3, "%02x", info.tag[i]);
	add(&a->programs, &a->n_programs,
	    json_pack("{s:i, s:s, s:o, s:s?}", "id", (int)info.id, "tag", tag, "name",
		      plumb_json_text(info.name), "type", libbpf_bpf_prog_type_str(info.type)));
}

void plumb_attached_add_probes(struct plumb_attached *a, const struct plumb_probes *probes)
{
	const struct plumb_target_names *names = &probes->names;

	for (size_t i = 0; i < names->n && i < PLUMB_MAX_NAMES; i++)
		if (names->list[i])
			plumb_attached_add_hook(a, names->list[i]);
	if (names->n > PLUMB_MAX_NAMES)
		a->n_hooks += names->n - PLUMB_MAX_NAMES;
	for (size_t i = 0; i < probes->n; i++)
		add_program(a, probes->list[i].program);
}

void plumb_attached_add_object(struct plumb_attached *a, const struct bpf_object *object)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, object)
		add_program(a, bpf_program__fd(p));
}

int plumb_attached_write(struct plumb_attached *a, const char *mechanism, json_t *filters)
{
	json_t *record =
		json_pack("{s:s, s:I, s:o, s:I, s:o}", "mechanism", mechanism, "n_hooks",
			  (json_int_t)a->n_hooks, "hooks", a->hooks ?: json_array(), "n_programs",
			  (json_int_t)a->n_programs, "programs", a->programs ?: json_array());

	if (filters)
		json_object_set_new(record, "filters", filters);
	*a = (struct plumb_attached){};
	return plumb_audit_attached(record);
}
