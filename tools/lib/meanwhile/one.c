/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>
#include <plumb/core/json.h>
#include <plumb/core/text.h>
#include <plumb/meanwhile/meanwhile.h>

#include <bpf/libbpf.h>

#include "sums.h"

static const char *const policies[] = {
	[0] = "other", [1] = "fifo",     [2] = "rr",  [3] = "batch",
	[5] = "idle",  [6] = "deadline", [7] = "ext",
};

static const char *policy_of(const struct plumb_meanwhile *k)
{
	const size_t n = sizeof(policies) / sizeof(*policies);

	return k->policy < n ? policies[k->policy] : NULL;
}

static const char *format_priority(const struct plumb_meanwhile *k, char *text, size_t size)
{
	const char *policy = policy_of(k);

	if (k->nice != PLUMB_REALTIME)
		snprintf(text, size, "%s%snice %d", k->policy && policy ? policy : "",
			 k->policy && policy ? ", " : "", k->nice);
	else if (k->priority)
		snprintf(text, size, "%s %u", policy ?: "real-time", k->priority);
	else
		snprintf(text, size, "%s", k->policy == 6 ? policy : "real-time, inherited");
	return text;
}

const char *plumb_meanwhile_cpus(uint32_t n_allowed, uint32_t cpu, char *text, size_t size)
{
	*text = 0;
	if (n_allowed == 1)
		snprintf(text, size, " on CPU %u only", cpu);
	else if (n_allowed && n_allowed < sysconf(_SC_NPROCESSORS_ONLN))
		snprintf(text, size, " on %u CPUs only", n_allowed);
	return text;
}

static int format_thread(const struct plumb_meanwhile *k, char *text, size_t size)
{
	char comm[PLUMB_ESCAPED], priority[64], cpus[64] = "";

	plumb_escape(comm, k->comm, sizeof(comm));
	if (k->kind == PLUMB_MEANWHILE_THREAD)
		plumb_meanwhile_cpus(k->n_allowed, k->cpu, cpus, sizeof(cpus));
	return snprintf(text, size, "%s/%u (%s%s)", comm, k->tid,
			format_priority(k, priority, sizeof(priority)), cpus);
}

/* Bits of CPUs that there cannot be may be set. */
static bool is_allowed(const struct plumb_meanwhile *k, unsigned int cpu)
{
	return cpu < 64 * PLUMB_MEANWHILE_WORDS && k->allowed[cpu / 64] >> cpu % 64 & 1 &&
	       (int)cpu < libbpf_num_possible_cpus();
}

/* How many CPUs a waiter may use. */
static unsigned int allowed(const struct plumb_meanwhile *k)
{
	unsigned int n = 0;

	for (unsigned int cpu = 0; cpu < 64 * PLUMB_MEANWHILE_WORDS; cpu++)
		n += is_allowed(k, cpu);
	return k->n_allowed ?: n;
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

const char *plumb_meanwhile_text(const struct bpf_object *object, const struct plumb_meanwhile *k,
				 char *text, size_t size)
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
		plumb_meanwhile_path(object, k->cgroup, path, sizeof(path));
		snprintf(text, size, "[CPU quota used up] %s of each %s: cgroup %s",
			 plumb_format_time(k->quota, PLUMB_AUTO, quota, sizeof(quota)),
			 plumb_format_time(k->period, PLUMB_AUTO, period, sizeof(period)), path);
		break;
	default:
		snprintf(text, size, "[unknown]");
	}
	return text;
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

json_t *plumb_meanwhile_json(const struct bpf_object *object, const struct plumb_meanwhile *k,
			     uint64_t ns)
{
	static const char *const what[] = {"unknown", "thread", "idle", "quota"};
	char path[PLUMB_MEANWHILE_DEPTH * PLUMB_MEANWHILE_NAME], cpus[1024];
	const bool waiter = k->kind == PLUMB_MEANWHILE_WAITER;
	json_t *j = json_object();

	if (!waiter)
		json_object_set_new(j, "what", json_string(what[k->kind]));
	json_object_set_new(j, "sum", plumb_json_u64(ns));
	if (waiter || k->kind == PLUMB_MEANWHILE_THREAD)
		add_thread(j, k);
	if (waiter)
		json_object_set_new(j, "cpus",
				    *format_cpus(k, cpus, sizeof(cpus)) ? json_string(cpus)
									: json_null());
	if (k->kind == PLUMB_MEANWHILE_THREAD) {
		json_object_set_new(j, "n_cpus", json_integer(k->n_allowed));
		json_object_set_new(j, "cpu",
				    k->n_allowed == 1 ? json_integer(k->cpu) : json_null());
	}
	if (k->kind != PLUMB_MEANWHILE_QUOTA)
		return j;
	plumb_meanwhile_path(object, k->cgroup, path, sizeof(path));
	json_object_set_new(j, "cgroup", json_string(path));
	json_object_set_new(j, "quota", plumb_json_u64(k->quota));
	json_object_set_new(j, "period", plumb_json_u64(k->period));
	return j;
}
