/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "parts-json.h"

#include <errno.h>
#include <plumb/core/json.h>
#include <plumb/functions/disk.h>
#include <plumb/meanwhile/meanwhile.h>
#include <plumb/syscalls/syscalls.h>

#include "heads.h"
#include "quota.h"

void parts_report_json(json_t *json, const struct account *a)
{
	json_object_set_new(json, "threads", plumb_json_u64(a->threads));
	json_object_set_new(json, "wall_ns", plumb_json_u64(a->ns));
	json_object_set_new(json, "idle_ns", plumb_json_u64(a->idle));
}

/* Another thread, of which not all is known. */
static json_t *other_json(const struct wall_other *o, const char *start)
{
	json_t *json = json_object();

	json_object_set_new(json, "comm", plumb_json_text(o->comm));
	if (o->pid)
		json_object_set_new(json, "pid", json_integer(o->pid));
	if (o->tid)
		json_object_set_new(json, "tid", json_integer(o->tid));
	if (*start)
		json_object_set_new(json, "start", plumb_json_text(start));
	return json;
}

static void add_priority(json_t *json, const struct wall_other *o)
{
	json_object_set_new(json, "nice",
			    o->nice == PLUMB_REALTIME ? json_null() : json_integer(o->nice));
	json_object_set_new(json, "n_cpus", json_integer(o->n_allowed));
	json_object_set_new(json, "cpu", o->n_allowed == 1 ? json_integer(o->cpu) : json_null());
}

static json_t *part_json(const struct account *a, const struct part *p)
{
	const struct head *head = account_head(a, p);
	json_t *json = json_object(), *key = json_object();
	char text[64];

	json_object_set_new(key, "comm", *p->comm ? plumb_json_text(p->comm) : json_null());
	json_object_set_new(key, "pid", p->pid ? json_integer(p->pid) : json_null());
	json_object_set_new(key, "tid", p->tid ? json_integer(p->tid) : json_null());
	json_object_set_new(key, "start", *p->start ? plumb_json_text(p->start) : json_null());
	json_object_set_new(json, "key", key);
	json_object_set_new(json, "cause", json_string(cause_word(p->cause)));
	json_object_set_new(json, "idle", json_boolean(p->idle));
	json_object_set_new(json, "count", plumb_json_u64(p->count));
	json_object_set_new(json, "sum", plumb_json_u64(p->ns));
	json_object_set_new(json, "threads", plumb_json_u64(p->threads));
	if (p->what & WALL_CALL)
		json_object_set_new(
			json, "syscall",
			json_string(plumb_syscall_name((p->what & WALL_CALL) - 1, PLUMB_ABI_NATIVE,
						       text, sizeof(text))));
	if (*p->place)
		json_object_set_new(json, "function", plumb_json_text(p->place));
	if (p->device)
		json_object_set_new(json, "disk",
				    json_string(plumb_disk_name(p->device, text, sizeof(text))));
	if (*p->peer)
		json_object_set_new(json, "peer", plumb_json_text(p->peer));
	if (p->process.pid)
		json_object_set_new(json, "peer_process",
				    json_pack("{s:o, s:i}", "comm",
					      plumb_json_text(p->process.comm), "pid",
					      p->process.pid));
	if (p->quota)
		json_object_set_new(json, "quota",
				    json_pack("{s:s, s:o, s:o}", "cgroup", p->quota->cgroup, "ns",
					      plumb_json_u64(p->quota->limit), "period_ns",
					      plumb_json_u64(p->quota->period)));
	if (p->cause == CAUSE_TAKEN && p->waiter.kind)
		json_object_set_new(json, "waiter", plumb_meanwhile_json(NULL, &p->waiter, p->ns));
	if (*p->other.comm) {
		json_object_set_new(json, "by", other_json(&p->other, p->other_start));
		if (p->cause == CAUSE_TAKEN)
			add_priority(json_object_get(json, "by"), &p->other);
	}
	if (head)
		json_object_set_new(json, "held_by", other_json(&head->other, head->start));
	return json;
}

int parts_rows_json(const struct account *a, FILE *out)
{
	bool first = true;
	json_t *json;
	int err = 0;

	fputc('[', out);
	for (size_t i = 0; i < a->n && !err; i++) {
		if (!a->parts[i].ns)
			continue;
		if (!first)
			fputc(',', out);
		first = false;
		json = part_json(a, &a->parts[i]);
		err = json_dumpf(json, out, JSON_COMPACT) ? -EIO : 0;
		json_decref(json);
	}
	fputc(']', out);
	return err;
}
