/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <plumb/kernel.h>
#include <plumb/log.h>
#include <plumb/report.h>
#include <plumb/session.h>
#include <plumb/verdict.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "cost.h"
#include "func-count.h"
#include "targets.h"
#include "trial.h"

#include "func-count.skel.h"

#define SURVEY_NS 5000000000ULL

/* Each of which is waited for when it is removed, some 10 to 150 ms. */
#define SLOW 50

static const char *patterns[PLUMB_MAX_LIST];
static size_t n_patterns;
static struct targets targets;
static const struct plumb_options *chosen;
static struct plumb_tool tool;

static bool is_asked_for(enum target_kind kind)
{
	for (size_t i = 0; i < n_patterns; i++)
		if (target_kind(patterns[i]) == kind)
			return true;
	return false;
}

/* --- keys and columns --- */

static size_t target_of(const struct plumb_row *row)
{
	return ((const struct func_count_key *)row->key)->target;
}

static void format_target(const void *key, char *text, size_t size)
{
	targets_name(&targets, ((const struct func_count_key *)key)->target, false, text, size);
}

static json_t *json_target(const void *key)
{
	char text[4096];

	targets_name(&targets, ((const struct func_count_key *)key)->target, true, text,
		     sizeof(text));
	return json_string(text);
}

static const struct plumb_field fields[] = {
	{"func", FUNC_COUNT_BY_FUNC, false, format_target, json_target},
};

static double rate_of(const struct plumb_report *r, uint64_t count)
{
	return r->elapsed ? count * 1e9 / r->elapsed : 0;
}

/* Of the whole target: who filters or groups by who pays for all fires of it. */
static double target_rate(const struct plumb_report *r, const struct plumb_row *row)
{
	uint64_t count = 0;

	if (r->session->options.by == FUNC_COUNT_BY_FUNC)
		return rate_of(r, row->count);
	for (size_t i = 0; i < r->snap->n; i++)
		if (r->snap->rows[i].slot && target_of(&r->snap->rows[i]) == target_of(row))
			count += r->snap->rows[i].count;
	return rate_of(r, count);
}

/* Columns that are no mechanism's. */
enum { LEAST = MECHANISMS, MOST, VERDICT };

/* The mechanism that a column is about, for this row; NULL: none. */
static const struct cost *cost_of(int id, const struct plumb_row *row)
{
	enum target_kind kind;

	if (!row->slot || id == VERDICT)
		return NULL;
	kind = targets_kind(&targets, target_of(row));
	if (id >= LEAST)
		return cost_extreme(kind, id == MOST);
	return costs[id].kind == kind ? &costs[id] : NULL;
}

static double column_value(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	const struct cost *c = cost_of(id, row);

	if (id == VERDICT)
		return row->slot ? target_rate(r, row) : 0;
	return c ? cost_percent(c, rate_of(r, row->count)) : 0;
}

static void format_column(int id, const struct plumb_report *r, const struct plumb_row *row,
			  char *text, size_t size)
{
	if (id == VERDICT && row->slot)
		snprintf(text, size, "%s", cost_verdict(column_value(id, r, row)));
	else if (cost_of(id, row))
		cost_format(column_value(id, r, row), text, size);
	else
		snprintf(text, size, "-");
}

static json_t *json_cost(const struct cost *c, double rate)
{
	return json_pack("{s:f,s:s,s:f}", "ns", c->ns, "how",
			 c->measured ? "measured" : "published", "cpu_percent",
			 cost_percent(c, rate));
}

static void add_json(json_t *row_json, const struct plumb_report *r, const struct plumb_row *row)
{
	double rate = rate_of(r, row->count);
	json_t *all = json_object();

	json_object_set_new(row_json, "rate", json_real(rate));
	json_object_set_new(row_json, "verdict",
			    row->slot ? json_string(cost_verdict(target_rate(r, row)))
				      : json_null());
	for (const struct cost *c = costs; row->slot && c < costs + MECHANISMS; c++)
		if (c->ns > 0 && c->kind == targets_kind(&targets, target_of(row)))
			json_object_set_new(all, c->name, json_cost(c, rate));
	json_object_set_new(row_json, "cost", all);
}

static void print_footer(FILE *out)
{
	bool there_is[TARGET_KINDS];

	for (int kind = 0; kind < TARGET_KINDS; kind++)
		there_is[kind] = is_asked_for(kind);
	cost_print(there_is, out);
}

/* Each mechanism's share of a CPU, or where kinds are mixed the least and the most. */
static void lay_out_columns(void)
{
	static struct plumb_column columns[MECHANISMS + 1];
	int kinds = 0;

	for (int kind = 0; kind < TARGET_KINDS; kind++)
		kinds += is_asked_for(kind);
	tool.columns = columns;
	tool.n_columns = 0;
	for (int i = 0; i < MECHANISMS && kinds == 1; i++)
		if (is_asked_for(costs[i].kind) && costs[i].heading && costs[i].ns > 0)
			columns[tool.n_columns++] = (struct plumb_column){
				costs[i].heading, i, column_value, format_column};
	if (kinds > 1) {
		columns[tool.n_columns++] =
			(struct plumb_column){"%least", LEAST, column_value, format_column};
		columns[tool.n_columns++] =
			(struct plumb_column){"%most", MOST, column_value, format_column};
	}
	columns[tool.n_columns++] =
		(struct plumb_column){"verdict", VERDICT, column_value, format_column};
}

/* --- the command line --- */

static void add_pattern(const char *text)
{
	const char *flaw = target_flaw(text);

	if (flaw)
		plumb_usage_error("%s: %s", flaw, text);
	if (n_patterns == PLUMB_MAX_LIST)
		plumb_usage_error("at most %d targets or globs", PLUMB_MAX_LIST);
	patterns[n_patterns++] = text;
	lay_out_columns();
}

static int parse(int key, char *text, struct argp_state *state, struct plumb_options *o)
{
	(void)text;
	(void)state;
	(void)o;
	if (key != ARGP_KEY_END)
		return ARGP_ERR_UNKNOWN;
	if (!n_patterns)
		plumb_usage_error("what is to be counted? func-count TARGET...");
	return 0;
}

/* --- attaching --- */

/* How a rung gets to tracepoints and user functions. */
enum {
	TWIN = 1,
	RAW = 2,        /* raw tracepoints where there are */
	MULTI = 4,      /* one program for all functions of a file */
	SINGLE = 8,     /* a copy for each */
	FUNCTIONS = 16, /* kernel functions beside them */
};

static int attach_file(const struct plumb_bpf *bpf, struct plumb_probes *probes,
		       const struct plumb_userfuncs *u, size_t first, char *what, size_t size)
{
	static const struct plumb_aim single = {"count_uprobe", PLUMB_UPROBE};
	static const struct plumb_aim multi = {"count_uprobe_multi", PLUMB_UPROBE_MULTI};
	bool at_once = bpf->way & MULTI || (u->n > PLUMB_FEW && !(bpf->way & SINGLE));
	size_t refused = probes->refused;
	int err = -ENOENT;

	if (at_once)
		err = plumb_probe_userfuncs(probes, bpf->object, &multi, u, first, what, size);
	if (!err || bpf->way & MULTI)
		return err;
	probes->refused = refused;
	return plumb_probe_userfuncs(probes, bpf->object, &single, u, first, what, size);
}

static int attach_tracepoints(const struct plumb_bpf *bpf, struct plumb_probes *probes,
			      const struct plumb_tracepoints *t, size_t first, char *what,
			      size_t size)
{
	return plumb_probe_tracepoints(probes, bpf->object, bpf->way & RAW ? "count_raw" : NULL,
				       "count_tracepoint", t, first, what, size);
}

static int attach_points(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
			 size_t size)
{
	int err = attach_tracepoints(bpf, probes, &targets.tracepoints, targets.functions.n, what,
				     size);

	for (size_t i = 0; !err && i < targets.n_files; i++)
		err = attach_file(bpf, probes, &targets.files[i], targets_first_of(&targets, i),
				  what, size);
	return err;
}

/* What a twin counts. */
static int attach_trial(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
			size_t size)
{
	struct plumb_tracepoints t;
	struct plumb_userfuncs u;
	int err;

	if (!(bpf->way & (MULTI | SINGLE))) {
		err = trial_find_tracepoint(&t);
		if (err)
			return err;
		err = attach_tracepoints(bpf, probes, &t, 0, what, size);
		plumb_tracepoints_free(&t);
		return err;
	}
	err = trial_find_userfunc(&u);
	if (err)
		return err;
	err = attach_file(bpf, probes, &u, 0, what, size);
	plumb_userfuncs_free(&u);
	return err;
}

/* Are there many functions in a file, on a kernel that might attach to them at once? */
static bool are_many(void)
{
	bool many = false;

	for (size_t i = 0; i < targets.n_files; i++)
		many |= targets.files[i].n > PLUMB_FEW;
	return many &&
	       libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie, NULL) == 1;
}

/* The programs that those take. */
static const char *const *list_programs(int way)
{
	static const char *names[5];
	bool tracepoints = targets.tracepoints.n, users = targets.n_files;
	size_t n = 0;

	if (way & TWIN && way & FUNCTIONS)
		tracepoints = users = false;
	else if (way & TWIN && way & (MULTI | SINGLE))
		tracepoints = false;
	else if (way & TWIN)
		users = false;
	if (tracepoints && way & RAW)
		names[n++] = "count_raw";
	if (tracepoints)
		names[n++] = "count_tracepoint";
	if (users && !(way & MULTI))
		names[n++] = "count_uprobe";
	if (users && (way & MULTI || (!(way & SINGLE) && are_many())))
		names[n++] = "count_uprobe_multi";
	names[n] = NULL;
	return names;
}

/* As they were typed; what is not attached to by the rung's own mechanism says by which. */
static void name_hooks(struct plumb_bpf *bpf)
{
	const size_t room = sizeof(bpf->hooks[0]);
	const char *by;
	size_t i;

	for (i = 0; i < n_patterns && i < PLUMB_MAX_HOOKS - 1; i++) {
		enum target_kind kind = target_kind(patterns[i]);

		by = "";
		if (kind == TARGET_TRACEPOINT && bpf->way & FUNCTIONS)
			by = bpf->way & RAW ? " (raw tracepoint)" : " (tracepoint)";
		else if (kind == TARGET_USER && !(bpf->way & (MULTI | SINGLE)))
			by = " (uprobe)";
		snprintf(bpf->hooks[i], room, "%.40s%s", patterns[i], by);
	}
	if (i < n_patterns)
		snprintf(bpf->hooks[i - 1], room, "and %zu more", n_patterns - i + 1);
}

static int open_way(struct plumb_bpf *bpf, bool twin, int way)
{
	struct func_count_bpf *skel = func_count_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "");
	bpf->way = way | (twin ? TWIN : 0);
	bpf->copied = list_programs(bpf->way);
	if (!twin)
		bpf->attach = attach_points;
	else if (!(way & FUNCTIONS))
		bpf->attach = attach_trial;
	name_hooks(bpf);
	skel->rodata->func_count_single = twin || targets.n == 1;
	bpf->own_slots = chosen->by == FUNC_COUNT_BY_FUNC && targets.n <= chosen->max_keys;
	bpf->config->interleaved =
		!bpf->own_slots && targets.functions.n < targets.n; /* several programs */
	return plumb_probe_prepare(skel->progs.count_uprobe_multi, PLUMB_UPROBE_MULTI, NULL);
}

static bool prefers_raw(void)
{
	return !plumb_raw_tracepoints_can_be_preempted();
}

static int open_functions(struct plumb_bpf *bpf, bool twin)
{
	return open_way(bpf, twin, FUNCTIONS | (prefers_raw() ? RAW : 0));
}

static int open_raw(struct plumb_bpf *bpf, bool twin)
{
	return open_way(bpf, twin, RAW);
}

static int open_tracepoint(struct plumb_bpf *bpf, bool twin)
{
	return open_way(bpf, twin, 0);
}

static int open_uprobe(struct plumb_bpf *bpf, bool twin)
{
	return open_way(bpf, twin, SINGLE);
}

static int open_uprobe_multi(struct plumb_bpf *bpf, bool twin)
{
	return open_way(bpf, twin, MULTI);
}

/* --- the ladder --- */

static const char *no_functions(const struct plumb_options *o)
{
	(void)o;
	return is_asked_for(TARGET_FUNCTION) ? NULL : "no target is a kernel function";
}

static const char *no_tracepoints(const struct plumb_options *o)
{
	(void)o;
	if (is_asked_for(TARGET_FUNCTION))
		return "some targets are kernel functions";
	return is_asked_for(TARGET_TRACEPOINT) ? NULL : "no target is a tracepoint";
}

static const char *not_only_users(const struct plumb_options *o)
{
	(void)o;
	return is_asked_for(TARGET_FUNCTION) || is_asked_for(TARGET_TRACEPOINT)
		       ? "some targets are no user functions"
		       : NULL;
}

static const char *raw_outdone(void)
{
	return prefers_raw() ? NULL
			     : "its programs can be preempted here, and fires missed meanwhile";
}

static const char *const programs[] = {"thread_exit", "thread_fork", NULL};

static const struct plumb_aim fentry_multi[] = {{"count_fentry_multi", PLUMB_FENTRY_MULTI}, {}};
static const struct plumb_aim fentry[] = {{"count_fentry", PLUMB_FENTRY}, {}};
static const struct plumb_aim kprobe_multi[] = {{"count_kprobe_multi", PLUMB_KPROBE_MULTI}, {}};
static const struct plumb_aim kprobe[] = {{"count_kprobe", PLUMB_KPROBE}, {}};

#define RUNG(name_, stability_, open_, ...)                                                        \
	{                                                                                          \
		.name = (name_), .stability = (stability_), .open = (open_), .programs = programs, \
		__VA_ARGS__                                                                        \
	}
#define FUNCTION_RUNG(name_, aims_)                                                                \
	RUNG(name_, "unstable: kernel functions", open_functions, .unfit = no_functions,           \
	     .aims = (aims_))
#define TRACEPOINT_RUNGS                                                                           \
	RUNG("raw_tracepoint", "stable", open_raw, .unfit = no_tracepoints,                        \
	     .outdone = raw_outdone),                                                              \
		RUNG("tracepoint", "stable", open_tracepoint, .unfit = no_tracepoints)
#define USER_RUNG(name_, open_)                                                                    \
	RUNG(name_, "as stable as the program", open_, .unfit = not_only_users)

/* Cheapest first. */
static const struct plumb_rung few[] = {
	FUNCTION_RUNG("fentry", fentry),  FUNCTION_RUNG("kprobe.multi", kprobe_multi),
	FUNCTION_RUNG("kprobe", kprobe),  TRACEPOINT_RUNGS,
	USER_RUNG("uprobe", open_uprobe),
};

/* What attaches to many at once. */
static const struct plumb_rung many[] = {
	FUNCTION_RUNG("fentry.multi", fentry_multi),
	FUNCTION_RUNG("kprobe.multi", kprobe_multi),
	FUNCTION_RUNG("fentry", fentry),
	FUNCTION_RUNG("kprobe", kprobe),
	TRACEPOINT_RUNGS,
	USER_RUNG("uprobe.multi", open_uprobe_multi),
	USER_RUNG("uprobe", open_uprobe),
};

static const struct plumb_rung *rung_of(const struct cost *c)
{
	for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++)
		if (!strcmp(many[i].name, c->name))
			return &many[i];
	return NULL;
}

static void (*const provoke[TARGET_KINDS])(void) = {
	[TARGET_TRACEPOINT] = trial_rename,
	[TARGET_USER] = trial_call,
};

/* Each mechanism that holds here, on something that the tool can provoke. */
static void measure_all(struct plumb_session *s)
{
	double ns[MECHANISMS] = {};

	for (int m = 0; m < MECHANISMS; m++) {
		const struct cost *c = &costs[m];

		if (!is_asked_for(c->kind))
			continue;
		if (s->overhead.known && !strcmp(s->instance.rung->name, c->name))
			ns[m] = s->overhead.traced;
		else
			ns[m] = plumb_calibrate_rung(s, rung_of(c), PLUMB_TWIN_TAKES,
						     provoke[c->kind]);
	}
	cost_measured(ns);
	lay_out_columns();
}

/* The library measures rungs on kernel functions only. */
static void note_overhead(struct plumb_session *s)
{
	const struct plumb_rung *rung = s->instance.rung;

	for (const struct cost *c = costs; c < costs + MECHANISMS && !s->overhead.known; c++)
		if (c->measured && !strcmp(rung->name, c->name))
			s->overhead = (struct plumb_overhead){
				.known = true,
				.traced = c->ns,
				.filtered = plumb_calibrate_rung(s, rung, PLUMB_TWIN_REJECTS,
								 provoke[c->kind]),
				.how = "calibrated",
			};
}

static void calibrate(struct plumb_session *s)
{
	static bool done;

	if (!done)
		measure_all(s);
	done = true;
	note_overhead(s);
}

/* --- the run --- */

static int prepare(struct plumb_options *o)
{
	int err = targets_find(&targets, patterns, n_patterns, o->btf);

	if (err)
		return err;
	if (targets.n > 1)
		o->by |= FUNC_COUNT_BY_FUNC;
	if (!o->max_keys_given && o->max_keys < targets.n)
		o->max_keys = targets.n;
	if (!o->duration && !o->interval && !o->command)
		o->duration = SURVEY_NS;
	if (targets.n <= PLUMB_FEW && !o->mechanism) {
		tool.rungs = few;
		tool.n_rungs = sizeof(few) / sizeof(few[0]);
	}
	chosen = o;
	plumb_info("%zu targets", targets.n);
	return 0;
}

/* Where rows are by target only, each has its slot from the start. */
static int fill(struct bpf_object *object)
{
	struct bpf_map *keys = bpf_object__find_map_by_name(object, "plumb_keys");
	size_t n = bpf_map__max_entries(keys); /* a twin has one */

	for (uint32_t i = 0; chosen->by == FUNC_COUNT_BY_FUNC && i < targets.n && i < n; i++) {
		struct func_count_key key = {.target = i};
		uint32_t slot = i + 1;

		if (bpf_map_update_elem(bpf_map__fd(keys), &key, &slot, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* Which targets stayed silent: each by name if they are few. */
static void finish(const struct plumb_session *s, const struct plumb_snapshot *total,
		   uint64_t elapsed)
{
	bool *fired = calloc(targets.n, sizeof(*fired));
	size_t silent = targets.n, refused = s->instance.probes.refused;
	char name[256];

	if (s->instance.probes.n > SLOW)
		plumb_warn("the kernel takes its time to remove %zu probes one by one",
			   s->instance.probes.n);
	if (refused)
		plumb_warn("%zu of %zu targets could not be attached to (-v says which)", refused,
			   targets.n);
	if (!fired)
		return;
	for (size_t i = 0; i < total->n; i++) {
		size_t target;

		if (!total->rows[i].slot) /* [other]: it may be any */
			goto out;
		target = target_of(&total->rows[i]);
		if (!total->rows[i].count || fired[target])
			continue;
		fired[target] = true;
		silent--;
	}
	silent -= refused < silent ? refused : silent;
	if (silent > PLUMB_FEW || refused) {
		if (silent)
			plumb_warn("%zu of %zu targets: 0 calls in %.3g s", silent, targets.n,
				   elapsed / 1e9);
		goto out;
	}
	for (size_t i = 0; i < targets.n && silent; i++)
		if (!fired[i])
			plumb_warn("%s: 0 calls in %.3g s",
				   targets_name(&targets, i, false, name, sizeof(name)),
				   elapsed / 1e9);
out:
	free(fired);
}

static const struct argp_option options[] = {{0}};

static struct plumb_tool tool = {
	.name = "func-count",
	.question = "What does the kernel do most often: the fire rate of functions, tracepoints "
		    "and user functions, and what probing them would cost.",
	.about = "hooks:     fentry.multi, fentry, kprobe.multi, kprobe on kernel functions\n"
		 "           (unstable: another kernel may have them inlined, renamed or gone),\n"
		 "           raw tracepoints and tracepoints (stable), uprobes on user functions\n"
		 "kernels:   5.10, 6.1, 6.12, 7.2 emulated, 6.18 locked down (without kernel\n"
		 "           functions); x86_64\n"
		 "fire rate: what it finds out: a survey, by default of 5 seconds\n"
		 "cost:      measured at each start for each mechanism, see the footer\n",
	.options = options,
	.parse = parse,
	.arguments = "TARGET... ",
	.argument = add_pattern,
	.prepare = prepare,
	.calibrate = calibrate,
	.finish = finish,
	.fill = fill,
	.fields = fields,
	.n_fields = sizeof(fields) / sizeof(fields[0]),
	.key_size = sizeof(struct func_count_key),
	.default_by = FUNC_COUNT_BY_FUNC,
	.counts_only = true,
	.no_errors = true,
	.counts_live = true,
	.row_json = add_json,
	.footer = print_footer,
	.functions = &targets.functions,
	.rungs = many,
	.n_rungs = sizeof(many) / sizeof(many[0]),
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
