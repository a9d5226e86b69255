// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The processes that are known, and what was mapped at an address of theirs. */
#include "symbols.h"
#include <search.h>
#include <stdlib.h>
#include <plumb/core/memory.h>

static int by_pid(const void *a, const void *b)
{
	const struct plumb_process *p = a, *q = b;

	return (p->pid > q->pid) - (p->pid < q->pid);
}

struct plumb_process *plumb_process_find(const struct plumb_symbolizer *s, pid_t pid)
{
	struct plumb_process **found =
		tfind(&(struct plumb_process){.pid = pid}, &s->processes, by_pid);

	return found ? *found : NULL;
}

void plumb_process_free(struct plumb_process *p)
{
	free(p->now.all);
	free(p->gone.all);
	plumb_symtab_free(&p->perf.table);
	plumb_symtab_free(&p->perf.before);
	free(p);
}

static bool may_be_of(const struct plumb_code_map *m, uint64_t image, uint64_t address)
{
	return address - m->start < m->end - m->start &&
	       (!image || (m->image ? m->image == image : m->not_image != image));
}

static const struct plumb_code_map *find_in(const struct plumb_code_maps *m, uint64_t image,
					    uint64_t address)
{
	/* Newest first: former mappings are stored oldest first. */
	for (size_t i = m->n; i-- > 0;)
		if (may_be_of(&m->all[i], image, address))
			return &m->all[i];
	return NULL;
}

const struct plumb_code_map *plumb_process_mapping(const struct plumb_process *p, uint64_t image,
						   uint64_t address)
{
	return find_in(&p->now, image, address) ?: find_in(&p->gone, image, address);
}

bool plumb_process_reuses(const struct plumb_process *p, uint64_t image, uint64_t address,
			  const struct plumb_code_map *m)
{
	const struct plumb_code_maps *const both[] = {&p->now, &p->gone};
	const struct plumb_code_map *other;

	for (int i = 0; i < 2; i++)
		for (size_t j = 0; j < both[i]->n; j++) {
			other = &both[i]->all[j];
			if (!may_be_of(other, image, address))
				continue;
			if (other->ino != m->ino || other->dev != m->dev ||
			    (m->ino && other->start - other->offset != m->start - m->offset))
				return true;
		}
	return false;
}

struct plumb_process *plumb_process_find_or_add(struct plumb_symbolizer *s, pid_t pid)
{
	struct plumb_process *p = plumb_process_find(s, pid);

	if (p)
		return p;
	p = plumb_zeroed(1, sizeof(*p));
	p->pid = pid;
	plumb_required(tsearch(p, &s->processes, by_pid));
	return p;
}

bool plumb_process_has_jit(const struct plumb_process *p)
{
	const struct plumb_code_maps *m = &p->now;

	for (size_t i = 0; i < m->n; i++)
		if (m->all[i].may_be_jit)
			return true;
	return false;
}
