/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* builds: what reports say of them. */
#include <plumb/user/builds.h>

#include <stdio.h>
#include <sys/stat.h>
#include <plumb/core/json.h>
#include <plumb/core/text.h>
#include <plumb/inflight/states.h>
#include <plumb/kernel/thread.h>
#include <plumb/user/mappings.h>

#include "builds-file.h"

struct count {
	const struct plumb_build *build;
	size_t processes;
};

static bool is_only_one(const struct plumb_build *b)
{
	size_t same = 0;

	for (size_t i = 0; i < plumb_traced.n; i++)
		same += plumb_traced.list[i].file == b->file;
	return same == 1;
}

const char *plumb_build_name(size_t i, char *text, size_t size)
{
	const struct plumb_build *b = &plumb_traced.list[i];
	char path[4096];

	plumb_escape(path, plumb_build_path(b), sizeof(path));
	if (is_only_one(b))
		snprintf(text, size, "%s", path);
	else if (*b->id)
		snprintf(text, size, "%s (%.12s)", path, b->id);
	else
		snprintf(text, size, "%s (inode %llu)", path, (unsigned long long)b->inode);
	return text;
}

static const __u64 *read_calls(size_t *n)
{
	const __u64 *calls = plumb_states_variable(plumb_traced.bpf->object, "build_calls", n);

	*n /= sizeof(*calls);
	return calls;
}

static void count_mapping(void *context, pid_t pid, const struct plumb_vma *area)
{
	struct count *c = context;
	struct stat st;

	if (!plumb_map_stat(pid, area, &st) && plumb_build_is_of(c->build, &st))
		c->processes++;
}

/* The processes that map the build. */
static size_t count_processes(const struct plumb_build *b)
{
	struct count c = {.build = b};

	plumb_mappings_find(0, &(struct plumb_mapped){.inode = b->inode}, count_mapping, &c);
	return c.processes;
}

/* Whether there is more to say of the builds than that all of them are traced from the start on. */
static bool have_changed(void)
{
	for (size_t i = 0; i < plumb_traced.n; i++)
		if (plumb_traced.list[i].until.tv_sec || !is_only_one(&plumb_traced.list[i]))
			return true;
	return false;
}

/* From when on, or until when, it was traced, if that is not all the time. */
static char *say_when(const struct plumb_build *b, char *text, size_t size)
{
	char at[32];

	*text = 0;
	if (!b->since.tv_sec)
		snprintf(text, size, ", not traced");
	else if (b->until.tv_sec)
		snprintf(text, size, ", until %s, when it was changed in place",
			 plumb_clock_text(&b->until, at));
	else if (b->gap)
		snprintf(text, size,
			 "; traced from %s on, calls of up to %.3g s before are not in it",
			 plumb_clock_text(&b->since, at), b->gap / 1e9);
	return text;
}

void plumb_builds_print(FILE *out)
{
	const struct plumb_build *b;
	char name[4096], when[160], processes[64] = "", line[4600];
	const __u64 *calls;
	size_t n;

	calls = have_changed() ? read_calls(&n) : NULL;
	if (!calls)
		return;
	for (size_t i = 0; i < plumb_traced.n && i < n; i++) {
		b = &plumb_traced.list[i];
		if (!plumb_pids_are_foreign())
			snprintf(processes, sizeof(processes), ", in %zu processes now",
				 count_processes(b));
		snprintf(line, sizeof(line), "%s: %llu calls%s%s%s",
			 plumb_build_name(i, name, sizeof(name)), (unsigned long long)calls[i],
			 processes, b->deleted ? " (replaced)" : "",
			 say_when(b, when, sizeof(when)));
		plumb_print_wrapped(line, out);
	}
}

void plumb_builds_add_json(json_t *json, const struct plumb_report *r)
{
	json_t *list, *one;
	const struct plumb_build *b;
	const __u64 *calls;
	char path[4096];
	size_t n;

	if (!plumb_traced.n)
		return;
	list = json_array();
	calls = read_calls(&n);
	for (size_t i = 0; i < plumb_traced.n && calls && i < n; i++) {
		b = &plumb_traced.list[i];
		plumb_escape(path, plumb_build_path(b), sizeof(path));
		one = json_pack("{s:s, s:s?, s:I, s:b, s:I}", "file", path, "build_id",
				*b->id ? b->id : NULL, "inode", (json_int_t)b->inode, "replaced",
				b->deleted, "calls", (json_int_t)calls[i]);
		/* /proc has none of other namespaces. */
		json_object_set_new(one, "processes",
				    plumb_pids_are_foreign() ? json_null()
							     : json_integer(count_processes(b)));
		json_object_set_new(one, "since",
				    b->since.tv_sec ? plumb_json_time(&b->since) : json_null());
		json_object_set_new(one, "missed_before_ns",
				    b->since.tv_sec ? plumb_json_u64(b->gap) : json_null());
		json_object_set_new(one, "until",
				    b->until.tv_sec ? plumb_json_time(&b->until) : json_null());
		json_array_append_new(list, one);
	}
	json_object_set_new(json, "builds", list);
}
