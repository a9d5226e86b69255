/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <plumb/core/tracer.h>
#include <plumb/inflight/inflight.h>
#include <plumb/inflight/states.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/kernel/types.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "cause.h"
#include "kills.h"
#include "reclaim-latency.h"
#include "reclaim-latency.skel.h"

static struct reclaim_config arguments;
static bool has_memcg;

/* ---- keys ---- */

static const struct reclaim_cause *cause_of(const void *key)
{
	return &((const struct reclaim_key *)key)->cause;
}

static void order_text(const void *key, char *text, size_t size)
{
	const __u32 order = cause_of(key)->order;

	if (order)
		snprintf(text, size, "%u", order - 1);
	else
		snprintf(text, size, "-");
}

static void gfp_text(const void *key, char *text, size_t size)
{
	reclaim_gfp_text(cause_of(key)->gfp, text, size);
}

static json_t *gfp_json(const void *key)
{
	return reclaim_gfp_json(cause_of(key)->gfp);
}

static const struct plumb_field fields[] = {
	{PLUMB_NAMED_FIELD("kind", RECLAIM_BY_KIND, PLUMB_NAME, reclaim_key, cause.kind,
			   reclaim_kinds)},
	{.name = "order", .bit = RECLAIM_BY_ORDER, .number = true, .format = order_text},
	{.name = "gfp", .bit = RECLAIM_BY_GFP, .format = gfp_text, .json = gfp_json},
};

static const struct plumb_column columns[] = {
	{"pages", PLUMB_COLUMN_COUNT, "The pages that were reclaimed; compaction only moves pages.",
	 .id = RECLAIM_PAGES},
	{},
};

/* ---- tracepoints ---- */

/* Whether argument I of a raw tracepoint is a gfp_t, which precedes the order from 7.0 on. */
static bool is_gfp(const struct btf *btf, const struct btf_type *prototype, __u32 i)
{
	const struct btf_type *t = btf__type_by_id(btf, btf_params(prototype)[i + 1].type);

	return !strcmp(btf__name_by_offset(btf, t->name_off), "gfp_t");
}

static int prepare(struct plumb_options *o)
{
	struct btf *btf = plumb_types_get(o->btf);
	const struct btf_type *begin, *end, *victim;

	if (!btf)
		return -EOPNOTSUPP;
	begin = plumb_tracepoint_prototype(btf, "mm_vmscan_direct_reclaim_begin");
	end = plumb_tracepoint_prototype(btf, "mm_compaction_end");
	victim = plumb_tracepoint_prototype(btf, "mark_victim");
	has_memcg = plumb_tracepoint_prototype(btf, "mm_vmscan_memcg_reclaim_begin");
	if (begin && end && victim)
		arguments = (struct reclaim_config){
			.gfp_at = !is_gfp(btf, begin, 0),
			.order_at = is_gfp(btf, begin, 0),
			.status_at = btf_vlen(end) - 2, /* the last one */
			.victim_is_task = btf_vlen(victim) > 2,
		};
	plumb_kernel_btf_put(btf);
	plumb_cgroup_retain();
	return begin && end && victim
		       ? 0
		       : plumb_error(EOPNOTSUPP, "this kernel has no tracepoints of reclaim, "
						 "compaction and the OOM killer: it needs "
						 "CONFIG_COMPACTION");
}

static int open_tracepoints(struct plumb_bpf *bpf, bool calibration)
{
	struct reclaim_latency_bpf *skel = reclaim_latency_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "mm_vmscan_direct_reclaim_begin", "mm_vmscan_direct_reclaim_end",
			    "mm_compaction_try_to_compact_pages", "mm_compaction_begin",
			    "mm_compaction_end", "mark_victim");
	/* An entry of a hash is there already; storage would have to be allocated. */
	bpf->no_storage = true;
	*(struct reclaim_config *)&skel->rodata->reclaim_config = arguments;
	if (!calibration)
		reclaim_kills_lost = &skel->bss->reclaim_kills_lost;
	if (has_memcg) {
		strcpy(bpf->hooks[6], "mm_vmscan_memcg_reclaim_begin");
		strcpy(bpf->hooks[7], "mm_vmscan_memcg_reclaim_end");
		return 0;
	}
	bpf_program__set_autoload(skel->progs.raw_memcg_begins, false);
	bpf_program__set_autoload(skel->progs.raw_memcg_ends, false);
	bpf_program__set_autoload(skel->progs.tp_memcg_begins, false);
	bpf_program__set_autoload(skel->progs.tp_memcg_ends, false);
	return 0;
}

/* What ends is attached before what begins. */
static const char *const raw_programs[] = {
	"raw_direct_ends",       "raw_memcg_ends",    "raw_compaction_ends",
	"raw_compaction_tries",  "raw_direct_begins", "raw_memcg_begins",
	"raw_compaction_begins", "victim_marked",     NULL};
static const char *const tp_programs[] = {
	"tp_direct_ends",       "tp_memcg_ends",    "tp_compaction_ends",
	"tp_compaction_tries",  "tp_direct_begins", "tp_memcg_begins",
	"tp_compaction_begins", "victim_marked",    NULL};

#define STABILITY "stable-ish: arguments of tracepoints"

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "tracepoint",
		.stability = STABILITY,
		.preemptible = PLUMB_AS_TRACEPOINTS,
		.open = open_tracepoints,
		.programs = tp_programs,
	},
	{
		.name = "raw_tracepoint",
		.stability = STABILITY,
		.preemptible = PLUMB_AS_RAW,
		.open = open_tracepoints,
		.programs = raw_programs,
	},
};

/* ---- stalls that have not ended ---- */

static void describe(const struct plumb_run *run, const struct plumb_state *state,
		     struct plumb_flight *f)
{
	static int at;

	if (!at)
		at = plumb_states_offset(run->instance.bpf.object, "reclaim_thread", "cause");
	f->what = plumb_state_word(state->value, at);
	f->own = plumb_state_word(state->value, at + (int)sizeof(f->what));
}

static void name_cause(const struct plumb_run *run, const struct plumb_flight *f, char *text,
		       size_t size)
{
	const struct reclaim_cause cause = {.kind = f->what, .order = f->what >> 32, .gfp = f->own};

	reclaim_cause_text(&cause, text, size);
}

static const struct plumb_inflight inflight = {
	.heading = "CAUSE",
	.json = "cause",
	.state = "reclaim_thread",
	.describe = describe,
	.name = name_cause,
};

/* ---- */

static void add_json(json_t *json, const struct plumb_report *r)
{
	reclaim_kills_json(json);
}

static const struct plumb_ring rings[] = {
	{"reclaim_kills", &reclaim_kills, NULL},
	{},
};

int main(int argc, char **argv)
{
	struct plumb_tool tool = {
		.card.name = "reclaim-latency",
		.card.summary = "Summarize stalls in memory reclaim and compaction as percentiles, "
				"by victim and cause, with pages reclaimed and OOM kills.",
		.card.about =
			"hooks:     raw tracepoints mm_vmscan_direct_reclaim_begin and _end,\n"
			"           mm_vmscan_memcg_reclaim_begin and _end,\n"
			"           mm_compaction_begin and _end,\n"
			"           mm_compaction_try_to_compact_pages, mark_victim (stable-ish),\n"
			"           or from 7.0 on tracepoints\n"
			"kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
			"fire rate: 0 to 100,000 stalls a second\n"
			"cost:      see the footer\n",
		.keys.fields = fields,
		.keys.n_fields = sizeof(fields) / sizeof(fields[0]),
		.keys.size = sizeof(struct reclaim_key),
		.keys.default_by = PLUMB_BY_COMM | RECLAIM_BY_KIND | RECLAIM_BY_ORDER,
		.measure.errors = true,
		.measure.columns = columns,
		.measure.counted = "stalls",
		.view.footer = reclaim_kills_print,
		.view.report_json = add_json,
		.overhead.traced = "a traced stall",
		.mechanisms.list = mechanisms,
		.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
		.lifecycle.prepare = prepare,
		.rings = rings,
		.inflight = &inflight,
	};

	return plumb_main(argc, argv, &tool);
}
