/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <plumb/core/tracer.h>
#include <plumb/cost/switches.h>
#include <plumb/split/waker.h>
#include <plumb/stacks/stacks.h>

#include "asleep.h"
#include "offcpu-time.h"
#include "offcpu-time.skel.h"

static const char *const states[OFFCPU_STATES] = {
	[OFFCPU_PREEMPTED] = "preempted", [OFFCPU_THROTTLED] = "throttled",
	[OFFCPU_SLEEPING] = "sleeping",   [OFFCPU_UNINTERRUPTIBLE] = "uninterruptible",
	[OFFCPU_IDLE] = "idle",           [OFFCPU_OTHER] = "other",
};

static const struct plumb_waker *waker_of(const void *key)
{
	return &((const struct offcpu_key *)key)->waker;
}

static void format_waker(const void *key, char *text, size_t size)
{
	if (!*plumb_waker_text(waker_of(key), text, size))
		snprintf(text, size, "[unknown]");
}

static json_t *json_of_waker(const void *key)
{
	return plumb_waker_json(waker_of(key));
}

static const struct plumb_field fields[] = {
	{PLUMB_NAMED_FIELD("state", OFFCPU_BY_STATE, PLUMB_NAME, plumb_stack_key, what, states)},
	{"waker", OFFCPU_BY_WAKER, .format = format_waker, .json = json_of_waker},
};

static bool waker_stacks;
static uint32_t wakers; /* plumb_config.wakers */

/* clang-format off */
static const struct plumb_option options[] = {
	{.doc = "Only these off-CPU intervals:", .group = 30},
	{"min", 0, "TIME", "of at least TIME (10us, 1.5ms, 2s)", 30, .time = &offcpu_selection.min_ns},
	{"max", 0, "TIME", "of at most TIME", 30, .time = &offcpu_selection.max_ns},
	PLUMB_STACK_OPTIONS,
	{"wakers", 0, NULL, "also print the stacks of the waking threads (-b waker)", 45, .given = &waker_stacks},
	{0},
};
/* clang-format on */

static void complete(struct plumb_options *o)
{
	if (waker_stacks) {
		wakers = PLUMB_WAKERS_STACKS;
		plumb_stacks_show_wakers(offsetof(struct offcpu_key, waker));
		o->by |= OFFCPU_BY_WAKER;
	} else if (o->by & OFFCPU_BY_WAKER) {
		wakers = PLUMB_WAKERS_NAMES;
	}
	if (offcpu_selection.min_ns > offcpu_selection.max_ns)
		plumb_usage_error("--min is longer than --max");
	plumb_stacks_finish(o);
}

static int open_raw_tracepoint(struct plumb_bpf *bpf, bool calibration)
{
	struct offcpu_time_bpf *skel = offcpu_time_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sched_switch");
	memcpy((void *)&skel->rodata->offcpu_config, &offcpu_selection, sizeof(offcpu_selection));
	bpf->config->wakers = wakers;
	if (wakers)
		strcpy(bpf->hooks[1], "sched_waking");
	if (!calibration)
		plumb_stacks_configure(skel->obj);
	return 0;
}

static const char *const programs[] = {"on_leave", NULL};

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "raw_tracepoint",
		.stability = PLUMB_SCHED_STABILITY,
		.open = open_raw_tracepoint,
		.programs = programs,
	},
};

int main(int argc, char **argv)
{
	struct plumb_tool tool = {
		.card.name = "offcpu-time",
		.card.summary = "Summarize the time that threads are off the CPU, by kernel and "
				"user stack.",
		.card.about = "hooks:     raw tracepoint sched_switch (stable-ish): when a thread\n"
			      "           leaves its CPU, and when it gets one again; with\n"
			      "           -b waker also sched_waking\n"
			      "kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
			      "fire rate: each context switch of the machine, 1,000 to 1,000,000 a "
			      "second\n"
			      "cost:      see the footer; most of it is taking stacks\n",
		.options.list = options,
		.options.complete = complete,
		.options.lacks = PLUMB_NO_COLUMN_OPTIONS,
		.keys.fields = fields,
		.keys.n_fields = sizeof(fields) / sizeof(fields[0]),
		.keys.size = sizeof(struct offcpu_key),
		.keys.default_by = PLUMB_BY_COMM | PLUMB_BY_PID,
		.keys.max = 16384,
		.measure.kind = PLUMB_SUMS,
		.view = {PLUMB_STACKS_VIEW, .footer = plumb_stacks_footer},
		.overhead.switches = &plumb_switches,
		.overhead.traced = "a traced switch",
		.mechanisms.list = mechanisms,
		.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
		.rings = plumb_stacks_rings,
		.inflight = &asleep,
	};

	return plumb_main(argc, argv, &tool);
}
