/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "slower.h"

#include <plumb/core/json.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/meanwhile/waits.h>

#include "runq-latency.h"

static void print_heading(FILE *out)
{
	fprintf(out, " %7s %3s %-20s %s\n", "WAITED", "CPU", "COMM/TID", "MEANWHILE");
}

static void print(const void *record, FILE *out)
{
	const struct runq_wait *w = record;
	char text[PLUMB_ESCAPED + 16], comm[PLUMB_ESCAPED];

	fprintf(out, " %7s %3u", plumb_format_time(w->ns, PLUMB_AUTO, text, sizeof(text)), w->cpu);
	plumb_escape(comm, w->comm, sizeof(comm));
	snprintf(text, sizeof(text), "%s/%u", comm, w->tid);
	fprintf(out, " %-20s", text);
	plumb_waits_print(runq_slow.run->instance.bpf.object, &w->waits, w->ns, " ", out);
	fputc('\n', out);
}

static void add_json(const void *record, json_t *j)
{
	const struct runq_wait *w = record;
	char text[PLUMB_ESCAPED], path[4096];

	plumb_cgroup_path(w->cgroup, path, sizeof(path));
	json_object_set_new(j, "ns", plumb_json_u64(w->ns));
	json_object_set_new(j, "pid", json_integer(w->pid));
	json_object_set_new(j, "tid", json_integer(w->tid));
	plumb_escape(text, w->comm, sizeof(text));
	json_object_set_new(j, "comm", json_string(text));
	json_object_set_new(j, "cgroup", plumb_json_text(path));
	json_object_set_new(j, "cpu", json_integer(w->cpu));
	plumb_waits_json(runq_slow.run->instance.bpf.object, &w->waits, j);
}

struct plumb_in_order runq_slow = {
	.size = sizeof(struct runq_wait),
	.heading = print_heading,
	.print = print,
	.json_name = "wait",
	.add_json = add_json,
	.may_keep = true,
};
