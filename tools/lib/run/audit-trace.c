/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "audit-trace.h"

#include <plumb/attach/allowed.h>
#include <plumb/attach/attached.h>
#include <plumb/base/audit.h>
#include <plumb/base/json.h>
#include <plumb/measure/verdict.h>
#include <plumb/session/session.h>

#include <bpf/libbpf.h>

/* --- hooks: those of the tool first, then those by which threads are followed --- */

static void add_section(struct plumb_attached *a, const struct bpf_program *p)
{
	char name[256];

	if (bpf_program__autoload(p) && *plumb_section_name(p, name, sizeof(name)))
		plumb_attached_add_hook(a, name);
}

static void add_hooks(struct plumb_attached *a, const struct plumb_instance *in)
{
	const char *const *programs = in->mechanism->programs;

	for (; programs && *programs; programs++)
		add_section(a, bpf_object__find_program_by_name(in->bpf.object, *programs));
	plumb_attached_add_probes(a, &in->probes);
	/* Functions that are chosen at run time are not in a section's name. */
	for (size_t i = 0; !a->n_hooks && i < PLUMB_MAX_HOOKS && *in->bpf.hooks[i]; i++)
		plumb_attached_add_hook(a, in->bpf.hooks[i]);
	for (size_t i = 0; i < in->n_threads; i++)
		add_section(a, in->threads[i]);
}

/* --- filters --- */

static void add_numbers(json_t *filters, const char *name, const uint32_t *list, uint32_t n)
{
	json_t *numbers = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(numbers, plumb_json_u64(list[i]));
	json_object_set_new(filters, name, numbers);
}

static void add_words(json_t *filters, const char *name, char *const *list, size_t n)
{
	json_t *words = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(words, plumb_json_bytes(list[i]));
	json_object_set_new(filters, name, words);
}

static json_t *list_filters(const struct plumb_options *o)
{
	json_t *filters = json_object();
	size_t words = 0;

	while (o->command && o->command[words])
		words++;
	add_numbers(filters, "pid", o->pids, o->n_pids);
	add_numbers(filters, "tid", o->tids, o->n_tids);
	add_words(filters, "comm", o->comms_typed, o->n_comms_typed);
	add_words(filters, "cgroup", o->cgroups, o->n_cgroups);
	add_words(filters, "command", o->command, words);
	return filters;
}

int plumb_audit_trace(const struct plumb_session *s)
{
	struct plumb_attached a = {};

	if (!plumb_audit_is_on())
		return 0;
	plumb_attached_add_object(&a, s->instance.bpf.object);
	add_hooks(&a, &s->instance);
	return plumb_attached_write(&a, s->instance.mechanism->name, list_filters(&s->options));
}

void plumb_audit_total(const struct plumb_snapshot *total)
{
	const struct plumb_verdict v = plumb_ledger_judge(total);

	plumb_audit_counted(v.recorded, v.lost, total->missed_known);
}
