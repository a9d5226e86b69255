/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* functions: check functions of the kernel. */
#include "inlining/copies.h"
#include "check/kernel.h"
#include "check/remains.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/functions/probe.h>

/* A target, the kernel's functions by its name, and what the compiler left of them. */
struct candidate {
	struct check *check;
	const char *name; /* without module */
	struct plumb_traceability *all;
	size_t n;
	size_t n_exact; /* the first of ALL: with exactly that name */
	struct remains remains;
};

struct inquiry {
	const struct kernel *kernel;
	struct candidate *candidates;
	size_t n;
	struct plumb_callee *callees; /* of all candidates */
	size_t n_callees;
	struct plumb_calls calls;
};

static int look_up(const struct kernel *k, struct candidate *c)
{
	const char *colon = strchr(c->check->target.name, ':');
	ssize_t n = 0;

	c->name = colon ? colon + 1 : c->check->target.name;
	if (!colon)
		c->name = kernel_name(k, c->name);
	if (k->lists)
		n = plumb_lists_find(k->lists, colon ? c->check->target.name : c->name, &c->all);
	if (n < 0)
		return n;
	c->n = n;
	while (c->n_exact < c->n && !strcmp(c->all[c->n_exact].name, c->name))
		c->n_exact++;
	/* Only a running kernel lists what ftrace can trace; in an image the code shows it. */
	for (size_t i = 0; !k->running && k->image.n_spans && i < c->n; i++)
		c->all[i].untraced = !entry_is_traceable(&k->image, c->all[i].address);
	return 0;
}

/* --- calls --- */

/*
 * Make callees of all symbols, and of names without a symbol, which debugging information may have.
 * The image has no code of modules.
 */
static int list_callees(struct inquiry *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++)
		n += q->candidates[i].n ?: 1;
	q->callees = calloc(n + 1, sizeof(*q->callees));
	if (!q->callees)
		return -ENOMEM;
	for (size_t i = 0; i < q->n; i++) {
		struct candidate *c = &q->candidates[i];

		c->remains = (struct remains){
			.check = c->check,
			.callees = &q->callees[q->n_callees],
			.n = c->n,
			.n_exact = c->n_exact,
			.calls = &q->calls,
			.is_kernel = true,
		};
		for (size_t j = 0; j < c->n; j++)
			q->callees[q->n_callees++] = (struct plumb_callee){
				.name = c->all[j].name,
				.address = c->all[j].module ? 0 : c->all[j].address,
			};
		if (!c->n)
			q->callees[q->n_callees++] = (struct plumb_callee){.name = c->name};
	}
	return 0;
}

static int count_calls(struct inquiry *q)
{
	int err = list_callees(q);

	if (err)
		return plumb_error(err, "no memory for functions");
	if (!q->kernel->image.symbols)
		return 0;
	return plumb_calls_in_kernel(&q->kernel->image, q->callees, q->n_callees, &q->calls);
}

/* --- names --- */

static void judge_missing(const struct inquiry *q, struct candidate *c)
{
	const struct kernel *k = q->kernel;
	char suggestion[512], other[256];

	if (remains_judge_inlined(&c->remains))
		return;
	if (!strchr(c->check->target.name, ':') &&
	    kernel_other_name(k, c->name, other, sizeof(other))) {
		check_judge(c->check, VERDICT_RENAMED,
			    "no such function, but there is %s: check that it is the same", other);
		return;
	}
	kernel_suggest(k, c->check->target.name, suggestion, sizeof(suggestion));
	check_judge(c->check, VERDICT_GONE, "%s has no such function%s%s", k->name, suggestion,
		    *suggestion ? "?" : "");
}

/* Without symbols all that is known is which functions have types. */
static void judge_by_types(const struct inquiry *q, struct candidate *c)
{
	size_t n = kernel_types_of(q->kernel, c->name);

	if (!n)
		judge_missing(q, c);
	else if (n > 1)
		check_judge(c->check, VERDICT_DIFFERENT,
			    "%zu functions have that name, and not the same arguments", n);
	else
		check_judge(c->check, VERDICT_OK,
			    "it has a type; whether it can be probed takes symbols: --image");
}

/* --- what may not be probed --- */

/*
 * Return whether IS holds for all functions with exactly that name.  The predicates below also hold
 * for init code, which is gone.
 */
static bool all_are(const struct candidate *c, bool (*is)(const struct plumb_traceability *))
{
	for (size_t i = 0; i < c->n_exact; i++)
		if (!is(&c->all[i]))
			return false;
	return true;
}

static bool is_boot_only(const struct plumb_traceability *s)
{
	return s->boot_only;
}

static bool is_blacklisted(const struct plumb_traceability *s)
{
	return s->blacklisted || s->boot_only;
}

static bool is_untraced(const struct plumb_traceability *s)
{
	return s->untraced || s->boot_only;
}

/*
 * A part that the compiler split off (foo.cold) has no ftrace call site: fentry and kprobe.multi
 * cannot attach to it.  Kprobes can if the function without the suffix allows it.
 */
static bool judge_split_off(const struct kernel *k, struct candidate *c)
{
	const char *dot = strchr(c->name, '.');
	struct candidate whole = {};
	struct check check = {};
	char name[256];
	bool takes;

	if (!dot || dot == c->name)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(dot - c->name), c->name);
	check.target.name = name;
	whole.check = &check;
	takes = !look_up(k, &whole) && whole.n_exact && !all_are(&whole, is_untraced) &&
		!all_are(c, is_blacklisted);
	free(whole.all);
	if (takes)
		check_judge(c->check, VERDICT_NO_BTF,
			    "a part of %s that the compiler split off: kprobes take it, fentry and "
			    "kprobe.multi do not, and its arguments are not known",
			    name);
	return takes;
}

static bool judge_refusal(const struct kernel *k, struct candidate *c)
{
	if (all_are(c, is_boot_only))
		check_judge(c->check, VERDICT_GONE,
			    "it is init code, which the kernel freed after boot");
	else if (all_are(c, is_blacklisted))
		check_judge(c->check, VERDICT_BLACKLISTED, "the kernel takes no kprobe on it%s",
			    all_are(c, is_untraced)   ? ", and no fentry, as it is notrace"
			    : kernel_knows_notrace(k) ? "; fentry may hold"
						      : "");
	else if (!all_are(c, is_untraced))
		return false;
	else if (!judge_split_off(k, c))
		check_judge(c->check, VERDICT_NOTRACE,
			    "ftrace does not know it (marked notrace, or compiled without a place "
			    "for ftrace): fentry and kprobes are refused");
	return true;
}

/* --- what it is --- */

/* fentry needs direct calls out of ftrace's call sites, which arm64 has from 6.4 on. */
static bool has_fentry(const struct kernel *k)
{
	return kernel_has_function(k, "register_ftrace_direct");
}

static void judge_types(const struct inquiry *q, struct candidate *c)
{
	size_t types = c->all[0].module ? 1 : kernel_types_of(q->kernel, c->name), n = 0;

	for (size_t i = 0; i < c->n_exact; i++)
		n += !c->all[i].boot_only;
	if (n > 1 && types > 1)
		check_judge(c->check, VERDICT_DIFFERENT,
			    "%zu functions have that name, and not the same arguments: all are "
			    "attached to, and arguments are not trusted",
			    n);
	else if (n > 1)
		check_judge(c->check, VERDICT_DUPLICATED,
			    "%zu functions have that name, all are attached to%s", n,
			    types ? "" : "; their arguments are not known");
	else if (!types)
		check_judge(c->check, VERDICT_NO_BTF,
			    "kprobes take it, fentry does not: no type describes it%s",
			    q->kernel->btf ? "" : ", as the kernel has none");
	else if (c->all[0].changed)
		check_judge(c->check, VERDICT_NO_BTF,
			    "the compiler changed its signature: kprobes take it, its arguments "
			    "are not trusted");
	else if (plumb_function_serves_bpf(c->name))
		check_judge(c->check, VERDICT_OK,
			    "kprobes take it; fentry is refused, as BPF itself calls it");
	else if (!has_fentry(q->kernel))
		check_judge(c->check, VERDICT_OK,
			    "kprobes take it; %s has no fentry "
			    "(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS)",
			    q->kernel->name);
	else
		check_judge(c->check, VERDICT_OK, "kprobes and fentry take it");
}

/* Without debugging information the code may show that calls were inlined. */
static void judge_copies(const struct inquiry *q, struct candidate *c)
{
	const char *in;

	if (verdict_fails(c->check->verdict) || c->n_exact != 1 || c->all[0].module ||
	    remains_sum(&c->remains).described)
		return;
	in = copies_find(&q->kernel->image, &q->kernel->lists->symbols, c->all[0].address);
	if (in)
		check_judge(c->check, VERDICT_MAYBE_INLINED,
			    "%s has the same instructions and does not call it: a probe would miss "
			    "what is inlined there",
			    in);
}

static void judge(const struct inquiry *q, struct candidate *c)
{
	if (!q->kernel->lists) {
		judge_by_types(q, c);
	} else if (!c->n) {
		judge_missing(q, c);
	} else if (!c->n_exact) {
		remains_judge_made(&c->remains);
	} else if (!judge_refusal(q->kernel, c) && !remains_judge_hollow(&c->remains)) {
		judge_types(q, c);
		judge_copies(q, c);
		remains_add_calls(&c->remains);
		if (c->all[0].module)
			check_add(c->check, "in a module: calls are not counted");
	}
}

/* Warn once, not in each verdict. */
static void say_limits(const struct kernel *k)
{
	char limits[128];

	if (*kernel_limits(k, limits, sizeof(limits)))
		plumb_warn("not checked for functions: %s%s%s%s", limits,
			   *k->why_no_code ? " (" : "", k->why_no_code, *k->why_no_code ? ")" : "");
}

int functions_check(const struct kernel *k, struct check *checks, size_t n)
{
	struct inquiry q = {.kernel = k, .candidates = calloc(n + 1, sizeof(*q.candidates))};
	int err = q.candidates ? 0 : plumb_error(ENOMEM, "no memory for functions");

	for (size_t i = 0; !err && i < n; i++) {
		if (checks[i].target.kind != TARGET_FUNCTION)
			continue;
		q.candidates[q.n].check = &checks[i];
		err = look_up(k, &q.candidates[q.n++]);
	}
	if (!err && q.n)
		err = count_calls(&q);
	if (!err && q.n)
		say_limits(k);
	for (size_t i = 0; !err && i < q.n; i++)
		judge(&q, &q.candidates[i]);
	for (size_t i = 0; i < q.n; i++)
		free(q.candidates[i].all);
	free(q.candidates);
	free(q.callees);
	return err;
}
