/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/user/user-targets.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/user/ifunc.h>
#include <plumb/user/return-danger.h>
#include <plumb/user/targets.h>
#include <plumb/user/uprobe-defects.h>
#include <plumb/user/usdt.h>

void plumb_user_pattern_parse(const char *text, struct plumb_user_pattern *p)
{
	p->is_usdt = !strncmp(text, "usdt:", 5);
	p->file = plumb_copied(strchr(text, ':') + 1);
	p->name = strchr(p->file, ':');
	*p->name++ = 0;
}

void plumb_user_pattern_take(const char *text, const char *prefix, struct plumb_user_pattern *p)
{
	const bool has_prefix = !strncmp(text, prefix, strlen(prefix));
	char *target = plumb_text("%s%s", has_prefix ? "" : prefix, text);

	if (plumb_target_flaw(target))
		plumb_usage_error("%s: %s", plumb_target_flaw(target), text);
	plumb_user_pattern_parse(target, p);
	free(target);
}

/* The function that the process calls by the name of an ifunc; -ENODATA: it is none. */
static int find_ifunc(const struct plumb_user_file *f, const struct plumb_user_pattern *p,
		      pid_t pid, bool returns, struct plumb_userfuncs *found)
{
	if (!pid || p->is_usdt || strpbrk(p->name, "*?[+"))
		return -ENODATA;
	return plumb_ifunc_resolve(pid, f->fd, f->shown, p->name, returns, found);
}

/* --- inlined calls --- */

/* The inlined calls of what a pattern means, and how many of them were added to functions. */
struct inlined {
	struct plumb_userfuncs calls;
	struct plumb_inlined facts;
	size_t added;
};

static bool is_name(const struct plumb_user_pattern *p)
{
	return !strpbrk(p->name, "*?[");
}

static int find_inlined(int fd, const char *shown, const struct plumb_user_pattern *p,
			struct inlined *in)
{
	size_t n;
	int err;

	*in = (struct inlined){};
	/* An offset is in the function itself, and a version is that of a symbol. */
	if (strpbrk(p->name, "+@"))
		return 0;
	err = plumb_userfuncs_inlined(fd, shown, p->name, &in->calls, &in->facts);
	/* Of those that cannot be probed no call is seen. */
	n = in->calls.n;
	for (size_t i = 0; i < n; i++)
		in->calls.list[i].is_unwanted = in->calls.list[i].obstacle;
	plumb_userfuncs_drop(&in->calls);
	in->facts.lost += n - in->calls.n;
	return err;
}

/* Adds a place besides the function's own, or its own. */
static void add_place(struct plumb_userfunc *u, uint64_t offset)
{
	if (!u->n_places)
		*plumb_append(u->places, u->n_places) =
			(struct plumb_usdt_place){.offset = u->offset};
	if (offset != u->offset)
		*plumb_append(u->places, u->n_places) = (struct plumb_usdt_place){.offset = offset};
}

/* The function of that name, or the only one that a name means. */
static struct plumb_userfunc *function_of(struct plumb_userfuncs *all,
					  const struct plumb_user_pattern *p, const char *name)
{
	if (all->n == 1 && is_name(p))
		return all->list;
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->list[i].name, name))
			return &all->list[i];
	return NULL;
}

/*
 * Adds inlined calls as places of their functions, and the functions of which only such calls are
 * known.  A glob means only functions with a symbol.
 */
static void add_inlined(struct plumb_userfuncs *all, const struct plumb_user_pattern *p,
			struct inlined *in)
{
	for (size_t i = 0; i < in->calls.n; i++) {
		struct plumb_userfunc *call = &in->calls.list[i],
				      *u = function_of(all, p, call->name);

		if (!u && !is_name(p))
			continue;
		if (!u) {
			u = plumb_append(all->list, all->n);
			*u = *call;
			call->name = NULL; /* taken */
		}
		in->added++;
		add_place(u, call->offset);
		u->is_stepped |= call->is_stepped;
	}
}

/* Warns of clones that calls may enter.  A part is entered from an inlined call. */
static void mention_clones(int fd, const char *shown, const char *name,
			   enum plumb_user_purpose purpose)
{
	struct plumb_userfuncs clones;
	char words[256], *glob = plumb_text("%s.*", name);
	int err;

	plumb_divert(words, sizeof(words));
	err = plumb_userfuncs_find_in(fd, shown, glob, false, &clones);
	plumb_divert(NULL, 0);
	free(glob);
	for (size_t i = 0; !err && i < clones.n; i++)
		if (purpose != PLUMB_USER_ENTRIES || !strstr(clones.list[i].name, ".part."))
			plumb_warn("%s in %s: calls may enter %s: name it, too", name, shown,
				   clones.list[i].name);
	plumb_userfuncs_free(&clones);
}

/* Finds functions with a symbol; there may be none if the name is that of inlined calls. */
static int find_functions(int fd, const char *shown, const struct plumb_user_pattern *p,
			  enum plumb_user_purpose purpose, const struct inlined *in,
			  struct plumb_userfuncs *found)
{
	const size_t inlined = in->calls.n + in->facts.lost;
	const bool returns = purpose == PLUMB_USER_RETURNS, needed = !inlined || !is_name(p);
	char words[1024] = "";
	int err;

	if (!needed)
		plumb_divert(words, sizeof(words));
	err = plumb_userfuncs_find_in(fd, shown, p->name, returns, found);
	plumb_divert(NULL, 0);
	if (err && *words && err != -ENOENT)
		return plumb_error(-err, "%s", words);
	if (!err && *words)
		plumb_warn("%s", words);
	if (err != -ENOENT || needed)
		return err;
	mention_clones(fd, shown, p->name, purpose);
	if (purpose != PLUMB_USER_ENTRIES)
		return plumb_error(ENOENT,
				   "%s in %s: all calls are inlined, at %zu places, which cannot "
				   "be timed (func-count counts them)",
				   p->name, shown, inlined);
	if (!in->calls.n)
		return plumb_error(ENOENT,
				   "%s in %s: all calls are inlined, at %zu places, none of which "
				   "can be probed",
				   p->name, shown, inlined);
	found->path = plumb_copied(shown);
	return 0;
}

static int find_all(int fd, const char *shown, const struct plumb_user_pattern *p,
		    enum plumb_user_purpose purpose, struct inlined *in,
		    struct plumb_userfuncs *found)
{
	int err = find_inlined(fd, shown, p, in);

	*found = (struct plumb_userfuncs){};
	if (!err)
		err = find_functions(fd, shown, p, purpose, in, found);
	if (!err && purpose == PLUMB_USER_ENTRIES)
		add_inlined(found, p, in);
	if (err)
		plumb_userfuncs_free(found);
	return err;
}

static void say(const struct plumb_user_pattern *p, const char *shown,
		enum plumb_user_purpose purpose, const struct inlined *in)
{
	char lost[80] = "";

	if (in->facts.lost)
		snprintf(lost, sizeof(lost), "; %zu more begin at no place that can be probed",
			 in->facts.lost);
	if (purpose == PLUMB_USER_ENTRIES && in->added)
		plumb_warn("%s in %s: also counted at %zu inlined places%s", p->name, shown,
			   in->added, lost);
	else if (purpose != PLUMB_USER_ENTRIES && in->calls.n)
		plumb_warn("%s in %s is also inlined at %zu places, which are not timed", p->name,
			   shown, in->calls.n);
	else if (in->facts.lost && is_name(p))
		plumb_warn("%s in %s: %zu inlined calls are not traced", p->name, shown,
			   in->facts.lost);
}

/* --- all --- */

static void check_returns(int fd, struct plumb_userfuncs *found)
{
	plumb_userfuncs_check_returns(fd, found);
	plumb_find_cancellation_points(found);
}

static int find_in(int fd, const char *shown, const struct plumb_user_pattern *p,
		   enum plumb_user_purpose purpose, bool is_first, struct plumb_userfuncs *found)
{
	struct inlined in;
	int err;

	if (p->is_usdt) {
		err = plumb_usdts_find_in(fd, shown, p->name, found);
	} else {
		err = find_all(fd, shown, p, purpose, &in, found);
		if (!err && is_first)
			say(p, shown, purpose, &in);
		plumb_userfuncs_free(&in.calls);
	}
	if (!err)
		plumb_uprobe_refuse_nops(fd, found);
	if (!err && purpose == PLUMB_USER_CALLS)
		check_returns(fd, found);
	return err;
}

int plumb_user_target_find_in(int fd, const char *shown, const struct plumb_user_pattern *p,
			      enum plumb_user_purpose purpose, struct plumb_userfuncs *found)
{
	return find_in(fd, shown, p, purpose, false, found);
}

int plumb_user_target_find(const struct plumb_user_file *f, const struct plumb_user_pattern *p,
			   pid_t pid, enum plumb_user_purpose purpose,
			   struct plumb_userfuncs *found)
{
	int err = find_ifunc(f, p, pid, purpose == PLUMB_USER_RETURNS, found);

	if (err == -ENODATA)
		return find_in(f->fd, f->shown, p, purpose, true, found);
	if (!err && purpose == PLUMB_USER_CALLS)
		check_returns(f->fd, found);
	return err;
}
