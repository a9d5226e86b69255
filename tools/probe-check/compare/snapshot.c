/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "compare/snapshot.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/functions/declare.h>
#include <plumb/functions/formats.h>
#include <plumb/functions/tracepoints.h>

#include <bpf/btf.h>

/* --- functions --- */

static json_t *arguments_of(struct plumb_declarer *d, const struct plumb_function *f,
			    const struct btf_type *prototype, bool named)
{
	const struct btf_param *p = btf_params(prototype);
	json_t *all = json_array();
	const char *name, *text;

	for (int i = 0; i < btf_vlen(prototype); i++) {
		name = named ? btf__name_by_offset(f->btf, p[i].name_off) : NULL;
		text = p[i].type ? plumb_declare(d, f->btf, p[i].type, name ?: "") : "...";
		json_array_append_new(all, plumb_json_text(text ?: "?"));
	}
	return all;
}

static json_t *function(struct plumb_declarer *d, const struct plumb_function *f)
{
	const struct btf_type *prototype;
	json_t *j = json_object();

	if (!f->btf)
		return j;
	prototype = btf__type_by_id(f->btf, btf__type_by_id(f->btf, f->btf_id)->type);
	json_object_set_new(j, "arguments", arguments_of(d, f, prototype, true));
	json_object_set_new(j, "types", arguments_of(d, f, prototype, false));
	json_object_set_new(j, "returns",
			    plumb_json_text(plumb_declare(d, f->btf, prototype->type, "") ?: "?"));
	return j;
}

static json_t *take_functions(const struct kernel *k, const char *const *names, size_t n)
{
	struct plumb_declarer d = {};
	struct plumb_functions found;
	json_t *all = json_object();
	char name[512];

	if (kernel_functions(k, names, n, &found)) {
		json_decref(all);
		return NULL;
	}
	for (size_t i = 0; i < found.n; i++) {
		const struct plumb_function *f = &found.all[i];

		snprintf(name, sizeof(name), "%s%s%s", f->module ?: "", f->module ? ":" : "",
			 f->name);
		json_object_set_new(all, name, function(&d, f));
	}
	plumb_declarer_free(&d);
	plumb_functions_free(&found);
	return all;
}

/* --- tracepoints --- */

json_t *snapshot_field(const char *name, const char *type, json_int_t offset, json_int_t size,
		       bool is_signed)
{
	return json_pack("{s:o, s:o, s:I, s:I, s:b}", "name", plumb_json_text(name), "type",
			 plumb_json_text(type), "offset", offset, "size", size, "signed",
			 is_signed);
}

static json_t *fields_of(const struct plumb_format *format)
{
	json_t *all = json_array();

	for (size_t i = 0; i < format->n; i++) {
		const struct plumb_format_field *f = &format->fields[i];

		if (!f->is_common)
			json_array_append_new(all, snapshot_field(f->name, f->type, f->offset,
								  f->size, f->is_signed));
	}
	return all;
}

static json_t *take_tracepoints(const struct kernel *k)
{
	struct plumb_tracepoints found;
	struct plumb_format format;
	json_t *all = json_object();
	char name[512];
	int err = plumb_tracepoints_find(k->tracefs, "*:*", &found);

	for (size_t i = 0; !err && i < found.n; i++) {
		const struct plumb_tracepoint *t = &found.list[i];

		/* It may be gone with its module, or be ftrace's own, without fields. */
		if (plumb_format_read(k->tracefs, t->category, t->name, &format))
			continue;
		snprintf(name, sizeof(name), "%s:%s", t->category, t->name);
		json_object_set_new(all, name, fields_of(&format));
		plumb_format_free(&format);
	}
	plumb_tracepoints_free(&found);
	if (!err)
		return all;
	json_decref(all);
	return NULL;
}

/* As uname has it; "" if only types are given, which do not name it. */
static json_t *arch_of(const struct kernel *k)
{
	struct utsname uts;

	if (k->running && !uname(&uts))
		return json_string(uts.machine);
	return json_string(k->image.machine == EM_AARCH64  ? "aarch64"
			   : k->image.machine == EM_X86_64 ? "x86_64"
							   : "");
}

json_t *snapshot_take(const struct kernel *k, const char *const *functions, size_t n)
{
	json_t *all = json_pack("{s:s, s:s, s:o, s:o, s:o*}", "schema", "plumb-snapshot/1", "tool",
				"probe-check", "kernel", plumb_json_text(k->release), "arch",
				arch_of(k), "functions", take_functions(k, functions, n));
	json_t *tracepoints = NULL;

	if (all && k->btf) {
		json_object_set_new(all, "prototypes", snapshot_prototypes(k->btf));
		json_object_set_new(all, "records", snapshot_records(k->btf));
	}
	if (all && k->running) {
		tracepoints = take_tracepoints(k);
		json_object_set_new(all, "tracepoints", tracepoints);
	}
	if (json_object_get(all, "functions") && (tracepoints || !k->running))
		return all;
	json_decref(all);
	return NULL;
}
