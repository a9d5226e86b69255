/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tracepoints: check tracepoints and system calls. */
#include "check/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/functions/tracepoints.h>
#include <plumb/kernel/renamed.h>
#include <plumb/kernel/types.h>
#include <plumb/syscalls/syscalls.h>
#include <plumb/terminal/suggest.h>

#include <bpf/btf.h>

static const struct plumb_tracepoint *find(const struct plumb_tracepoints *all,
					   const char *category, const char *name)
{
	for (size_t i = 0; i < all->n; i++)
		if (plumb_is_named(all->list[i].name, name) &&
		    (!category || !strcmp(all->list[i].category, category)))
			return &all->list[i];
	return NULL;
}

/* Similar names, of CATEGORY or (NULL) of any; returns how many tracepoints it has. */
static size_t suggest(const struct plumb_tracepoints *all, const char *category, const char *name,
		      char suggestion[512])
{
	const char **names = calloc(all->n + 1, sizeof(*names));
	size_t n = 0;

	for (size_t i = 0; names && i < all->n; i++)
		if (!category || !strcmp(all->list[i].category, category))
			names[n++] = all->list[i].name;
	*suggestion = 0;
	if (n)
		plumb_suggest(name, names, n, suggestion, 512);
	free(names);
	return n;
}

static void judge_missing(const struct plumb_tracepoints *all, struct check *c)
{
	const struct plumb_tracepoint *elsewhere = find(all, NULL, c->target.name);
	char suggestion[512];
	size_t n = suggest(all, c->target.file, c->target.name, suggestion);

	if (elsewhere)
		check_judge(c, VERDICT_RENAMED, "it is t:%s:%s here", elsewhere->category,
			    elsewhere->name);
	else
		check_judge(c, VERDICT_GONE, "this kernel has no such %s%s%s",
			    n ? "tracepoint" : "category, or its module is not loaded", suggestion,
			    *suggestion ? "?" : "");
}

/* The kernel declares a type btf_trace_NAME for each raw tracepoint. */
static bool has_raw_type(const struct kernel *k, const char *name)
{
	return k->btf && plumb_btf_tracepoint(k->btf, name);
}

static void judge_by_types(const struct kernel *k, struct check *c)
{
	if (!k->btf)
		check_judge(c, VERDICT_UNKNOWN, "%s has no types, and tracepoints are told by them",
			    k->name);
	else if (!strcmp(c->target.file, "syscalls"))
		check_judge(c, VERDICT_UNKNOWN,
			    "no type tells of single calls' tracepoints: check the call, as "
			    "s:openat");
	else if (has_raw_type(k, c->target.name))
		check_judge(c, VERDICT_OK,
			    "a raw tracepoint by its types; its category and fields are known of "
			    "a running kernel only");
	else
		check_judge(c, VERDICT_GONE, "%s has no raw tracepoint of this name", k->name);
}

static void judge_listed(const struct plumb_tracepoints *all, struct check *c)
{
	const struct plumb_tracepoint *t = find(all, c->target.file, c->target.name);

	if (!t)
		judge_missing(all, c);
	else
		check_judge(c, VERDICT_OK, "%s",
			    t->is_raw ? "as a tracepoint and a raw tracepoint" : "as a tracepoint");
}

/* Types of modules are not among those of the kernel; the list of tracepoints includes them. */
static void judge_raw(const struct kernel *k, const struct plumb_tracepoints *all, struct check *c)
{
	const struct plumb_tracepoint *t = find(all, NULL, c->target.name);
	char suggestion[512];

	suggest(all, NULL, c->target.name, suggestion);
	if (has_raw_type(k, c->target.name) || (t && t->is_raw))
		check_judge(c, VERDICT_OK, "as a raw tracepoint");
	else if (!k->btf)
		check_judge(c, VERDICT_UNKNOWN,
			    "%s has no types, and raw tracepoints are told by them", k->name);
	else if (t)
		check_judge(c, VERDICT_RENAMED,
			    "it is no raw tracepoint, but a tracepoint: t:%s:%s", t->category,
			    t->name);
	else
		check_judge(c, VERDICT_GONE, "%s has no such raw tracepoint%s%s", k->name,
			    suggestion, *suggestion ? "?" : "");
}

/* --- system calls --- */

static void judge_no_call(struct check *c)
{
	const struct plumb_syscall_table *table = &plumb_syscall_tables[PLUMB_ABI_NATIVE];
	char suggestion[512];

	plumb_suggest(c->target.name, table->names, table->n, suggestion, sizeof(suggestion));
	check_judge(c, VERDICT_GONE, "no system call has this name%s%s", suggestion,
		    *suggestion ? "?" : "");
}

/* A system call that was configured out has a weak function that returns -ENOSYS. */
static bool is_weak(const struct kernel *k, const char *function)
{
	char line[160];

	snprintf(line, sizeof(line), " W %s\n", function);
	return k->image.symbols && strstr(k->image.symbols, line);
}

bool syscall_hooks(const char *name, char function[128], char event[128])
{
	struct syscall_config selection = {};
	uint32_t nr;

	*function = 0;
	snprintf(event, 128, "sys_enter_%s", name);
	if (plumb_syscall_select(&selection, name) ||
	    plumb_syscall_selected(&selection, &nr, 1) != 1)
		return false;
	plumb_syscall_function(nr, function, 128);
	snprintf(event, 128, "sys_enter%s", strstr(function, "_sys_") + 4);
	return true;
}

/* Every kernel has read(2), in a function whose name has the architecture. */
static bool knows_calls(const struct kernel *k)
{
	char function[128], event[128];

	return k->running ||
	       (syscall_hooks("read", function, event) && kernel_has_function(k, function));
}

static void judge_call(const struct kernel *k, const struct plumb_tracepoints *all, struct check *c)
{
	char function[128], event[128];
	bool is_known = syscall_hooks(c->target.name, function, event), has_function,
	     has_event = find(all, "syscalls", event);

	if (!is_known && !has_event) {
		judge_no_call(c);
		return;
	}
	has_function = is_known && kernel_has_function(k, function) && !is_weak(k, function);
	if (!has_function && !has_event)
		check_judge(c, VERDICT_GONE, "%s was built without this system call", k->name);
	else if (k->running)
		check_judge(c, VERDICT_OK, "by raw_syscalls:sys_enter and sys_exit%s%s%s%s",
			    has_event ? ", by syscalls:" : "", has_event ? event : "",
			    has_function ? ", by its function " : "", has_function ? function : "");
	else
		check_judge(c, VERDICT_OK, "by its function %s", function);
}

/* --- all --- */

static void judge(const struct kernel *k, const struct plumb_tracepoints *all, bool knows_calls,
		  struct check *c)
{
	const bool is_call = c->target.kind == TARGET_SYSCALL;

	if (c->target.kind == TARGET_RAW_TRACEPOINT)
		judge_raw(k, all, c);
	else if (k->running && k->tracefs < 0)
		check_judge(c, VERDICT_UNKNOWN, "the kernel's list of tracepoints cannot be read");
	else if (is_call && !knows_calls)
		check_judge(c, VERDICT_UNKNOWN,
			    "%s has no system calls of this machine's architecture", k->name);
	else if (is_call)
		judge_call(k, all, c);
	else if (k->running)
		judge_listed(all, c);
	else
		judge_by_types(k, c);
}

int events_check(const struct kernel *k, struct check *checks, size_t n)
{
	const unsigned int listed = 1U << TARGET_TRACEPOINT | 1U << TARGET_SYSCALL,
			   events = listed | 1U << TARGET_RAW_TRACEPOINT;
	struct plumb_tracepoints all = {};
	unsigned int kinds = 0;
	bool knows;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		kinds |= 1U << checks[i].target.kind & events;
	if (!kinds)
		return 0;
	/* After a message: this kernel has no tracepoints. */
	if (k->running && k->tracefs == -ENODEV && kinds & listed)
		return -ENODEV;
	if (k->running && k->tracefs >= 0)
		err = plumb_tracepoints_find(k->tracefs, "*:*", &all);
	knows = knows_calls(k);
	for (size_t i = 0; !err && i < n; i++)
		if (1U << checks[i].target.kind & events)
			judge(k, &all, knows, &checks[i]);
	plumb_tracepoints_free(&all);
	return err;
}
