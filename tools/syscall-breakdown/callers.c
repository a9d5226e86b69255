/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "callers.h"

#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/core/report.h>
#include <plumb/core/text.h>
#include <plumb/stacks/stacks.h>

#include "syscall-breakdown.h"
#include "tree.h"

#define MOST   5  /* stacks */
#define PREFIX 9  /* columns before a stack */
#define NAME   40 /* of a function, of which many are to fit */
#define FEW    10 /* samples: too few to divide the time on the CPU */

struct caller {
	char *stack; /* "fdatasync < XLogWrite < XLogFlush" */
	uint64_t ns;
};

static char *text_of(const struct plumb_report *r, const struct plumb_row *row)
{
	struct plumb_frames f = {};
	const char *start;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		abort();
	row_frames(&f, r, row);
	start = plumb_frames_start(&f);
	for (size_t i = f.n_kernel, j; i < f.n; i = j) {
		for (j = i + 1; j < f.n && !strcmp(f.text[i], f.text[j]); j++)
			;
		fprintf(out, "%s%.*s", i > f.n_kernel ? " < " : "", NAME, f.text[i]);
		if (j > i + 1) /* a recursion */
			fprintf(out, " (%zu x)", j - i);
		if (f.text[j - 1] == start)
			break;
	}
	plumb_frames_free(&f);
	if (fclose(out))
		abort();
	return text;
}

static int by_stack(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;

	return strcmp(x->stack, y->stack);
}

static int by_time(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

/* Adds the user stacks of a system call, whose time on the CPU is divided by their samples. */
static void add(struct caller **all, size_t *n, const struct call *c, const struct plumb_report *r)
{
	uint64_t before = 0, on_cpu;

	for (size_t i = 0; i < r->snap->n; i++) {
		const struct plumb_row *row = &r->snap->rows[i];
		const struct plumb_stack_key *key = row->key;

		if (!row->slot || key->what != (c->what | BREAKDOWN_CALLERS))
			continue;
		on_cpu = c->samples >= FEW && row->counters[1] &&
					 before + row->counters[1] <= c->samples
				 ? tree_share(c->on_cpu, row->counters[1], before, c->samples)
				 : 0;
		before += row->counters[1];
		*plumb_append(*all, *n) = (struct caller){text_of(r, row), row->sum + on_cpu};
	}
}

/* Equal ones of several processes or system calls are one. */
static size_t join(struct caller *all, size_t n)
{
	size_t joined = 0;

	if (n)
		qsort(all, n, sizeof(*all), by_stack);
	for (size_t i = 0; i < n; i++) {
		if (joined && !by_stack(&all[joined - 1], &all[i])) {
			all[joined - 1].ns += all[i].ns;
			free(all[i].stack);
		} else {
			all[joined++] = all[i];
		}
	}
	if (joined)
		qsort(all, joined, sizeof(*all), by_time);
	return joined;
}

/* As many frames as fit into WIDTH. */
static int fitting(const char *text, int width)
{
	int n = strlen(text);

	if (n <= width)
		return n;
	for (n = width - 2; n > 0 && strncmp(text + n, " < ", 3) != 0; n--)
		;
	return n > 0 ? n : width - 2;
}

void callers_print(const struct calls *calls, const struct plumb_report *r, FILE *out)
{
	const int width = plumb_output_width(out) - PREFIX;
	const struct call sum = calls_sum(calls);
	struct caller *all = NULL;
	uint64_t told = 0;
	char share[16];
	size_t n = 0, i;

	for (const struct call *c = calls->list; c < calls->list + calls->n; c++)
		add(&all, &n, c, r);
	n = join(all, n);
	if (n)
		fputs("\n  SHARE  CALLED FROM\n", out);
	for (i = 0; i < n; i++) {
		const int fits = fitting(all[i].stack, width);

		if (i < MOST) {
			told += all[i].ns;
			fprintf(out, "%6s%%  %.*s%s\n",
				plumb_format_percent(sum.ns ? 100.0 * all[i].ns / sum.ns : 0, share,
						     sizeof(share)),
				fits, all[i].stack, all[i].stack[fits] ? " <" : "");
		}
		free(all[i].stack);
	}
	if (n && told < sum.ns)
		fprintf(out, "%6s%%  elsewhere, or not sampled\n",
			plumb_format_percent(100.0 * (sum.ns - told) / sum.ns, share,
					     sizeof(share)));
	free(all);
}
