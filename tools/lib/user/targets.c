/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/user/probe-userfuncs.h>
#include <plumb/user/targets.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/core/text.h>
#include <plumb/functions/probe.h>

enum plumb_target_kind plumb_target_kind(const char *pattern)
{
	if (!strncmp(pattern, "t:", 2) || !strncmp(pattern, "r:", 2))
		return PLUMB_TARGET_TRACEPOINT;
	if (!strncmp(pattern, "u:", 2) || !strncmp(pattern, "usdt:", 5))
		return PLUMB_TARGET_USER;
	return PLUMB_TARGET_FUNCTION;
}

static bool is_usdt(const char *pattern)
{
	return !strncmp(pattern, "usdt:", 5);
}

/* Whether there is text on both sides of a colon and, with ONLY, no other colon. */
static bool is_pair(const char *text, bool only)
{
	const char *colon = strchr(text, ':');

	return colon && colon != text && colon[1] && !(only && strchr(colon + 1, ':'));
}

/* FILE:PROVIDER:NAME, none of them empty. */
static bool is_triple(const char *text)
{
	return is_pair(text, false) && is_pair(strchr(text, ':') + 1, true);
}

const char *plumb_target_flaw(const char *pattern)
{
	const char *colon = strrchr(pattern, ':');

	switch (plumb_target_kind(pattern)) {
	case PLUMB_TARGET_TRACEPOINT:
		if (*pattern == 'r')
			return pattern[2] && !strchr(pattern + 2, ':')
				       ? NULL
				       : "a raw tracepoint is r:NAME, as r:sched_switch";
		return is_pair(pattern + 2, true) ? NULL
						  : "a tracepoint is t:CATEGORY:NAME, as "
						    "t:sched:sched_switch";
	case PLUMB_TARGET_USER:
		if (is_usdt(pattern))
			return is_triple(pattern + 5) ? NULL
						      : "a USDT probe is usdt:FILE:PROVIDER:NAME, "
							"as usdt:libstdc++:libstdcxx:throw";
		return is_pair(pattern + 2, false) ? NULL
						   : "a user function is u:FILE:FUNCTION, as "
						     "u:libc.so.6:malloc";
	default:
		if (!strncmp(pattern, "s:", 2))
			return "system calls are t:syscalls:sys_enter_NAME here";
		if (strchr(pattern, '/'))
			return "a user function is u:FILE:FUNCTION, a USDT probe "
			       "usdt:FILE:PROVIDER:NAME";
		if (!strncmp(pattern, "k:", 2))
			pattern += 2;
		if (!*pattern || (colon && (colon == pattern || !colon[1])))
			return "a kernel function is NAME or MODULE:NAME";
		return NULL;
	}
}

/* --- tracepoints --- */

static bool has_tracepoint(const struct plumb_tracepoints *t, uint32_t id)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->list[i].id == id)
			return true;
	return false;
}

static int find_tracepoints(struct plumb_targets *found, int tracefs, const char *pattern)
{
	/* A raw tracepoint has no category. */
	char *whole = plumb_text("%s%s", *pattern == 'r' ? "*:" : "", pattern + 2);
	struct plumb_tracepoints more;
	int err = plumb_tracepoints_find(tracefs, whole, &more);

	free(whole);
	for (size_t i = 0; !err && i < more.n; i++) {
		if (has_tracepoint(&found->tracepoints, more.list[i].id))
			continue;
		*plumb_append(found->tracepoints.list, found->tracepoints.n) = more.list[i];
		more.list[i].category = more.list[i].name = NULL;
	}
	plumb_tracepoints_free(&more);
	return err;
}

/* --- user functions --- */

static struct plumb_userfuncs *find_file(struct plumb_targets *t, const struct plumb_userfuncs *u)
{
	for (size_t i = 0; i < t->n_files; i++)
		if (!strcmp(t->files[i].path, u->path) && t->files[i].is_usdt == u->is_usdt)
			return &t->files[i];
	return NULL;
}

/*
 * USDT probes and inlined functions are known by their names: an instruction can be a place of
 * several.  Among the first N.
 */
static bool has(const struct plumb_userfuncs *u, size_t n, const struct plumb_userfunc *one)
{
	for (size_t i = 0; i < n; i++)
		if (one->n_places || u->list[i].n_places ? !strcmp(u->list[i].name, one->name)
							 : u->list[i].offset == one->offset)
			return true;
	return false;
}

/* Moves the functions that ALL lacks from MORE to ALL. */
static void merge_userfuncs(struct plumb_userfuncs *all, struct plumb_userfuncs *more)
{
	const size_t before = all->n;

	all->is_go |= more->is_go;
	for (size_t i = 0; i < more->n; i++) {
		if (has(all, before, &more->list[i]))
			continue;
		*plumb_append(all->list, all->n) = more->list[i];
		more->list[i] = (struct plumb_userfunc){};
	}
}

/* Removes the functions that cannot be probed.  An error if none remains. */
static int drop_unprobed(struct plumb_userfuncs *u)
{
	const char *obstacle = NULL;
	size_t n = u->n;
	int err = 0;

	for (size_t i = 0; i < u->n; i++) {
		if (!u->list[i].obstacle)
			continue;
		obstacle = u->list[i].obstacle;
		plumb_info("%s in %s: %s", u->list[i].name, u->path, obstacle);
		u->list[i].is_unwanted = true;
		n--;
	}
	if (!n)
		err = plumb_error(EINVAL, "%s in %s: %s", u->list[0].name, u->path, obstacle);
	else if (n < u->n)
		plumb_warn("%zu of %zu functions in %s cannot be probed (-v says why)", u->n - n,
			   u->n, u->path);
	plumb_userfuncs_drop(u);
	return err;
}

int plumb_targets_add_userfuncs(struct plumb_targets *t, struct plumb_userfuncs *more)
{
	struct plumb_userfuncs *known = find_file(t, more);
	int err = drop_unprobed(more);
	size_t called = 0;

	for (size_t i = 0; i < more->n; i++)
		called += more->list[i].is_called;
	if (called)
		plumb_info("%zu of %zu functions in %s begin with a nop that this kernel replaces "
			   "by a call: their probes cost less",
			   called, more->n, more->path);
	if (!err && !known) {
		*plumb_append(t->files, t->n_files) = *more;
		return 0;
	}
	if (!err)
		merge_userfuncs(known, more);
	plumb_userfuncs_free(more);
	return err;
}

/* --- all --- */

/* Finds the functions of all patterns in one pass over the kernel's list. */
static int find_functions(struct plumb_targets *found, const char *const *patterns, size_t n,
			  const char *btf)
{
	const char **own = plumb_zeroed(n, sizeof(*own));
	size_t n_own = 0;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		if (plumb_target_kind(patterns[i]) == PLUMB_TARGET_FUNCTION)
			own[n_own++] = patterns[i];
	if (n_own)
		err = plumb_functions_find(own, n_own, btf, &found->functions);
	free(own);
	return err;
}

static int find_probe_points(struct plumb_targets *found, const char *const *patterns, size_t n)
{
	int tracefs = -1, err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		enum plumb_target_kind kind = plumb_target_kind(patterns[i]);

		if (kind == PLUMB_TARGET_TRACEPOINT && tracefs < 0)
			tracefs = plumb_tracefs_open();
		if (tracefs == -ENODEV)
			return -EOPNOTSUPP;
		if (kind == PLUMB_TARGET_TRACEPOINT)
			err = tracefs < 0 ? tracefs : find_tracepoints(found, tracefs, patterns[i]);
	}
	if (tracefs >= 0)
		close(tracefs);
	return err;
}

int plumb_targets_find(struct plumb_targets *found, const char *const *patterns, size_t n,
		       const char *btf)
{
	int err;

	*found = (struct plumb_targets){};
	err = find_functions(found, patterns, n, btf);
	if (!err)
		err = find_probe_points(found, patterns, n);
	err = err ?: plumb_targets_count(found);
	if (err)
		plumb_targets_free(found);
	return err;
}

static void count_stepped(struct plumb_targets *t)
{
	bool are_called = false;

	memset(t->stepped, 0, sizeof(t->stepped));
	for (size_t i = 0; i < t->n_files; i++)
		for (size_t j = 0; j < t->files[i].n; j++) {
			t->stepped[t->files[i].list[j].is_stepped]++;
			are_called |= t->files[i].list[j].is_called;
		}
	t->traced = !t->stepped[true] && !are_called ? NULL
		    : t->stepped[false]
			    ? "a traced call whose first instruction is emulated"
			    : "a traced call, whose first instruction is single-stepped";
}

int plumb_targets_count(struct plumb_targets *t)
{
	t->n = plumb_targets_first_of(t, t->n_files);
	count_stepped(t);
	if (t->n <= PLUMB_MAX_TARGETS)
		return 0;
	return plumb_error(E2BIG, "%zu targets, at most %d: narrow the glob, or trace in parts",
			   t->n, PLUMB_MAX_TARGETS);
}

void plumb_targets_free(struct plumb_targets *t)
{
	plumb_functions_free(&t->functions);
	plumb_tracepoints_free(&t->tracepoints);
	for (size_t i = 0; i < t->n_files; i++)
		plumb_userfuncs_free(&t->files[i]);
	free(t->files);
	*t = (struct plumb_targets){};
}

size_t plumb_targets_first_of(const struct plumb_targets *t, size_t file)
{
	size_t first = t->functions.n + t->tracepoints.n;

	for (size_t i = 0; i < file; i++)
		first += t->files[i].n;
	return first;
}

/* The file of target *I, a user function, which becomes its number in it. */
static size_t file_of(const struct plumb_targets *t, size_t *i)
{
	size_t file = 0;

	for (*i -= plumb_targets_first_of(t, 0); file < t->n_files && *i >= t->files[file].n;
	     file++)
		*i -= t->files[file].n;
	return file;
}

struct plumb_target plumb_targets_at(const struct plumb_targets *t, size_t i)
{
	size_t file;

	if (i < t->functions.n)
		return (struct plumb_target){PLUMB_TARGET_FUNCTION,
					     .function = &t->functions.all[i]};
	if (i - t->functions.n < t->tracepoints.n)
		return (struct plumb_target){PLUMB_TARGET_TRACEPOINT,
					     .tracepoint =
						     &t->tracepoints.list[i - t->functions.n]};
	file = file_of(t, &i);
	return (struct plumb_target){PLUMB_TARGET_USER, .userfunc = &t->files[file].list[i]};
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether no other file's path has the same last part. */
static bool is_named_by_last_part(const struct plumb_targets *t, size_t file)
{
	for (size_t i = 0; i < t->n_files; i++)
		if (i != file && strcmp(t->files[i].path, t->files[file].path) &&
		    !strcmp(last_part(t->files[i].path), last_part(t->files[file].path)))
			return false;
	return true;
}

static const char *name_userfunc(const struct plumb_targets *t, size_t i, bool whole, char *text,
				 size_t size)
{
	const size_t file = file_of(t, &i);
	char raw[4096];

	if (whole || !is_named_by_last_part(t, file))
		plumb_userfunc_name(&t->files[file], i, raw, sizeof(raw));
	else
		snprintf(raw, sizeof(raw), "%s:%s:%s", t->files[file].is_usdt ? "usdt" : "u",
			 last_part(t->files[file].path), t->files[file].list[i].name);
	plumb_escape(text, raw, size);
	return text;
}

const char *plumb_targets_name(const struct plumb_targets *t, size_t i, bool whole, char *text,
			       size_t size)
{
	const struct plumb_target target = plumb_targets_at(t, i);

	if (target.function)
		return plumb_probe_name(&t->functions, i, text, size);
	if (target.tracepoint)
		return plumb_tracepoint_name(target.tracepoint, text, size);
	return name_userfunc(t, i, whole, text, size);
}
