/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* witness: --verify. */
#include <inttypes.h>
#include <stdio.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/part.h>
#include <plumb/core/report.h>
#include <plumb/witness/witness.h>

#include <bpf/libbpf.h>

struct reading {
	uint64_t low, high; /* what the witness had counted when the programs had counted SEEN */
	uint64_t seen;
	uint64_t slack; /* events that one of both may have counted, and the other not yet */
};

static bool wanted;
static const char *why_not; /* NULL: there is a witness */
static struct reading first, last;

/* clang-format off */
static const struct plumb_option options[] = {
	{"verify", 0, NULL, "compare with what the kernel itself counts meanwhile", 60, .given = &wanted},
	{0},
};
/* clang-format on */

static bool has(const struct plumb_tool *tool)
{
	return tool && tool->witness;
}

/* Each CPU may be between the witness and a program, and each thread that was preempted there. */
static uint64_t events_under_way(void)
{
	FILE *f = fopen("/proc/loadavg", "re");
	unsigned int runnable = 0;

	if (f && fscanf(f, "%*f %*f %*f %u/", &runnable) != 1)
		runnable = 0;
	if (f)
		fclose(f);
	return libbpf_num_possible_cpus() + runnable;
}

/* The tool's own are read last for the least, and first for the most: meanwhile it makes some. */
static struct reading read_now(const struct plumb_run *run)
{
	const struct plumb_witness *w = run->tool->witness;
	struct reading r = {.slack = events_under_way()};
	uint64_t own;

	r.low = w->count();
	r.low -= w->own();
	r.seen = w->seen(run);
	own = w->own();
	r.high = w->count() - own;
	r.slack += w->unsure ? w->unsure() : 0;
	return r;
}

static int open_witness(struct plumb_run *run)
{
	if (wanted)
		why_not = run->tool->witness->open(run);
	if (why_not)
		plumb_warn("--verify: no witness: %s", why_not);
	return 0;
}

static bool is_there(void)
{
	return wanted && !why_not;
}

static const struct plumb_run *of;

static void begin(struct plumb_run *run)
{
	of = run;
	if (is_there())
		first = read_now(run);
}

static int end(void)
{
	if (!is_there() || !of)
		return 0;
	last = read_now(of);
	if (of->tool->witness->doubt)
		why_not = of->tool->witness->doubt();
	return 0;
}

/* --- the comparison --- */

struct comparison {
	uint64_t least, most, seen;
	uint64_t missed, more; /* by the programs, beyond all doubt; or by the witness */
	bool has_most;         /* false: there were more than MOST */
};

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static struct comparison compare(const struct plumb_witness *w)
{
	const uint64_t slack = first.slack + last.slack;
	struct comparison c = {
		.least = less(last.low, first.high),
		.most = less(last.high, first.low),
		.seen = last.seen - first.seen,
	};

	c.missed = less(c.least, c.seen + slack);
	c.has_most = c.seen <= c.most || !w->misses_ends || !plumb_witness_is_of_threads();
	if (c.has_most)
		c.more = less(c.seen, c.most + slack);
	return c;
}

static void footer(const struct plumb_report *r, FILE *out)
{
	const struct plumb_witness *w = r->run->tool->witness;
	char text[384], counted[64];
	struct comparison c;

	if (!wanted || !r->final)
		return;
	if (why_not) {
		snprintf(text, sizeof(text), "witness: none: %s", why_not);
		plumb_print_wrapped(text, out);
		return;
	}
	c = compare(w);
	if (!c.has_most)
		snprintf(counted, sizeof(counted), "at least %" PRIu64, c.least);
	else if (c.least == c.most)
		snprintf(counted, sizeof(counted), "%" PRIu64, c.most);
	else
		snprintf(counted, sizeof(counted), "%" PRIu64 " to %" PRIu64, c.least, c.most);
	snprintf(text, sizeof(text), "witness: %" PRIu64 " of %s %s, as %s count%s", c.seen,
		 counted, w->counted ?: r->run->tool->measure.counted ?: "calls", w->source,
		 c.missed ? ": some were MISSED"
		 : c.more ? ": they DIFFER"
			  : "");
	plumb_print_wrapped(text, out);
}

static json_t *witness_json(const struct plumb_witness *w)
{
	const struct comparison c = compare(w);

	if (why_not)
		return json_pack("{ss}", "none", why_not);
	return json_pack("{ss so so so so so}", "source", w->source, "least",
			 plumb_json_u64(c.least), "most",
			 c.has_most ? plumb_json_u64(c.most) : json_null(), "seen",
			 plumb_json_u64(c.seen), "missed", plumb_json_u64(c.missed), "more",
			 plumb_json_u64(c.more));
}

static void add(const struct plumb_report *r, FILE *out, json_t *json)
{
	if (!out && wanted && r->final)
		json_object_set_new(json, "witness", witness_json(r->run->tool->witness));
}

static bool is_incomplete(void)
{
	const struct comparison c = is_there() ? compare(of->tool->witness) : (struct comparison){};

	return c.missed || c.more;
}

static void finish(const struct plumb_run *run, const struct plumb_snapshot *total)
{
	struct comparison c;

	(void)total;
	if (!is_there())
		return;
	c = compare(run->tool->witness);
	if (c.missed)
		plumb_warn("--verify: at least %" PRIu64 " were missed: %s count at least %" PRIu64
			   ", the programs %" PRIu64,
			   c.missed, run->tool->witness->source, c.least, c.seen);
	if (c.more)
		plumb_warn("--verify: the programs have counted %" PRIu64 ", %s at most %" PRIu64,
			   c.seen, run->tool->witness->source, c.most);
}

const struct plumb_part plumb_witness_part = {
	.name = "witness",
	.options = options,
	.has = has,
	.open = open_witness,
	.begin = begin,
	.footer = footer,
	.add = add,
	.end = end,
	.is_incomplete = is_incomplete,
	.finish = finish,
};
