/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* witness: calls of functions that begin, as perf events on kprobes count them. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <plumb/core/run.h>
#include <plumb/functions/functions.h>
#include <plumb/witness/witness.h>

#define MAX_FUNCTIONS 16

static bool read_type(uint32_t *type)
{
	FILE *f = fopen("/sys/bus/event_source/devices/kprobe/type", "re");
	const bool is_read = f && fscanf(f, "%u", type) == 1;

	if (f)
		fclose(f);
	return is_read;
}

static const char *open_kprobes(const struct plumb_run *run)
{
	const struct plumb_functions *f = run->tool->mechanisms.functions;
	struct perf_event_attr attr = {};
	const char *why = NULL;
	uint32_t type;

	if (!read_type(&type))
		return "this kernel has no perf events on kprobes";
	if (f->n > MAX_FUNCTIONS)
		return "too many functions";
	for (size_t i = 0; i < f->n && !why; i++) {
		if (!f->all[i].address)
			return "the kernel does not tell addresses";
		attr = (struct perf_event_attr){.type = type, .kprobe_addr = f->all[i].address};
		why = plumb_witness_event(run, &attr, NULL);
	}
	return why;
}

const struct plumb_witness plumb_function_witness = {
	.source = "perf events on kprobes",
	.misses_ends = true,
	.open = open_kprobes,
	.count = plumb_witness_events,
	.own = plumb_witness_own_events,
	.seen = plumb_witness_began,
};
