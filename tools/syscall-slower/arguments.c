/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "arguments.h"

#include <stdio.h>
#include <string.h>
#include <plumb/functions/formats.h>
#include <plumb/functions/tracepoints.h>
#include <plumb/syscalls/syscalls.h>

/* From 7.0 on there are also copies of data that some arguments point to (is_dynamic). */
static int count(const struct plumb_format *format)
{
	int n = 0;

	for (size_t i = 0; i < format->n; i++) {
		const struct plumb_format_field *f = &format->fields[i];

		n += !f->is_common && !f->is_dynamic && strcmp(f->name, "__syscall_nr") != 0;
	}
	return n;
}

static int tracefs = -1; /* stays open until the process ends */

void arguments_begin(void)
{
	if (tracefs < 0)
		tracefs = plumb_tracefs_try();
}

static int look_up(const char *name)
{
	struct plumb_format format;
	char event[80];
	int n;

	snprintf(event, sizeof(event), "sys_enter_%s", name);
	if (tracefs < 0 || plumb_format_read(tracefs, "syscalls", event, &format))
		return MAX_ARGUMENTS;
	n = count(&format);
	plumb_format_free(&format);
	return n < MAX_ARGUMENTS ? n : MAX_ARGUMENTS;
}

int arguments_of(uint32_t nr, uint32_t abi)
{
	static int8_t known[1024]; /* number of arguments + 1; 0: not looked up yet */
	const struct plumb_syscall_table *table = &plumb_syscall_tables[PLUMB_ABI_NATIVE];

	if (abi != PLUMB_ABI_NATIVE || nr >= sizeof(known) || nr >= table->n || !table->names[nr])
		return MAX_ARGUMENTS;
	if (!known[nr])
		known[nr] = 1 + look_up(table->names[nr]);
	return known[nr] - 1;
}
