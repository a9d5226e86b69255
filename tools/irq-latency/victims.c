/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "victims.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/memory.h>
#include <plumb/core/text.h>
#include <plumb/inflight/states.h>
#include <plumb/kernel/map.h>

#include <bpf/libbpf.h>

#include "irq-latency.h"
#include "names.h"

#define PRINTED 3  /* in the footer */
#define LISTED  32 /* in JSON */

static const struct bpf_object *used;

int victims_of(struct bpf_object *object)
{
	used = object;
	return 0;
}

/* All that was taken; victims by what was taken from each. */
struct taken {
	struct irq_victim *victims;
	size_t n;
	uint64_t threads, idle, softirqd; /* ns */
};

static int by_id(const void *a, const void *b)
{
	const struct irq_victim *x = a, *y = b;

	return (x->key.id > y->key.id) - (x->key.id < y->key.id);
}

static int by_taken(const void *a, const void *b)
{
	const struct irq_victim *x = a, *y = b;

	return (x->taken < y->taken) - (x->taken > y->taken);
}

/* Adds up what each CPU has of each thread. */
static void join(struct taken *t)
{
	struct irq_victim *to = t->victims, *v;

	qsort(t->victims, t->n, sizeof(*to), by_id);
	for (v = to + 1; v < t->victims + t->n; v++) {
		if (v->key.id != to->key.id) {
			*++to = *v;
			continue;
		}
		if (v->count > to->count)
			memcpy(to->comm, v->comm, sizeof(to->comm));
		to->taken += v->taken;
		to->count += v->count;
		if (v->longest > to->longest) {
			to->longest = v->longest;
			to->by = v->by;
		}
		if (v->ran < to->ran)
			to->ran = v->ran;
	}
	t->n = t->n ? to + 1 - t->victims : 0;
	qsort(t->victims, t->n, sizeof(*to), by_taken);
}

static void add(struct taken *t, const struct irq_victim *v)
{
	if (!v->count)
		return;
	t->threads += v->taken;
	t->victims[t->n++] = *v;
}

static struct taken read_all(void)
{
	const int map = bpf_object__find_map_fd_by_name(used, "irq_victims"),
		  states = bpf_object__find_map_fd_by_name(used, "irq_cpus"),
		  cpus = libbpf_num_possible_cpus();
	struct irq_cpu *all = plumb_zeroed(cpus, sizeof(*all));
	struct plumb_elements victims = {};
	struct taken t = {};
	uint32_t zero = 0;
	size_t size;
	const char *untold = plumb_states_variable(used, "irq_untold", &size);

	plumb_map_read(map, &victims);
	t.victims = plumb_zeroed(victims.n + 2 * cpus, sizeof(*t.victims));
	for (size_t i = 0; i < victims.n; i++)
		add(&t, (const struct irq_victim *)victims.values + i);
	plumb_elements_free(&victims);
	plumb_map_lookup(states, &zero, all);
	for (int cpu = 0; cpu < cpus; cpu++) {
		add(&t, &all[cpu].victims[0]);
		add(&t, &all[cpu].victims[1]);
		t.idle += all[cpu].idle[0] + all[cpu].idle[1];
		t.softirqd += all[cpu].softirqd;
	}
	if (untold)
		t.threads += plumb_state_word(untold, 0);
	free(all);
	join(&t);
	return t;
}

/* Reads a word of the thread's file NAME; "": it has ended. */
static const char *read_thread(const struct irq_victim *v, const char *name, char *text, int size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", v->pid, v->tid, name);
	file = fopen(path, "re");
	*text = 0;
	if (file && fgets(text, size, file))
		text[strcspn(text, "\n")] = 0;
	if (file)
		fclose(file);
	return text;
}

/* Its share of the thread's CPU time since it was first interrupted, per cent; -1: it has ended. */
static double share(const struct irq_victim *v)
{
	char text[64];
	uint64_t ran = strtoull(read_thread(v, "schedstat", text, sizeof(text)), NULL, 10);

	return ran > v->ran ? 100.0 * v->taken / (ran - v->ran) : -1;
}

/* Its name now, or when it was last seen. */
static const char *comm_of(const struct irq_victim *v, char *text, size_t size)
{
	char now[PLUMB_COMM_LEN];

	read_thread(v, "comm", now, sizeof(now));
	plumb_escape(text, *now ? now : v->comm, size);
	return text;
}

static void print_victim(const struct irq_victim *v, FILE *out)
{
	char comm[PLUMB_ESCAPED], taken[32], longest[32], of[32], name[80];

	fprintf(out, "    %s from %s/%u",
		plumb_format_time(v->taken, PLUMB_AUTO, taken, sizeof(taken)),
		comm_of(v, comm, sizeof(comm)), v->tid);
	if (share(v) >= 0)
		fprintf(out, ", %s %% of its CPU time",
			plumb_format_percent(share(v), of, sizeof(of)));
	fprintf(out, ", longest %s, most of it by %s\n",
		plumb_format_time(v->longest, PLUMB_AUTO, longest, sizeof(longest)),
		irq_name(v->by, name, sizeof(name)));
}

void victims_print(FILE *out)
{
	struct taken t = read_all();
	char threads[32], idle[32], softirqd[32];

	fprintf(out, "taken: %s from threads, %s from idle CPUs",
		plumb_format_time(t.threads, PLUMB_AUTO, threads, sizeof(threads)),
		plumb_format_time(t.idle, PLUMB_AUTO, idle, sizeof(idle)));
	if (t.softirqd)
		fprintf(out, "; %s were softirqs\n    in threads that run them",
			plumb_format_time(t.softirqd, PLUMB_AUTO, softirqd, sizeof(softirqd)));
	fprintf(out, "%s\n", t.n ? "; most of it:" : "");
	for (size_t i = 0; i < t.n && i < PRINTED; i++)
		print_victim(&t.victims[i], out);
	free(t.victims);
}

static json_t *victim_json(const struct irq_victim *v)
{
	json_t *j = json_object();
	char name[80], comm[PLUMB_ESCAPED];

	json_object_set_new(j, "pid", json_integer(v->pid));
	json_object_set_new(j, "tid", json_integer(v->tid));
	json_object_set_new(j, "comm", json_string(comm_of(v, comm, sizeof(comm))));
	json_object_set_new(j, "sum", plumb_json_u64(v->taken));
	json_object_set_new(j, "count", plumb_json_u64(v->count));
	json_object_set_new(j, "longest", plumb_json_u64(v->longest));
	json_object_set_new(j, "longest_by", json_string(irq_name(v->by, name, sizeof(name))));
	json_object_set_new(j, "percent", share(v) < 0 ? json_null() : json_real(share(v)));
	return j;
}

void victims_json(json_t *json, const struct plumb_report *r)
{
	struct taken t = read_all();
	json_t *victims = json_array(), *taken = json_object();

	for (size_t i = 0; i < t.n && i < LISTED; i++)
		json_array_append_new(victims, victim_json(&t.victims[i]));
	json_object_set_new(taken, "threads", plumb_json_u64(t.threads));
	json_object_set_new(taken, "idle", plumb_json_u64(t.idle));
	json_object_set_new(taken, "softirqd", plumb_json_u64(t.softirqd));
	json_object_set_new(json, "taken", taken);
	json_object_set_new(json, "victims", victims);
	free(t.victims);
}
