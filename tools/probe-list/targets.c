/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "targets.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/kernel/types.h>

const struct kind_info kinds[KINDS] = {
	[SYSCALL] = {"syscall", "s", "stable", {PLUMB_TRACEPOINT}},
	[TRACEPOINT] = {"tracepoint", "t", "stable-ish", {PLUMB_TRACEPOINT}},
	[RAW_TRACEPOINT] = {"raw tracepoint", "r", "stable-ish", {PLUMB_RAW_TRACEPOINT}},
	[FUNCTION] = {"function",
		      "k",
		      "unstable",
		      {PLUMB_FENTRY, PLUMB_FEXIT, PLUMB_KPROBE, PLUMB_KPROBE_MULTI}},
	[USER_FUNCTION] = {"user function", "u", "unstable", {PLUMB_UPROBE}},
	[USDT] = {"usdt", "usdt", "stable-ish", {PLUMB_UPROBE}},
};

int targets_add(struct targets *p, enum kind kind, const struct target *like, const char *name, ...)
{
	struct target *list = p->list;
	char *text = NULL;
	va_list args;

	va_start(args, name);
	if (vasprintf(&text, name, args) < 0)
		text = NULL;
	va_end(args);
	if (text && p->n == p->room) {
		list = reallocarray(p->list, p->room * 2 ?: 1024, sizeof(*list));
		if (list) {
			p->list = list;
			p->room = p->room * 2 ?: 1024;
		}
	}
	if (!text || !list) {
		free(text);
		return plumb_error(ENOMEM, "no memory for the list of targets");
	}
	p->list[p->n] = *like;
	p->list[p->n].kind = kind;
	p->list[p->n++].name = text;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct target *a = left, *b = right;

	return a->kind != b->kind ? (a->kind < b->kind ? -1 : 1) : strcmp(a->name, b->name);
}

/*
 * Sort, and remove duplicates: two patterns may match one target, and a module may declare a
 * tracepoint of the kernel.
 */
void targets_sort(struct targets *p)
{
	size_t n = 0;

	if (p->n)
		qsort(p->list, p->n, sizeof(*p->list), compare);
	for (size_t i = 0; i < p->n; i++)
		if (n && !compare(&p->list[n - 1], &p->list[i]))
			free(p->list[i].name);
		else
			p->list[n++] = p->list[i];
	p->n = n;
}

void targets_free(struct targets *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->list[i].name);
	free(p->list);
	plumb_declarer_free(&p->declarer);
	plumb_tracepoints_free(&p->events);
	plumb_functions_free(&p->functions);
	while (p->n_types) /* modules first: their BTF refers to the kernel's */
		plumb_kernel_btf_put(p->types[--p->n_types]);
	free(p->types);
	while (p->n_usdts)
		plumb_userfuncs_free(&p->usdts[--p->n_usdts]);
	free(p->usdts);
	if (p->tracefs >= 0)
		close(p->tracefs);
	*p = (struct targets){.tracefs = -1};
}
