/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* snapshot-types: the prototypes and records of tracepoints, from BTF. */
#include "compare/snapshot.h"

#include <string.h>
#include <plumb/core/json.h>
#include <plumb/functions/declare.h>
#include <plumb/kernel/types.h>

#include <bpf/btf.h>

json_t *snapshot_prototypes(const struct btf *btf)
{
	struct plumb_declarer d = {};
	json_t *all = json_object(), *one;

	for (uint32_t id = 1; btf && id < btf__type_cnt(btf); id++) {
		const struct btf_type *function;
		const char *name;
		uint32_t prototype = plumb_btf_declared_tracepoint(btf, id, &name);

		if (!prototype)
			continue;
		function = btf__type_by_id(btf, prototype);
		one = json_array();
		for (int i = 1; i < btf_vlen(function); i++)
			json_array_append_new(
				one, plumb_json_text(plumb_declare(&d, btf,
								   btf_params(function)[i].type, "")
							     ?: "?"));
		json_object_set_new(all, name, one);
	}
	plumb_declarer_free(&d);
	return all;
}

/* Single bytes are never signed here: in BTF that depends on the program that wrote it. */
static bool is_signed(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t) || btf_is_array(t)))
		t = btf__type_by_id(btf, btf_is_array(t) ? btf_array(t)->type : t->type);
	return t && btf_is_int(t) && t->size > 1 && btf_int_encoding(t) & BTF_INT_SIGNED;
}

/* The fields, without the header of all records (ent) and the bytes after the last (__data). */
static json_t *fields_of(struct plumb_declarer *d, const struct btf *btf, const struct btf_type *t)
{
	const struct btf_member *m = btf_members(t);
	json_t *all = json_array();

	for (int i = 0; i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(btf, m[i].name_off) ?: "";

		if (!strcmp(name, "ent") || !strcmp(name, "__data"))
			continue;
		json_array_append_new(
			all, snapshot_field(name, plumb_declare(d, btf, m[i].type, "") ?: "?",
					    btf_member_bit_offset(t, i) / 8,
					    btf__resolve_size(btf, m[i].type),
					    is_signed(btf, m[i].type)));
	}
	return all;
}

json_t *snapshot_records(const struct btf *btf)
{
	static const char prefix[] = "trace_event_raw_";
	struct plumb_declarer d = {};
	json_t *all = json_object();

	for (uint32_t id = 1; btf && id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const char *name = btf__name_by_offset(btf, t->name_off) ?: "";

		if (btf_is_struct(t) && !strncmp(name, prefix, strlen(prefix)))
			json_object_set_new(all, name + strlen(prefix), fields_of(&d, btf, t));
	}
	plumb_declarer_free(&d);
	return all;
}
