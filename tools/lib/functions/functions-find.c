/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/functions/lists.h>
#include <plumb/functions/modules.h>
#include <plumb/kernel/renamed.h>

struct search {
	struct plumb_functions *found;
	struct plumb_lists lists;
	struct plumb_symbol **matches; /* of one pattern */
	size_t n_matches;
};

/* The number of matches of one pattern, by result. */
struct outcome {
	size_t taken; /* by this or an earlier pattern */
	size_t gone, barred, untraced;
	size_t changed, shared_names;
};

/* The function of plumb_functions_remember(), found by the search that reads the lists. */
static struct {
	char name[64];
	struct plumb_function function; /* without name and types */
	bool is_found;
} kept;

void plumb_functions_remember(const char *name)
{
	snprintf(kept.name, sizeof(kept.name), "%s", name);
	kept.is_found = false;
}

/* Keeps the function only if a search would take it without a warning. */
static void keep(const struct plumb_lists *lists)
{
	struct plumb_symbol *s = lists->symbols.all, *found = NULL;
	struct plumb_traceability is;
	size_t n = 0;

	for (size_t i = 0; *kept.name && i < lists->symbols.n; i++, s++)
		if (!strcmp(s->name, kept.name)) {
			found = s;
			n++;
		}
	if (n != 1 || found->module)
		return;
	is = plumb_lists_judge(lists, found);
	kept.is_found = !is.boot_only && !is.blacklisted && !is.changed;
	kept.function = (struct plumb_function){
		.address = is.address,
		.named = true,
		.untraced = is.untraced,
		.unchecked = !lists->traceable_was_read,
	};
}

static void take_kept(struct plumb_functions *found)
{
	struct plumb_function *f = plumb_append(found->all, found->n);

	*f = kept.function;
	f->name = plumb_copied(kept.name);
}

/* Sets the matches; their array is big enough for all symbols. */
static void match(struct search *q, const struct plumb_pattern *p, plumb_matcher *matches)
{
	struct plumb_symbol *s = q->lists.symbols.all;

	q->n_matches = 0;
	for (size_t i = 0; i < q->lists.symbols.n; i++, s++)
		if (plumb_pattern_is_about(p, s) && matches(p, s))
			q->matches[q->n_matches++] = s;
}

static int compare(const void *a, const void *b)
{
	const struct plumb_symbol *s = *(struct plumb_symbol *const *)a,
				  *t = *(struct plumb_symbol *const *)b;
	int order = strcmp(s->name, t->name);

	if (!order)
		order = strcmp(s->module ?: "", t->module ?: "");
	return order ?: (s->address > t->address) - (s->address < t->address);
}

static bool is_taken(struct search *q, struct plumb_symbol *s)
{
	struct plumb_symbol *alias;
	size_t n = plumb_symbol_aliases(&q->lists.symbols, s, &alias);

	for (; n; n--, alias++)
		if (alias->taken)
			return true;
	return false;
}

static void take(struct search *q, struct plumb_symbol *s, const struct plumb_function *like)
{
	struct plumb_function *f = plumb_append(q->found->all, q->found->n);

	*f = *like;
	f->address = s->address;
	f->name = plumb_copied(s->name);
	f->module = s->module ? plumb_copied(s->module) : NULL;
	s->taken = true;
}

/*
 * The kernel takes long to print ftrace's list, so it is read only if necessary: for globs and
 * blacklisted functions, where it decides what is taken, and for functions with aliases, since
 * ftrace may list another alias.  For other functions, attaching shows whether they can be traced.
 */
static struct plumb_traceability judge(struct plumb_lists *lists, struct plumb_symbol *s,
				       bool is_glob)
{
	struct plumb_symbol *alias;

	if (is_glob || plumb_symbol_aliases(&lists->symbols, s, &alias) > 1 ||
	    plumb_blacklist_has(&lists->blacklist, s))
		plumb_lists_fill_traceable(lists);
	return plumb_lists_judge(lists, s);
}

/* Takes the function S unless it cannot be traced. */
static void consider(struct search *q, const struct plumb_pattern *p, struct plumb_symbol *s,
		     bool ambiguous, struct outcome *o)
{
	struct plumb_traceability is = judge(&q->lists, s, p->is_glob);
	bool is_listed = q->lists.traceable.slots;
	struct plumb_function f = {
		.named = !p->is_glob,
		.ambiguous = ambiguous,
		.cold = is.cold,
		.changed = is.changed,
		.untraced = is.untraced,
		.unchecked = !q->lists.traceable_was_read,
		.blacklisted = is.blacklisted,
	};

	if (is_taken(q, s)) {
		o->taken++;
		return;
	}
	if (is.boot_only) {
		o->gone++;
		return;
	}
	if (f.blacklisted && (f.untraced || (p->is_glob && !is_listed))) {
		o->barred++;
		return;
	}
	if (f.untraced && p->is_glob) {
		o->untraced++;
		return;
	}
	o->taken++;
	o->changed += f.changed;
	if (f.cold)
		plumb_warn("%s: a part of %.*s, entered by a jump: no arguments and no "
			   "return to time",
			   s->name, (int)strcspn(s->name, "."), s->name);
	else if (f.changed && !p->is_glob)
		plumb_warn("%s: the compiler changed its signature, arguments are not "
			   "trusted",
			   s->name);
	take(q, s, &f);
}

/* Considers N symbols of one name in one module. */
static void consider_same_name(struct search *q, const struct plumb_pattern *p,
			       struct plumb_symbol **s, size_t n, struct outcome *o)
{
	size_t before;

	/* Without addresses only the name can be given to the kernel: one probe, attached once. */
	if (n > 1 && !s[0]->address) {
		plumb_warn("%zu functions are named %s, and their addresses are hidden "
			   "(kernel.kptr_restrict): only one can be traced",
			   n, s[0]->name);
		consider(q, p, s[0], true, o);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		before = q->found->n;
		consider(q, p, s[i], n > 1, o);
		if (n > 1 && q->found->n > before)
			q->found->all[before].place = i + 1;
	}
}

static bool is_same_module(const struct plumb_symbol *s, const struct plumb_symbol *t)
{
	return !strcmp(s->module ?: "", t->module ?: "");
}

/* Considers N symbols of one name in the kernel and all modules. */
static void consider_name(struct search *q, const struct plumb_pattern *p, struct plumb_symbol **s,
			  size_t n, struct outcome *o)
{
	size_t before = q->found->n, taken;

	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && is_same_module(s[i], s[next]); next++)
			;
		consider_same_name(q, p, s + i, next - i, o);
	}
	taken = q->found->n - before;
	o->shared_names += taken > 1;
	if (taken > 1 && !p->is_glob)
		plumb_warn("%zu functions are named %s: all are traced", taken, s[0]->name);
}

static void consider_all(struct search *q, const struct plumb_pattern *p, struct outcome *o)
{
	struct plumb_symbol **s = q->matches;

	qsort(s, q->n_matches, sizeof(*s), compare);
	for (size_t i = 0, next; i < q->n_matches; i = next) {
		for (next = i + 1; next < q->n_matches && !strcmp(s[i]->name, s[next]->name);
		     next++)
			;
		consider_name(q, p, s + i, next - i, o);
	}
}

/* The prefixes of other kinds of targets; no module has such a name. */
static bool is_prefix_of_others(const char *module)
{
	return !strcmp(module, "t") || !strcmp(module, "r") || !strcmp(module, "u") ||
	       !strcmp(module, "usdt");
}

/* What other tools write before a target, and what to write here; NULL: it is none of those. */
static const char *foreign_prefix(const char *module)
{
	static const char *const prefixes[][2] = {
		{"tracepoint", "a tracepoint is t:"}, {"rawtracepoint", "a raw tracepoint is r:"},
		{"kprobe", "a kernel function is "},  {"kretprobe", "a kernel function is "},
		{"kfunc", "a kernel function is "},   {"fentry", "a kernel function is "}};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strcmp(module, prefixes[i][0]))
			return prefixes[i][1];
	return NULL;
}

static int say_missing(struct search *q, const struct plumb_pattern *p)
{
	const char *instead = p->module ? foreign_prefix(p->module) : NULL;
	char suggestion[1024] = "";

	if (instead)
		return plumb_error(EINVAL, "%s: %s%s", p->text, instead, p->name);
	if (p->module && is_prefix_of_others(p->module))
		return plumb_error(EINVAL,
				   "%s: not a kernel function; func-count and func-stack take "
				   "t:, r: and u:",
				   p->text);
	if (!plumb_lists_have_module(&q->lists, p))
		return plumb_error(ENOENT,
				   "%s: module %s is not loaded (what is built in: vmlinux:%s)",
				   p->text, p->module, p->name);
	if (p->is_glob)
		return plumb_error(ENOENT, "no function name matches %s", p->text);
	plumb_lists_suggest_for_pattern(&q->lists, p, suggestion, sizeof(suggestion));
	return plumb_error(ENOENT, "no such function: %s%s%s", p->text, suggestion,
			   *suggestion ? "?" : "; if it was inlined, probe-check says so");
}

/* Prints why none of the pattern's matches can be traced. */
static int say_refused(const struct plumb_pattern *p, const struct outcome *o)
{
	if (p->is_glob)
		return plumb_error(ENOENT, "no function that can be traced matches %s", p->text);
	if (o->barred)
		return plumb_error(EINVAL, "%s is on the kernel's kprobe blacklist", p->text);
	return plumb_error(ENOENT, "%s is init code, which the kernel freed after boot", p->text);
}

/* Finds nothing by P's name: by the other names of it. */
static void match_renamed(struct search *q, struct plumb_pattern *p)
{
	const char *name = p->name, *other;

	for (size_t i = 0; !q->n_matches && (other = plumb_other_name(name, i)); i++) {
		p->name = other;
		p->literal = strlen(other);
		match(q, p, plumb_pattern_names);
	}
	if (q->n_matches)
		plumb_info("%s: its name on this kernel is %s", name, p->name);
	else
		p->name = name, p->literal = strlen(name);
}

static int find(struct search *q, const char *text)
{
	struct outcome o = {};
	struct plumb_pattern p;

	plumb_pattern_read(&p, text);
	match(q, &p, p.is_glob ? plumb_pattern_globs : plumb_pattern_names);
	if (!q->n_matches && !p.is_glob)
		match(q, &p, plumb_pattern_became);
	if (!q->n_matches && !p.is_glob)
		match(q, &p, plumb_pattern_left);
	if (!q->n_matches && !p.is_glob)
		match_renamed(q, &p);
	if (!q->n_matches)
		return say_missing(q, &p);
	consider_all(q, &p, &o);
	if (!o.taken)
		return say_refused(&p, &o);
	if (p.is_glob && o.changed)
		plumb_warn("%s: functions whose signature the compiler changed: %zu; their "
			   "arguments are not trusted",
			   text, o.changed);
	if (p.is_glob && o.shared_names)
		plumb_warn("%s: %zu names are shared by several functions; all are traced", text,
			   o.shared_names);
	return 0;
}

static int find_all(const char *const *patterns, size_t n, struct plumb_functions *found)
{
	struct search q = {.found = found};
	int err = plumb_lists_fill(&q.lists);

	if (err)
		return err;
	keep(&q.lists);
	q.matches = plumb_zeroed(q.lists.symbols.n, sizeof(*q.matches));
	for (size_t i = 0; !err && i < n; i++)
		err = find(&q, patterns[i]);
	free(q.matches);
	plumb_lists_empty(&q.lists);
	return err;
}

int plumb_functions_find(const char *const *patterns, size_t n, const char *btf_file,
			 struct plumb_functions *found)
{
	int err = 0;

	*found = (struct plumb_functions){};
	if (kept.is_found && n == 1 && !strcmp(patterns[0], kept.name))
		take_kept(found);
	else
		err = find_all(patterns, n, found);
	/* BTF is read after the lists have been freed, since it is as large. */
	if (!err)
		err = plumb_prototypes_read(found, btf_file);
	if (err)
		plumb_functions_free(found);
	plumb_modules_note(found);
	return err;
}
