/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "census.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* Make room for one more.  The list is doubled whenever N is a power of two. */
static bool grow(void *list, size_t n, size_t size)
{
	void **at = list, *longer;

	if (n & (n - 1))
		return true;
	longer = reallocarray(*at, n ? 2 * n : 1, size);
	if (longer)
		*at = longer;
	return longer;
}

static bool read_program(int fd, struct program *p)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return false;
	*p = (struct program){
		.id = info.id,
		.type = info.type,
		.btf_object = info.attach_btf_obj_id,
		.btf_id = info.attach_btf_id,
		.runs = info.run_cnt,
		.run_time = info.run_time_ns,
		.misses = info.recursion_misses,
		/* An older kernel returns less of the structure. */
		.counts_misses =
			size >= offsetof(struct bpf_prog_info, recursion_misses) + sizeof(__u64),
	};
	memcpy(p->name, info.name, sizeof(p->name));
	p->name[sizeof(p->name) - 1] = 0;
	memcpy(p->tag, info.tag, sizeof(p->tag));
	return true;
}

/* Skip programs that are unloaded before their descriptor is opened. */
static int take_programs(struct census *c)
{
	uint32_t id = 0;
	int fd;

	while (!bpf_prog_get_next_id(id, &id)) {
		if (!grow(&c->programs, c->n, sizeof(*c->programs)))
			return -ENOMEM;
		fd = bpf_prog_get_fd_by_id(id);
		if (fd < 0)
			continue;
		if (read_program(fd, &c->programs[c->n]))
			c->n++;
		close(fd);
	}
	return errno == ENOENT ? 0 : -errno;
}

/* The target of a link never changes, so it is copied if OLDER has it. */
static void take_target(const struct program *p, const struct census *older, int fd,
			struct attachment *a)
{
	const struct attachment *before = older ? census_link(older, a->program, a->id) : NULL;

	if (!before) {
		target_describe(fd, p, a);
		return;
	}
	a->by = before->by;
	a->more = before->more;
	a->target = before->target ? strdup(before->target) : NULL;
}

/* Links of programs that were loaded after take_programs() are left to the next census. */
static int take_links(struct census *c, const struct census *older)
{
	const struct program *p;
	struct attachment *a;
	uint32_t id = 0;
	int fd;

	while (!bpf_link_get_next_id(id, &id)) {
		if (!grow(&c->links, c->n_links, sizeof(*c->links)))
			return -ENOMEM;
		fd = bpf_link_get_fd_by_id(id);
		if (fd < 0)
			continue;
		a = &c->links[c->n_links];
		p = target_read(fd, a) ? census_program(c, a->program) : NULL;
		if (p) {
			take_target(p, older, fd, a);
			c->n_links++;
		}
		close(fd);
	}
	if (errno != ENOENT)
		return -errno;
	target_name(c->links, c->n_links);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct program *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_program(const void *a, const void *b)
{
	const struct attachment *x = a, *y = b;

	if (x->program != y->program)
		return x->program > y->program ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

int census_take(struct census *c, const struct census *older)
{
	int err;

	*c = (struct census){};
	clock_gettime(CLOCK_REALTIME, &c->taken);
	c->clock = plumb_now();
	err = take_programs(c);
	if (!err && c->n)
		qsort(c->programs, c->n, sizeof(*c->programs), by_id);
	err = err ?: take_links(c, older);
	if (!err && c->n_links)
		qsort(c->links, c->n_links, sizeof(*c->links), by_program);
	if (!err)
		return 0;
	census_free(c);
	return plumb_error(err, "cannot list the BPF programs: %s", strerror(-err));
}

void census_free(struct census *c)
{
	for (size_t i = 0; i < c->n_links; i++)
		free(c->links[i].target);
	free(c->links);
	free(c->programs);
	*c = (struct census){};
}

const struct program *census_program(const struct census *c, uint32_t id)
{
	struct program key = {.id = id};

	return c->n ? bsearch(&key, c->programs, c->n, sizeof(key), by_id) : NULL;
}

const struct attachment *census_links(const struct census *c, uint32_t program, size_t *n)
{
	size_t low = 0, high = c->n_links, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (c->links[middle].program < program)
			low = middle + 1;
		else
			high = middle;
	}
	for (*n = 0; low + *n < c->n_links && c->links[low + *n].program == program;)
		++*n;
	return c->links + low;
}

const struct attachment *census_link(const struct census *c, uint32_t program, uint32_t id)
{
	size_t n;
	const struct attachment *links = census_links(c, program, &n);

	for (size_t i = 0; i < n; i++)
		if (links[i].id == id)
			return &links[i];
	return NULL;
}

const char *program_type(uint32_t type, char *text, size_t size)
{
	/* libbpf 1.1 does not know 32. */
	const char *name = type == 32 ? "netfilter" : libbpf_bpf_prog_type_str(type);

	if (!name)
		snprintf(text, size, "type %u", type);
	return name ?: text;
}
