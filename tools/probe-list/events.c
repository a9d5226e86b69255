/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tracepoints that have an event in tracefs; those of system calls are a kind of their own. */
#include "targets.h"

#include <stdio.h>
#include <string.h>
#include <plumb/bpf/syscall/syscall.h>
#include <plumb/core/log.h>
#include <plumb/syscalls/syscalls.h>

/*
 * A system call, by number.  Its events are named after the function that implements it, which may
 * have another name: newfstat for fstat.
 */
struct call {
	char implementation[64], name[64];
};

static const char *const ends[2] = {"sys_enter_", "sys_exit_"};

/*
 * 0 and "newfstat" of "sys_enter_newfstat", 1 if it is sys_exit_; -1: not an event of a system
 * call.
 */
static int end_of(const struct plumb_tracepoint *t, const char **implementation)
{
	for (int end = 0; end < 2; end++) {
		size_t n = strlen(ends[end]);

		*implementation = t->name + n;
		if (!strcmp(t->category, "syscalls") && !strncmp(t->name, ends[end], n))
			return end;
	}
	return -1;
}

static void name_calls(struct call *calls)
{
	char function[sizeof(calls->implementation)];

	for (uint32_t nr = 0; nr < PLUMB_SYSCALLS; nr++) {
		plumb_syscall_function(nr, function, sizeof(function));
		/* "__x64_sys_newfstat" */
		snprintf(calls[nr].implementation, sizeof(calls[nr].implementation), "%s",
			 strstr(function, "_sys_") + strlen("_sys_"));
		plumb_syscall_name(nr, PLUMB_ABI_NATIVE, calls[nr].name, sizeof(calls[nr].name));
	}
}

static const char *name_of(const struct call *calls, const char *implementation)
{
	for (uint32_t nr = 0; nr < PLUMB_SYSCALLS; nr++)
		if (!strcmp(calls[nr].implementation, implementation))
			return calls[nr].name;
	return implementation;
}

/* The target, from FIRST on, that has the event at the call's other end; NULL: not added yet. */
static struct target *find_call(struct targets *p, size_t first, int end,
				const char *implementation)
{
	const struct plumb_tracepoint *other;

	for (size_t i = p->n; i-- > first;) {
		other = p->list[i].kind == SYSCALL ? p->list[i].events[!end] : NULL;
		if (other && !strcmp(other->name + strlen(ends[!end]), implementation))
			return &p->list[i];
	}
	return NULL;
}

static int add_call(struct targets *p, size_t first, int end, const struct plumb_tracepoint *t,
		    const struct call *calls)
{
	const char *implementation = t->name + strlen(ends[end]);
	struct target *call = find_call(p, first, end, implementation);
	struct target like = {.hooks = 1 << PLUMB_TRACEPOINT, .n = 1};

	if (call) {
		call->events[end] = t;
		call->n++;
		return 0;
	}
	like.events[end] = t;
	return targets_add(p, SYSCALL, &like, "s:%s", name_of(calls, implementation));
}

static int add_tracepoint(struct targets *p, const struct plumb_tracepoint *t)
{
	struct target like = {.hooks = 1 << PLUMB_TRACEPOINT, .n = 1, .events = {t}};

	return targets_add(p, TRACEPOINT, &like, "t:%s:%s", t->category, t->name);
}

int targets_read_events(struct targets *p, unsigned int wanted)
{
	static struct call calls[PLUMB_SYSCALLS];
	const char *implementation;
	size_t first = p->n;
	int err;

	p->tracefs = plumb_tracefs_open();
	if (p->tracefs < 0)
		return p->tracefs;
	err = plumb_tracepoints_find(p->tracefs, "*:*", &p->events);
	name_calls(calls);
	for (size_t i = 0; !err && i < p->events.n; i++) {
		const struct plumb_tracepoint *t = &p->events.list[i];
		int end = end_of(t, &implementation);

		if (end >= 0 && wanted & 1 << SYSCALL)
			err = add_call(p, first, end, t, calls);
		else if (end < 0 && wanted & 1 << TRACEPOINT)
			err = add_tracepoint(p, t);
	}
	return err;
}
