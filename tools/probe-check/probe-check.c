/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/text.h>
#include <plumb/files/writer.h>
#include <plumb/guard/confine.h>

#include "check/kernel.h"
#include "live/live.h"
#include "plan/plan.h"
#include "report/report.h"
#include "compare/snapshot.h"
#include "check/user.h"

#define EXIT_MOVED 4 /* differences break programs with a fixed layout only */

static struct options {
	struct plan *plan;
	const char *save, *against, *btf, *image;
	__u64 live; /* ns */
	bool json;
} asked;

static void check_options(struct plumb_options *unused)
{
	const struct options *o = &asked;

	if (o->live && (o->image || o->btf))
		plumb_usage_error("--live is for the running kernel: not with %s",
				  o->image ? "--image" : "--btf");
	if (o->live && !o->plan->n)
		plumb_usage_error("--live needs targets: probe-check --live=SEC TARGET...");
	if (!o->plan->n && !o->save && !o->against)
		plumb_usage_error("no target: probe-check TARGET...");
}

static void add_tool(const char *option, const char *text, struct plumb_options *o)
{
	(void)option, (void)o;
	plan_add_tool(asked.plan, text);
}

static void set_save(const char *option, const char *text, struct plumb_options *o)
{
	if (!*text)
		plumb_usage_error("%s: a file is needed: ''", option);
	asked.save = text;
}

static void add_target(const char *text)
{
	plan_add_target(asked.plan, text);
}

/* clang-format off */
static const struct plumb_option options[] = {
	{.doc = "Targets:", .group = 10},
	{"tool", 0, "NAME", "also check the targets that this plumb tool hooks", 10, .parse = add_tool},
	{"live", 0, "SEC", "attach to the targets for SEC seconds and count fires", 10, .seconds = &asked.live},
	{.doc = "Between kernels:", .group = 20},
	{"save", 0, "FILE", "save prototypes and tracepoint records in FILE", 20, .parse = set_save},
	{"against", 0, "FILE", "report what has changed since FILE was saved", 20, .text = &asked.against},
	{"btf", 0, "FILE", "check against the types of another kernel", 20, .text = &asked.btf},
	{"image", 0, "VMLINUZ", "check this kernel image instead of the running kernel", 20, .text = &asked.image},
	{.doc = "Output:", .group = 30},
	{"json", 'j', NULL, "print one JSON object", 30, .given = &asked.json},
	{0},
};
/* clang-format on */

static struct kernel_wants wants_of(const struct options *o)
{
	bool snapshots = o->save || o->against;
	struct kernel_wants wants = {.functions = snapshots, .tracefs = snapshots};

	for (size_t i = 0; i < o->plan->n; i++) {
		enum target_kind kind = o->plan->checks[i].target.kind;

		wants.functions |= kind == TARGET_FUNCTION || kind == TARGET_SYSCALL;
		wants.types |= kind == TARGET_RAW_TRACEPOINT;
		wants.tracefs |= kind == TARGET_TRACEPOINT || kind == TARGET_SYSCALL ||
				 kind == TARGET_RAW_TRACEPOINT;
	}
	return wants;
}

/* --- snapshots --- */

/* Add NAME to the N, unless it is among them: one that is there twice would be ambiguous. */
static size_t add_name(const char **names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return n;
	names[n] = name;
	return n + 1;
}

/* Take a snapshot with the functions of plumb's tools and of the command line. */
static json_t *take(const struct kernel *k, const struct plan *p)
{
	static struct plan known;
	const struct plan *const plans[] = {&known, p};
	const char *names[2 * MAX_CHECKS];
	json_t *snapshot;
	size_t n = 0;

	plan_add_all_tools(&known);
	for (size_t i = 0; i < 2; i++)
		for (const struct check *c = plans[i]->checks; c < plans[i]->checks + plans[i]->n;
		     c++)
			if (c->target.kind == TARGET_FUNCTION)
				n = add_name(names, n, c->target.name);
	snapshot = snapshot_take(k, names, n);
	plan_free(&known);
	return snapshot;
}

static int save(const struct kernel *k, const struct plan *p, const char *path)
{
	json_t *snapshot = take(k, p);
	void *own = plumb_as_user();
	int err = snapshot ? snapshot_write(snapshot, path) : -EIO;

	plumb_as_tool(own);
	json_decref(snapshot);
	return err;
}

static void add_difference(void *context, enum difference_class class, const char *target,
			   const char *what)
{
	struct findings *f = context;
	struct difference *more;

	more = realloc(f->differences, (f->n_differences + 1) * sizeof(*more));
	if (!more)
		abort();
	f->differences = more;
	more[f->n_differences++] = (struct difference){class, strdup(target), strdup(what)};
	f->n_of[class]++;
}

/* Take a snapshot with the functions of WAS. */
static json_t *take_same(const struct kernel *k, const json_t *was)
{
	json_t *functions = json_object_get(was, "functions"), *value, *is;
	const char **names = calloc(json_object_size(functions) + 1, sizeof(*names)), *name;
	size_t n = 0;

	if (!names)
		return NULL;
	json_object_foreach(functions, name, value) names[n++] = name;
	is = snapshot_take(k, names, n);
	free(names);
	return is;
}

static int compare(const struct kernel *k, const json_t *was, struct findings *f)
{
	json_t *is = take_same(k, was);

	if (!is)
		return -EIO;
	f->compared = true;
	f->snapshot_kernel = json_string_value(json_object_get(was, "kernel"));
	snapshot_compare(was, is, k, add_difference, f, &f->what);
	json_decref(is);
	return 0;
}

/* --- exit status --- */

static int judge(struct findings *f)
{
	for (size_t i = 0; i < f->plan->n; i++) {
		const struct check *c = &f->plan->checks[i];

		/* What only tools need counts with the tool, which may have other mechanisms. */
		if (!c->asked || !verdict_fails(c->verdict))
			continue;
		f->failed += c->verdict != VERDICT_UNKNOWN;
		f->unknown += c->verdict == VERDICT_UNKNOWN;
	}
	for (size_t i = 0; i < f->plan->n_tools; i++) {
		bool unknown = plan_tool_is_unknown(f->plan, f->plan->tools[i]);

		f->failed += !unknown && !plan_tool_holds(f->plan, f->plan->tools[i]);
		f->unknown += unknown;
	}
	if (f->failed || f->n_of[DIFFERENCE_BREAKING])
		return PLUMB_EXIT_JUDGED;
	if (f->unknown)
		return PLUMB_EXIT_FAILED;
	return f->n_of[DIFFERENCE_MOVED] ? EXIT_MOVED : 0;
}

/* Add to the verdicts which hooks this kernel refuses, though the targets have them. */
static void check_hooks(struct plan *p)
{
	unsigned int kinds = 0;

	for (size_t i = 0; i < p->n; i++)
		kinds |= 1U << p->checks[i].target.kind;
	refusals_find(&p->refused, kinds, p->n_tools);
	for (const struct refusal *r = p->refused.list; r < p->refused.list + p->refused.n; r++) {
		if (r->kinds & kinds)
			plumb_warn("%s refused: %s", r->mechanism, r->why);
		for (size_t i = 0; i < p->n; i++)
			if (r->kinds >> p->checks[i].target.kind & 1 &&
			    !verdict_fails(p->checks[i].verdict))
				check_add(&p->checks[i], "%s is refused here", r->mechanism);
	}
	/* The table of tools has what this means for their targets. */
	for (size_t i = 0; i < p->n; i++)
		if (p->checks[i].asked && !verdict_fails(p->checks[i].verdict) &&
		    refusals_have_all(&p->refused, p->checks[i].target.kind))
			p->checks[i].verdict = VERDICT_REFUSED;
}

static int check_all(const struct kernel *k, struct plan *p)
{
	int err = functions_check(k, p->checks, p->n) ?: events_check(k, p->checks, p->n);

	if (err)
		return err;
	userfuncs_check(p->checks, p->n);
	usdts_check(p->checks, p->n);
	/* Without root every kernel refuses all hooks. */
	if (k->running && !geteuid())
		check_hooks(p);
	else if (k->running && p->n)
		plumb_warn("not checked: whether this kernel permits probes (root only)");
	return 0;
}

/* Whether nothing fails but targets whose hooks this kernel refuses. */
static bool only_refused(const struct findings *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->plan->n; i++)
		n += f->plan->checks[i].verdict == VERDICT_REFUSED;
	return f->failed == n && !f->n_of[DIFFERENCE_BREAKING];
}

static int run(const struct options *o, const struct kernel *k, const json_t *was)
{
	struct findings f = {.kernel = k, .plan = o->plan};
	int err = check_all(k, o->plan), tried = 1, status;

	if (!err && o->live && !plumb_may_trace())
		err = -EPERM;
	if (!err && o->live)
		tried = live_check(k, o->plan->checks, o->plan->n, o->live);
	if (tried < 0)
		err = tried;
	if (!err && was)
		err = compare(k, was, &f);
	if (!err && o->save)
		err = save(k, o->plan, o->save);
	if (err)
		return err == -ENODEV ? PLUMB_EXIT_UNSUPPORTED : PLUMB_EXIT_FAILED;
	status = judge(&f);
	if (o->json)
		report_json(&f);
	else
		report_print(&f);
	for (size_t i = 0; i < f.n_differences; i++) {
		free(f.differences[i].target);
		free(f.differences[i].what);
	}
	free(f.differences);
	if (live_is_forbidden())
		return status ?: PLUMB_EXIT_FAILED;
	return !tried && (!status || only_refused(&f)) ? PLUMB_EXIT_UNSUPPORTED : status;
}

static const char about[] =
	"hooks:     each kind is attached briefly; with --live a kprobe, tracepoint or\n"
	"           uprobe on each target\n"
	"kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64; images of\n"
	"           these\n"
	"fire rate: with --live that of the targets, in the whole machine\n"
	"cost:      with --live one increment of a counter per fire\n";

int main(int argc, char **argv)
{
	static struct plan plan;
	const struct plumb_cli cli = {
		.name = "probe-check",
		.summary = "Check whether a probe will fire, on this kernel or on another one.",
		.about = about,
		.usage = "TARGET...\n--tool=NAME\n--save=FILE\n--against=FILE",
		.options = options,
		.argument = add_target,
		.complete = check_options,
	};
	struct kernel k;
	json_t *was = NULL;
	int status = PLUMB_EXIT_FAILED;

	asked.plan = &plan;
	plumb_cli_parse(&cli, argc, argv);
	signal(SIGPIPE, SIG_IGN);
	if (asked.against && !(was = snapshot_read(asked.against)))
		return plumb_close_stdout(PLUMB_EXIT_FAILED);
	/* Of a file, which may be hostile, nothing is attached. */
	if (asked.save && (asked.image || asked.btf))
		plumb_writer_add(asked.save,
				 PLUMB_CAP(DAC_OVERRIDE) | PLUMB_CAP(FOWNER) | PLUMB_CAP(CHOWN));
	if (asked.image || asked.btf)
		plumb_retain(PLUMB_CAP(DAC_READ_SEARCH), 0, "the files to be checked");
	if ((asked.image || asked.btf) && (plumb_writer_start(plumb_confine) || plumb_confine()))
		return plumb_close_stdout(PLUMB_EXIT_FAILED);
	if (!kernel_open(&k, asked.image, asked.btf, wants_of(&asked))) {
		status = run(&asked, &k, was);
		kernel_close(&k);
	}
	json_decref(was);
	plan_free(&plan);
	plumb_writer_stop();
	return plumb_close_stdout(status);
}
