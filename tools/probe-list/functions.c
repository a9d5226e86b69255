/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions of the kernel, and the kinds of probes that each can have. */
#include "targets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/functions/lists.h>

#define BLACKLIST "/sys/kernel/debug/kprobes/blacklist"

/* Why tracefs' available_filter_functions could not be read. */
static const char *obstacle_of_tracefs(void)
{
	int tracefs = plumb_tracefs_try(), fd;

	if (tracefs < 0)
		return strerror(-tracefs);
	fd = openat(tracefs, "available_filter_functions", O_RDONLY | O_CLOEXEC);
	close(tracefs);
	if (fd < 0)
		return strerror(errno);
	close(fd);
	return "it is empty";
}

static const char *obstacle_of_blacklist(void)
{
	int fd = open(BLACKLIST, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return strerror(errno);
	close(fd);
	return "it cannot be read";
}

/* Warn of the lists that cannot be read, and of what is listed instead. */
static void say_unknown(const struct plumb_lists *lists, const struct plumb_functions *f)
{
	if (!plumb_lists_know_traceable(lists))
		plumb_warn("which functions can be traced is not known, all are listed: tracefs' "
			   "available_filter_functions: %s",
			   obstacle_of_tracefs());
	if (!plumb_lists_know_blacklist(lists))
		plumb_warn("which functions refuse kprobes is not known, all are listed: " BLACKLIST
			   ": %s",
			   obstacle_of_blacklist());
	if (f->n && !f->all[0].address)
		plumb_warn("addresses are hidden (kernel.kptr_restrict): code that was for boot "
			   "only is listed too");
}

static int compare(const void *a, const void *b)
{
	const struct plumb_traceability *f = a, *g = b;
	int order = strcmp(f->module ?: "", g->module ?: "") ?: strcmp(f->name, g->name);

	return order ?: (f->address > g->address) - (f->address < g->address);
}

int functions_all(const struct plumb_lists *lists, struct plumb_functions *found)
{
	struct plumb_symbol *s = lists->symbols.all, *end = s + lists->symbols.n;
	struct plumb_traceability *all = calloc(lists->symbols.n + 1, sizeof(*all));
	size_t n = 0;
	int err;

	*found = (struct plumb_functions){};
	if (!all)
		return plumb_error(ENOMEM, "no memory for the kernel's functions");
	for (; s < end; s++) {
		if (plumb_symbol_is_internal(s))
			continue;
		all[n] = plumb_lists_judge(lists, s);
		n += !all[n].cold && !all[n].boot_only;
	}
	qsort(all, n, sizeof(*all), compare);
	err = plumb_functions_of(all, n, NULL, found);
	free(all);
	return err;
}

static bool is_namesake(const struct plumb_function *f, const struct plumb_function *g)
{
	return !strcmp(f->name, g->name) && !strcmp(f->module ?: "", g->module ?: "");
}

/*
 * A function that ftrace does not know takes no probe: not fentry, nor kprobe.multi, nor a kprobe
 * that is created as an event, unless the kernel was built with CONFIG_KPROBE_EVENTS_ON_NOTRACE.
 */
static unsigned int hooks_of(const struct plumb_function *f)
{
	unsigned int hooks = 0;

	if (f->untraced)
		return 0;
	if (f->btf)
		hooks |= 1 << PLUMB_FENTRY | 1 << PLUMB_FEXIT;
	if (!f->blacklisted)
		hooks |= 1 << PLUMB_KPROBE;
	return hooks | 1 << PLUMB_KPROBE_MULTI;
}

/* Add a target of N functions with one name. */
static int add(struct targets *p, const struct plumb_function *f, size_t n)
{
	struct target like = {.function = f};

	for (size_t i = 0; i < n; i++) {
		like.hooks |= hooks_of(f + i);
		like.n += hooks_of(f + i) != 0;
	}
	if (!like.hooks)
		return 0;
	return targets_add(p, FUNCTION, &like, "k:%s%s%s", f->module ?: "", f->module ? ":" : "",
			   f->name);
}

int targets_read_functions(struct targets *p)
{
	struct plumb_lists *lists = plumb_lists_read();
	const struct plumb_function *f, *end;
	size_t n;
	int err;

	if (!lists)
		return -ENOENT; /* after a message */
	err = functions_all(lists, &p->functions);
	if (!err)
		say_unknown(lists, &p->functions);
	plumb_lists_free(lists);
	f = p->functions.all;
	for (end = f + p->functions.n; !err && f < end; f += n) {
		for (n = 1; f + n < end && is_namesake(f, f + n); n++)
			;
		err = add(p, f, n);
	}
	return err;
}
