/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* meanwhile: --who, what happened while traced threads waited for a CPU. */
#include <string.h>
#include <unistd.h>
#include <plumb/core/json.h>
#include <plumb/core/part.h>
#include <plumb/core/report.h>
#include <plumb/core/text.h>

#include <bpf/libbpf.h>

#include "sums.h"

#define MOST_SUMS  8192 /* threads that had a CPU meanwhile, and that waited */
#define MOST_PATHS 256
#define SHOWN      6 /* lines, in a table */

static bool asked;
/* As of the last interval, and the difference to the one before it. */
static struct meanwhile_sums last, interval;
static uint64_t taken; /* plumb_report.seq of that interval */

/* --- threads --- */

static const char *const policies[] = {
	[0] = "other", [1] = "fifo",     [2] = "rr",  [3] = "batch",
	[5] = "idle",  [6] = "deadline", [7] = "ext",
};

static const char *policy_of(const struct plumb_meanwhile *k)
{
	const size_t n = sizeof(policies) / sizeof(*policies);

	return k->policy < n ? policies[k->policy] : NULL;
}

static int format_thread(const struct plumb_meanwhile *k, char *text, size_t size)
{
	const char *policy = policy_of(k);
	char comm[PLUMB_ESCAPED];

	plumb_escape(comm, k->comm, sizeof(comm));
	if (k->nice == PLUMB_REALTIME && k->priority)
		return snprintf(text, size, "%s/%u (%s %u)", comm, k->tid, policy ?: "real-time",
				k->priority);
	if (k->nice == PLUMB_REALTIME)
		return snprintf(text, size, "%s/%u (%s)", comm, k->tid,
				k->policy == 6 ? policy : "real-time, inherited");
	if (k->policy && policy)
		return snprintf(text, size, "%s/%u (%s, nice %d)", comm, k->tid, policy, k->nice);
	return snprintf(text, size, "%s/%u (nice %d)", comm, k->tid, k->nice);
}

/* How many CPUs a waiter may use. */
static unsigned int allowed(const struct plumb_meanwhile *k)
{
	unsigned int n = 0;

	for (int i = 0; i < PLUMB_MEANWHILE_WORDS; i++)
		n += __builtin_popcountll(k->allowed[i]);
	return k->n_allowed ?: n;
}

static bool is_allowed(const struct plumb_meanwhile *k, unsigned int cpu)
{
	return cpu < 64 * PLUMB_MEANWHILE_WORDS && k->allowed[cpu / 64] >> cpu % 64 & 1;
}

/* "0-3,8", or "" if it may use all that are online. */
static const char *format_cpus(const struct plumb_meanwhile *k, char *text, size_t size)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int shown = 0, to;
	size_t n = 0;

	*text = 0;
	if (online > 0 && allowed(k) >= online)
		return text;
	for (unsigned int cpu = 0; cpu < 64 * PLUMB_MEANWHILE_WORDS && n + 16 < size;
	     cpu = to + 1) {
		to = cpu;
		if (!is_allowed(k, cpu))
			continue;
		while (is_allowed(k, to + 1))
			to++;
		shown += to - cpu + 1;
		n += snprintf(text + n, size - n, to > cpu ? "%s%u-%u" : "%s%u", n ? "," : "", cpu,
			      to);
	}
	if (shown < allowed(k))
		snprintf(text + n, size - n, "%s...", n ? "," : "");
	return text;
}

/* --- as text --- */

static void format_one(const struct plumb_report *r, const struct plumb_meanwhile *k, char *text,
		       size_t size)
{
	char path[PLUMB_MEANWHILE_DEPTH * PLUMB_MEANWHILE_NAME], quota[32], period[32], cpus[64];
	int n;

	switch (k->kind) {
	case PLUMB_MEANWHILE_THREAD:
		format_thread(k, text, size);
		break;
	case PLUMB_MEANWHILE_WAITER:
		n = format_thread(k, text, size);
		if (*format_cpus(k, cpus, sizeof(cpus)))
			snprintf(text + n, size - n, ", only on CPU %s", cpus);
		break;
	case PLUMB_MEANWHILE_IDLE:
		snprintf(text, size, "[CPU idle]");
		break;
	case PLUMB_MEANWHILE_QUOTA:
		meanwhile_path(r->run->instance.bpf.object, k->cgroup, path, sizeof(path));
		snprintf(text, size, "[CPU quota used up] %s of each %s: cgroup %s",
			 plumb_format_time(k->quota, PLUMB_AUTO, quota, sizeof(quota)),
			 plumb_format_time(k->period, PLUMB_AUTO, period, sizeof(period)), path);
		break;
	default:
		snprintf(text, size, "[unknown]");
	}
}

static bool is_waiter(const struct meanwhile_one *one)
{
	return one->key.kind == PLUMB_MEANWHILE_WAITER;
}

/* The ns of all waiters, or of all that they waited for. */
static uint64_t total(const struct meanwhile_sums *s, bool waiters)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < s->n; i++)
		ns += is_waiter(&s->all[i]) == waiters ? s->all[i].sum.ns : 0;
	return ns;
}

static void print_time(const struct plumb_report *r, uint64_t ns, uint64_t of, FILE *out)
{
	char text[32], share[32];

	fprintf(out, "%8s ", plumb_format_time(ns, r->run->options.unit, text, sizeof(text)));
	fprintf(out, "%5s%%  ",
		plumb_format_percent(of ? 100.0 * ns / of : 0, share, sizeof(share)));
}

static void print_list(const struct plumb_report *r, const struct meanwhile_sums *s, bool waiters,
		       FILE *out)
{
	const uint64_t all = total(s, waiters);
	uint64_t rest = all;
	size_t shown = 0, more = 0;
	char text[1024];

	for (size_t i = 0; i < s->n; i++) {
		const struct meanwhile_one *one = &s->all[i];

		if (is_waiter(one) != waiters)
			continue;
		if (shown == SHOWN) {
			more++;
			continue;
		}
		shown++;
		rest -= one->sum.ns;
		format_one(r, &one->key, text, sizeof(text));
		print_time(r, one->sum.ns, all, out);
		fprintf(out, "%s\n", text);
	}
	if (!more)
		return;
	print_time(r, rest, all, out);
	fprintf(out, "(%zu more)\n", more);
}

static void print(const struct plumb_report *r, const struct meanwhile_sums *s, FILE *out)
{
	char text[32];

	if (!s->n)
		return;
	fprintf(out, "\nwaited for a CPU, %s in all:\n",
		plumb_format_time(total(s, true), r->run->options.unit, text, sizeof(text)));
	print_list(r, s, true, out);
	fputs("meanwhile on their CPUs:\n", out);
	print_list(r, s, false, out);
}

/* --- in JSON --- */

static void add_thread(json_t *j, const struct plumb_meanwhile *k)
{
	const bool fair = k->nice != PLUMB_REALTIME;
	char text[PLUMB_ESCAPED];

	plumb_escape(text, k->comm, sizeof(text));
	json_object_set_new(j, "pid", json_integer(k->pid));
	json_object_set_new(j, "tid", json_integer(k->tid));
	json_object_set_new(j, "comm", json_string(text));
	json_object_set_new(j, "policy", policy_of(k) ? json_string(policy_of(k)) : json_null());
	json_object_set_new(j, "nice", fair ? json_integer(k->nice) : json_null());
	json_object_set_new(j, "priority", fair ? json_null() : json_integer(k->priority));
}

static json_t *json_of(const struct plumb_report *r, const struct meanwhile_one *one)
{
	static const char *const what[] = {"unknown", "thread", "idle", "quota"};
	char path[PLUMB_MEANWHILE_DEPTH * PLUMB_MEANWHILE_NAME], cpus[1024];
	const struct plumb_meanwhile *k = &one->key;
	json_t *j = json_object();

	if (!is_waiter(one))
		json_object_set_new(j, "what", json_string(what[k->kind]));
	json_object_set_new(j, "count", plumb_json_u64(one->sum.count));
	json_object_set_new(j, "sum", plumb_json_u64(one->sum.ns));
	if (is_waiter(one) || k->kind == PLUMB_MEANWHILE_THREAD)
		add_thread(j, k);
	if (is_waiter(one))
		json_object_set_new(j, "cpus",
				    *format_cpus(k, cpus, sizeof(cpus)) ? json_string(cpus)
									: json_null());
	if (k->kind != PLUMB_MEANWHILE_QUOTA)
		return j;
	meanwhile_path(r->run->instance.bpf.object, k->cgroup, path, sizeof(path));
	json_object_set_new(j, "cgroup", json_string(path));
	json_object_set_new(j, "quota", plumb_json_u64(k->quota));
	json_object_set_new(j, "period", plumb_json_u64(k->period));
	return j;
}

static json_t *json(const struct plumb_report *r, const struct meanwhile_sums *s)
{
	json_t *waited = json_array(), *meanwhile = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(is_waiter(&s->all[i]) ? waited : meanwhile,
				      json_of(r, &s->all[i]));
	return json_pack("{s:o,s:o}", "waited", waited, "meanwhile", meanwhile);
}

/* --- the part --- */

/* clang-format off */
static const struct plumb_option options[] = {
	{"who", 0, NULL, "also sum up which threads had the CPU while others waited for it", 40, .given = &asked},
	{0},
};
/* clang-format on */

static bool has(const struct plumb_tool *tool)
{
	return tool && tool->meanwhile;
}

/* Waits begin there. */
static void add_hook(struct plumb_bpf *bpf)
{
	size_t i = 0;

	while (i < PLUMB_MAX_HOOKS - 1 && *bpf->hooks[i] && strcmp(bpf->hooks[i], "sched_waking"))
		i++;
	strcpy(bpf->hooks[i], "sched_waking");
}

static void configure(struct plumb_bpf *bpf)
{
	struct bpf_map *sums = bpf_object__find_map_by_name(bpf->object, "plumb_meanwhile");

	if (!asked || !sums)
		return;
	bpf->config->meanwhile = bpf->config->waits = 1;
	add_hook(bpf);
	bpf_map__set_max_entries(sums, MOST_SUMS);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(bpf->object, "plumb_meanwhile_paths"),
				 MOST_PATHS);
}

static void prepare(struct plumb_run *run)
{
	if (asked)
		meanwhile_prepare(run->instance.bpf.object);
}

static int take(const struct plumb_report *r)
{
	struct meanwhile_sums now = {};

	if (!asked)
		return 0;
	now = meanwhile_read(r->run->instance.bpf.object);
	meanwhile_free(&interval);
	interval = meanwhile_since(&now, &last);
	meanwhile_free(&last);
	last = now;
	taken = r->seq;
	return 0;
}

/* Of the whole run, of an interval that take() has taken, or of the one in progress. */
static void add(const struct plumb_report *r, FILE *out, json_t *to)
{
	const bool whole = r->snap == r->total;
	struct meanwhile_sums now = {}, since = {}, *of = &interval;

	if (!asked)
		return;
	if (whole || r->seq != taken) {
		now = meanwhile_read(r->run->instance.bpf.object);
		since = meanwhile_since(&now, &last);
		of = whole ? &now : &since;
	}
	if (out)
		print(r, of, out);
	else
		json_object_set_new(to, "who", json(r, of));
	meanwhile_free(&since);
	meanwhile_free(&now);
}

static int forget(void)
{
	meanwhile_free(&last);
	meanwhile_free(&interval);
	return 0;
}

const struct plumb_part plumb_meanwhile_part = {
	.name = "meanwhile",
	.options = options,
	.has = has,
	.configure = configure,
	.loaded = prepare,
	.interval = take,
	.add = add,
	.close = forget,
};
