/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/core/privileges.h>
#include <plumb/core/tracer.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/types.h>
#include <plumb/split/split.h>
#include <plumb/stacks/stacks.h>

#include <bpf/libbpf.h>

#include "lock-latency.h"
#include "lock-latency-stacks.skel.h"
#include "lock-latency.skel.h"
#include "names.h"

static struct lock_text texts[LOCK_TEXTS];
static struct plumb_tool tool;
static bool stacks;

static const struct plumb_part_name parts[LOCK_PARTS] = {
	{"owner on-cpu", "OCPU", "owner_on_cpu", LOCK_ON_CPU},
	{"owner preempted", "OPREE", "owner_preempted", LOCK_PREEMPTED},
	{"owner without quota", "OQUOTA", "owner_quota", LOCK_QUOTA},
	{"owner asleep", "OSLEEP", "owner_asleep", LOCK_ASLEEP},
	{"owner unknown", "UNKNOWN", "owner_unknown", LOCK_UNKNOWN},
};

static const struct plumb_column columns[] = {
	{"handed", PLUMB_COLUMN_COUNT,
	 "The waits in which the lock was handed on to other threads first.", .id = LOCK_HANDED_ON},
	{},
};

static int prepare(struct plumb_options *o)
{
	struct btf *btf = plumb_types_get(o->btf);
	const bool is_there = !btf || plumb_tracepoint_prototype(btf, "contention_begin");

	plumb_kernel_btf_put(btf);
	if (!is_there)
		return plumb_error(EOPNOTSUPP, "this kernel has no tracepoint contention_begin, "
					       "which came in 5.19");
	plumb_retain(PLUMB_CAP(SYSLOG), 0, "names of callers");
	lock_names_read(texts);
	return 0;
}

static int open_tracepoints(struct plumb_bpf *bpf, bool calibration)
{
	struct lock_latency_bpf *skel = lock_latency_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "contention_begin", "contention_end");
	memcpy((void *)skel->rodata->lock_texts, texts, sizeof(texts));
	return 0;
}

static int open_stacks(struct plumb_bpf *bpf, bool calibration)
{
	struct lock_latency_stacks_bpf *skel =
		lock_latency_stacks_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "contention_begin", "contention_end");
	bpf->config->interleaved = true; /* an interrupt can wait while a stack is taken */
	memcpy((void *)skel->rodata->lock_texts, texts, sizeof(texts));
	return 0;
}

static int open_either(struct plumb_bpf *bpf, bool calibration)
{
	int err = stacks ? open_stacks(bpf, calibration) : open_tracepoints(bpf, calibration);

	bpf->no_storage = true;
	return err;
}

/* What ends is attached before what begins. */
static const char *const raw_programs[] = {"owner_or_waiter_wakes", "owner_switches",
					   "raw_wait_ends", "raw_wait_begins", NULL};
static const char *const tp_programs[] = {"owner_or_waiter_wakes", "owner_switches", "tp_wait_ends",
					  "tp_wait_begins", NULL};

/* Without the others it is less known what owners did, but no wait is lost. */
static const char *const vital[] = {"raw_wait_ends", "raw_wait_begins", "tp_wait_ends",
				    "tp_wait_begins", NULL};

#define STABILITY "stable-ish: arguments of lock and scheduler tracepoints"

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "tracepoint",
		.stability = STABILITY,
		.preemptible = PLUMB_AS_TRACEPOINTS,
		.open = open_either,
		.programs = tp_programs,
		.vital = vital,
	},
	{
		.name = "raw_tracepoint",
		.stability = STABILITY,
		.preemptible = PLUMB_AS_RAW,
		.open = open_either,
		.programs = raw_programs,
		.vital = vital,
	},
};

/* ---- waits that have not ended ---- */

/* Of the listed ones: plumb_flight.what is an index. */
static struct lock_wait *listed;
static size_t n_listed;

/* Before each list. */
static void forget_listed(const struct plumb_run *run)
{
	free(listed);
	listed = NULL;
	n_listed = 0;
}

static void read_state(const struct plumb_run *run, const struct plumb_state *state,
		       struct plumb_flights *to)
{
	const struct lock_thread *t = state->value;

	for (size_t i = 0; i < t->depth && i < LOCK_THREAD_WAITS; i++) {
		struct plumb_flight f = {
			.start = t->waits[i].start,
			.pid = state->pid,
			.tid = state->tid,
			.kernel = stacks ? t->waits[i].kernel : PLUMB_NO_STACK,
			.user = stacks ? t->waits[i].user : PLUMB_NO_STACK,
			.what = n_listed,
		};

		*plumb_append(listed, n_listed) = t->waits[i];
		plumb_flights_add(to, &f);
	}
}

static void name(const struct plumb_run *run, const struct plumb_flight *f, char *text, size_t size)
{
	const struct lock_wait *w = &listed[f->what];
	char lock[128], owner[64];

	snprintf(text, size, "%s, held by %s", lock_name_of(&w->id, lock, sizeof(lock)),
		 lock_holder_name(&w->held, owner, sizeof(owner)));
}

static struct plumb_inflight inflight = {
	.heading = "LOCK",
	.json = "lock",
	.read = read_state,
	.name = name,
};

static void finish(const struct plumb_run *run, const struct plumb_snapshot *total,
		   uint64_t elapsed)
{
	if (!total->n && !run->child)
		plumb_warn("threads that have waited since before the trace are not known: "
			   "offcpu-time lists them, with where they sleep");
}

/* Of addresses the function is printed. */
static void unify(void *key)
{
	struct lock_key *k = key;

	if (k->id.caller)
		k->id.caller = lock_first_caller(k->id.caller, 0);
	if (!stacks && k->asleep >= LOCK_PLACES_FROM)
		k->asleep = lock_first_caller(k->asleep, LOCK_PLACE_UNKNOWN);
}

/* clang-format off */
static const struct plumb_option options[] = {
	{"stacks", 0, NULL, "report stacks of waiters, and where owners slept or released locks, by time", 40, .given = &stacks},
	PLUMB_STACK_OPTIONS,
	{0},
};
/* clang-format on */

/* No other mode uses these. */
static bool asks_for_stacks(void)
{
	const struct plumb_stacks_options *o = &plumb_stacks_options;

	return stacks || o->folded || o->inlines || o->max_given || o->flame || o->diff;
}

/* With --stacks the tool has other keys and another output. */
static void complete(struct plumb_options *o)
{
	stacks = asks_for_stacks();
	if (!stacks) {
		tool.stacking = NULL;
		return;
	}
	inflight.stacks = true;
	tool.measure = (struct plumb_measure){.kind = PLUMB_SUMS, .errors = true};
	plumb_stacks_options.waker = offsetof(struct lock_key, owner_at);
	plumb_stacks_options.waker_json = "owner_stack";
	if (o->by & (LOCK_BY_OWNER | LOCK_BY_DOING | LOCK_BY_ASLEEP))
		plumb_usage_error("--stacks has no keys owner, owner-call and asleep: it prints "
				  "owners' stacks");
}

static struct plumb_tool tool = {
	.card.name = "lock-latency",
	.card.summary = "Summarize waits for kernel locks as percentiles, by lock, waiter "
			"and owner, and by what the owner did meanwhile.",
	.card.about = "hooks:     raw tracepoints contention_begin, contention_end (5.19;\n"
		      "           stable-ish), or from 7.0 on tracepoints; raw tracepoints\n"
		      "           sched_switch, sched_waking (stable-ish): what owners do\n"
		      "kernels:   6.1, 6.1-rt, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
		      "fire rate: waits: 100 to 1,000,000 a second; each context switch and\n"
		      "           wakeup of the machine\n"
		      "cost:      see the footer\n",
	.options.list = options,
	.options.complete = complete,
	.keys.fields = lock_fields,
	.keys.n_fields = LOCK_N_FIELDS,
	.keys.size = sizeof(struct lock_key),
	.keys.unify = unify,
	.keys.paths = LOCK_BY_LOCK | LOCK_BY_CALLER | LOCK_BY_ASLEEP,
	.keys.default_by = PLUMB_BY_COMM | LOCK_BY_KIND | LOCK_BY_LOCK,
	.measure.errors = true,
	.measure.columns = columns,
	.measure.parts = parts,
	.measure.n_parts = LOCK_PARTS,
	.measure.split_by = &plumb_splitting,
	.measure.always_split = true,
	.measure.counted = "waits",
	.overhead.traced = "a traced wait",
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.lifecycle.prepare = prepare,
	.lifecycle.settle = forget_listed,
	.lifecycle.finish = finish,
	.inflight = &inflight,
	.stacking = &plumb_stacking, /* with --stacks */
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
