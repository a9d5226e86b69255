/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "names.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/text.h>

#include "irq-latency.h"

#define NAME    64
#define HIGHEST (1U << 20) /* of an interrupt that has a name */

static const char *const vectors[IRQ_VECTORS] = {
	[IRQ_LOCAL_TIMER] = "local_timer",     [IRQ_RESCHEDULE] = "reschedule",
	[IRQ_CALL_FUNCTION] = "call_function", [IRQ_CALL_FUNCTION_SINGLE] = "call_function_single",
	[IRQ_IRQ_WORK] = "irq_work",           [IRQ_IPI] = "ipi",
};

static const char *const softirqs[IRQ_SOFTIRQS] = {
	"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
	"IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU",
};

static char (*names)[NAME];
static uint32_t n_names;

/* The names of the interrupt's handlers, from the kernel if it has any, or as they were. */
static const char *name_of(uint32_t irq)
{
	char path[64], name[NAME];
	FILE *file;

	if (irq >= HIGHEST)
		return "";
	if (irq >= n_names) {
		names = realloc(names, (irq + 1) * sizeof(*names));
		if (!names)
			abort();
		memset(names + n_names, 0, (irq + 1 - n_names) * sizeof(*names));
		n_names = irq + 1;
	}
	snprintf(path, sizeof(path), "/sys/kernel/irq/%u/actions", irq);
	file = fopen(path, "re");
	if (file && fgets(name, sizeof(name), file) && *name != '\n') {
		name[strcspn(name, "\n")] = 0;
		plumb_escape(names[irq], name, NAME);
	}
	if (file)
		fclose(file);
	return names[irq];
}

void irq_names_read(void)
{
	DIR *dir = opendir("/sys/kernel/irq");
	uint32_t irq;

	for (const struct dirent *e; dir && (e = readdir(dir));)
		if (sscanf(e->d_name, "%u", &irq) == 1)
			name_of(irq);
	if (dir)
		closedir(dir);
}

const char *irq_name(uint32_t what, char *text, size_t size)
{
	uint32_t number = IRQ_NUMBER(what);
	const char *name = NULL;

	if (IRQ_KIND(what) == IRQ_KIND(IRQ_VECTOR))
		name = number < IRQ_VECTORS ? vectors[number] : "vector";
	else if (IRQ_KIND(what) == IRQ_KIND(IRQ_SOFTIRQ))
		name = number < IRQ_SOFTIRQS ? softirqs[number] : "softirq";
	if (name)
		snprintf(text, size, "%s", name);
	else
		snprintf(text, size, "%s/%u", name_of(number), number);
	return text;
}
