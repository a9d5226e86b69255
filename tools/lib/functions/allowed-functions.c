/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include <plumb/functions/allowed-functions.h>
#include <plumb/functions/probe.h>
#include <plumb/guard/allowed.h>
#include <plumb/guard/policy.h>

int plumb_allowed_functions(const struct plumb_functions *f, char *what, size_t size)
{
	char name[256];
	int err = 0;

	for (size_t i = 0; plumb_policy_has_targets() && f && i < f->n && !err; i++)
		err = plumb_allowed_name("k", plumb_probe_name(f, i, name, sizeof(name)), what,
					 size);
	return err;
}

/* "openat" of sys_enter_openat and sys_exit_openat; NULL: it is not of a system call. */
static const char *call_of(const struct plumb_tracepoint *t)
{
	static const char enter[] = "sys_enter_", leave[] = "sys_exit_";

	if (strcmp(t->category, "syscalls") != 0)
		return NULL;
	if (!strncmp(t->name, enter, strlen(enter)))
		return t->name + strlen(enter);
	return strncmp(t->name, leave, strlen(leave)) ? NULL : t->name + strlen(leave);
}

int plumb_allowed_tracepoints(const struct plumb_tracepoints *t, char *what, size_t size)
{
	char name[512];
	int err = 0;

	for (size_t i = 0; plumb_policy_has_targets() && i < t->n && !err; i++) {
		const struct plumb_tracepoint *one = &t->list[i];

		err = plumb_allowed(plumb_tracepoint_name(one, name, sizeof(name)), what, size);
		if (!err)
			err = plumb_allowed_name("r", one->name, what, size);
		if (!err && call_of(one))
			err = plumb_allowed_name("s", call_of(one), what, size);
	}
	return err;
}
