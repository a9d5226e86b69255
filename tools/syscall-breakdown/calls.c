/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tree.h"

#include <stdlib.h>
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/text.h>
#include <plumb/syscalls/syscalls.h>

#include "syscall-breakdown.h"

#define FEW 10 /* samples */

/* --- rows --- */

static const struct plumb_stack_key lost = {.kernel = PLUMB_LOST_STACK, .user = PLUMB_NO_STACK};

static const struct plumb_stack_key *key_of(const struct plumb_row *row)
{
	return row->slot ? row->key : &lost;
}

static const char *name_of(uint32_t what, char *text, size_t size)
{
	what &= ~(BREAKDOWN_CALLS | BREAKDOWN_CALLERS);
	return plumb_syscall_name(what & ((1U << BREAKDOWN_ABI_SHIFT) - 1),
				  what >> BREAKDOWN_ABI_SHIFT, text, size);
}

bool row_is_calls(const struct plumb_row *row)
{
	return key_of(row)->what & BREAKDOWN_CALLS;
}

bool row_is_callers(const struct plumb_row *row)
{
	return !row_is_calls(row) && key_of(row)->what & BREAKDOWN_CALLERS;
}

const char *row_syscall(const struct plumb_row *row, char *text, size_t size)
{
	return name_of(key_of(row)->what, text, size);
}

void row_frames(struct plumb_frames *f, const struct plumb_report *r, const struct plumb_row *row)
{
	plumb_frames_name(f, r->run->instance.bpf.object, key_of(row));
}

/* --- sums --- */

static struct call *find(struct calls *calls, uint32_t what)
{
	struct call *c;

	what &= ~BREAKDOWN_CALLS;
	for (c = calls->list; c < calls->list + calls->n; c++)
		if (c->what == what)
			return c;
	*c = (struct call){.what = what};
	calls->n++;
	return c;
}

struct calls *calls_of(const struct plumb_snapshot *snap)
{
	struct calls *calls = calloc(1, sizeof(*calls) + (snap->n + 1) * sizeof(calls->list[0]));
	bool some_lost = false;

	if (!calls)
		abort();
	for (size_t i = 0; i < snap->n; i++) {
		const struct plumb_row *row = &snap->rows[i];
		struct call *c;

		if (row_is_callers(row))
			continue;
		c = row->slot ? find(calls, key_of(row)->what) : NULL;
		if (!c) {
			some_lost = row->counters[1];
		} else if (row_is_calls(row)) {
			c->count = row->count;
			c->ns = row->sum;
			c->on_cpu = row->counters[0];
			c->lost += row->counters[1];
		} else {
			c->samples += row->counters[1];
		}
	}
	/*
	 * c->lost still has all samples of c.  Rows are not read at the same time: the difference
	 * to the rows of stacks is only used if there are lost stacks.
	 */
	for (struct call *c = calls->list; c < calls->list + calls->n; c++) {
		c->lost = some_lost && c->lost > c->samples ? c->lost - c->samples : 0;
		c->samples += c->lost;
	}
	return calls;
}

void calls_free(struct calls *calls)
{
	free(calls);
}

struct call calls_sum(const struct calls *calls)
{
	struct call sum = {};

	for (const struct call *c = calls->list; c < calls->list + calls->n; c++) {
		sum.count += c->count;
		sum.ns += c->ns;
		sum.on_cpu += c->on_cpu;
		sum.samples += c->samples;
	}
	return sum;
}

json_t *calls_json(const struct calls *calls)
{
	json_t *all = json_array();
	char name[32];

	for (const struct call *c = calls->list; c < calls->list + calls->n; c++)
		json_array_append_new(all, json_pack("{s:s, s:o, s:o, s:o, s:o}", "syscall",
						     name_of(c->what, name, sizeof(name)), "calls",
						     plumb_json_u64(c->count), "ns",
						     plumb_json_u64(c->ns), "on_cpu",
						     plumb_json_u64(c->on_cpu), "samples",
						     plumb_json_u64(c->samples)));
	return all;
}

void calls_warn(const struct calls *calls, FILE *out)
{
	char name[32], time[32];

	for (const struct call *c = calls->list; c < calls->list + calls->n; c++) {
		if (!c->on_cpu || c->samples >= FEW)
			continue;
		name_of(c->what, name, sizeof(name));
		plumb_format_time(c->on_cpu, PLUMB_AUTO, time, sizeof(time));
		if (c->samples)
			fprintf(out,
				"%s: %llu sample%s: too few to know where its %s on the CPU were\n",
				name, (unsigned long long)c->samples, c->samples == 1 ? "" : "s",
				time);
		else
			fprintf(out, "%s: no samples: where its %s on the CPU were is not known\n",
				name, time);
	}
}

/* --- the tree --- */

/* Add the stacks of a system call, and its time on the CPU if there are no samples to divide it. */
static void add_stacks(struct tree *tree, const struct call *c, const char *name,
		       const struct plumb_report *r)
{
	struct plumb_frames f = {};
	uint64_t before = 0;

	for (size_t i = 0; i < r->snap->n; i++) {
		const struct plumb_row *row = &r->snap->rows[i];
		struct tree_time time = {.blocked = row->sum,
					 .preempted_runq = row->counters[0],
					 .samples = row->counters[1]};

		if (!row->slot || key_of(row)->what != c->what)
			continue;
		if (row->counters[1])
			time.on_cpu = tree_share(c->on_cpu, row->counters[1], before, c->samples);
		before += row->counters[1];
		row_frames(&f, r, row);
		tree_add(tree, name, &f, &time);
		plumb_frames_free(&f);
	}
	if (c->lost) {
		plumb_frames_name(&f, r->run->instance.bpf.object, &lost);
		tree_add(tree, name, &f,
			 &(struct tree_time){
				 .on_cpu = tree_share(c->on_cpu, c->lost, before, c->samples),
				 .samples = c->lost});
		plumb_frames_free(&f);
	}
	f.n_kernel = 0;
	if (!c->samples)
		tree_add(tree, name, &f, &(struct tree_time){.on_cpu = c->on_cpu});
}

struct tree *calls_tree(const struct calls *calls, const struct plumb_report *r)
{
	struct tree *tree = tree_new();
	struct plumb_frames f = {};
	char name[64], text[32];

	for (const struct call *c = calls->list; c < calls->list + calls->n; c++) {
		snprintf(name, sizeof(name), "%s (system call)",
			 name_of(c->what, text, sizeof(text)));
		add_stacks(tree, c, calls->n > 1 ? name : NULL, r);
	}
	/* Time off the CPU at stacks that were not kept, of all system calls. */
	for (size_t i = 0; i < r->snap->n; i++) {
		const struct plumb_row *row = &r->snap->rows[i];

		if (row->slot || !(row->sum | row->counters[0]))
			continue;
		row_frames(&f, r, row);
		tree_add(tree, NULL, &f,
			 &(struct tree_time){.blocked = row->sum,
					     .preempted_runq = row->counters[0]});
		plumb_frames_free(&f);
	}
	return tree;
}
