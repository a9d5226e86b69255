/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "user-func.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/user/user-files.h>

static bool is_at_returns(void)
{
	return user_func.use.purpose == PLUMB_USER_RETURNS;
}

/* Whether return instructions are probed, or returns; returns which. */
static bool set_returns(bool at_returns)
{
	user_func.use.purpose = at_returns ? PLUMB_USER_RETURNS : PLUMB_USER_CALLS;
	return at_returns;
}

int user_targets_refuse(void)
{
	return plumb_error(EINVAL,
			   "--mechanism=%s: %s (uprobe.multi.returns and uprobe.returns do not)",
			   user_func.options->mechanism, user_func.fragile);
}

/* An error if the mechanism that was asked for would break the program; a warning if it might. */
static int check_mechanism(bool is_defect)
{
	if (is_at_returns())
		return 0;
	if (user_func.broken)
		return user_targets_refuse();
	if (is_defect)
		plumb_warn("--mechanism=%s: %s", user_func.options->mechanism, user_func.fragile);
	else if (user_func.fragile)
		user_func.asks = set_returns(true);
	return 0;
}

/* Whether the options apply to calls of goroutines; 0, or -errno after a message. */
static int check_go_options(const struct plumb_options *o)
{
	const char *moves = "a goroutine goes on in other threads during a call";

	if (o->mechanism && !user_func_is_at_returns(o->mechanism))
		return plumb_error(EINVAL, "--mechanism=%s: %s", o->mechanism,
				   USER_FUNC_GO_STACKS_MOVE);
	if (user_func.on_cpu || o->split)
		return plumb_error(EINVAL, "--%s: %s, so their time is not its own",
				   o->split ? "split" : "cpu", moves);
	if (o->n_tids)
		return plumb_error(EINVAL, "--tid: %s", moves);
	if (user_func.errors)
		return plumb_error(EINVAL, "--errors, errno: Go functions do not return errors as "
					   "numbers");
	return 0;
}

int user_targets_look(void)
{
	const struct plumb_options *o = user_func.options;
	const struct plumb_user_file *files = plumb_user_files.list;
	const char *defect = NULL;
	int err = 0;

	for (size_t i = 0; i < plumb_user_files.n && !err; i++) {
		const struct plumb_return_danger *danger = &files[i].danger;

		user_func.broken = danger->certain ?: user_func.broken;
		user_func.fragile = danger->possible ?: user_func.fragile;
		defect = danger->of_kernel ?: defect;
		if (i && danger->is_go != user_func.go)
			err = plumb_error(EINVAL,
					  "%s is a Go program, %s is not: trace them separately",
					  files[danger->is_go ? i : 0].shown,
					  files[danger->is_go ? 0 : i].shown);
		user_func.go = danger->is_go;
	}
	user_func.fragile = user_func.broken ?: user_func.fragile ?: defect;
	set_returns(o->mechanism ? user_func_is_at_returns(o->mechanism)
				 : user_func.fragile || user_func.go);
	if (user_func.go)
		user_func.use.also = "runtime.goexit1";
	if (!err && o->mechanism && !user_func.go)
		err = check_mechanism(user_func.fragile && user_func.fragile == defect);
	return !err && user_func.go ? check_go_options(o) : err;
}

static bool ends_in(const char *name, const char *end)
{
	size_t length = strlen(name), n = strlen(end);

	return length >= n && !strcmp(name + length - n, end);
}

/* Why the function of a Go program cannot be timed, as far as its returns can; NULL: it can. */
static const char *go_obstacle(const struct plumb_userfuncs *u, const struct plumb_userfunc *one)
{
	if (!u->has_go_registers)
		return "built by a Go before 1.18, or for 32 bits: its goroutines are not in a "
		       "register (func-count counts calls)";
	/* Names of Go have a package; the others in its files are of C or assembly. */
	if (ends_in(one->name, ".abi0") || !strchr(one->name, '.'))
		return "not compiled by Go: its goroutine is not known (func-count counts calls)";
	return NULL;
}

/* Why the returns of a function cannot be probed; NULL: they can. */
static const char *return_obstacle(const struct plumb_userfuncs *u,
				   const struct plumb_userfunc *one)
{
	const char *obstacle = u->is_go ? go_obstacle(u, one) : NULL;

	if (obstacle)
		return obstacle;
	if (!one->return_obstacle && is_at_returns() && !one->n_returns)
		return "its return instructions are not known";
	return one->return_obstacle;
}

/* Why none of the functions can be timed; -EAGAIN: by their return instructions, perhaps. */
static int refuse(const struct plumb_userfuncs *u, const char *obstacle)
{
	static char why[512];
	static const char *first;
	const bool is_chosen = !user_func.options->mechanism;

	/* Not for builds that are found later. */
	if (!user_func.targets.n && is_chosen && !user_func.fragile) {
		snprintf(why, sizeof(why), "%s in %s: %s", u->list[0].name, u->path, obstacle);
		user_func.fragile = user_func.broken = why;
		first = obstacle;
		set_returns(true);
		return -EAGAIN;
	}
	if (user_func.fragile == why && obstacle != first)
		return plumb_error(EINVAL, "%s; %s", why, obstacle);
	if (user_func.fragile && !user_func.broken && is_chosen)
		return plumb_error(EINVAL,
				   "%s in %s: %s (--mechanism=uprobe probes its return, but %s)",
				   u->list[0].name, u->path, obstacle, user_func.fragile);
	return plumb_error(EINVAL, "%s in %s: %s", u->list[0].name, u->path, obstacle);
}

/* Functions without a return are unwanted.  An error if all are. */
static int check_returns(struct plumb_userfuncs *u)
{
	const char *obstacle;
	size_t n = u->n;

	for (size_t i = 0; i < u->n; i++) {
		obstacle = return_obstacle(u, &u->list[i]);
		if (!obstacle)
			continue;
		if (user_func.asks) {
			plumb_warn("--mechanism=%s: %s", user_func.options->mechanism,
				   user_func.fragile);
			user_func.asks = set_returns(false);
			return -EAGAIN;
		}
		plumb_info("%s in %s: %s", u->list[i].name, u->path, obstacle);
		u->list[i].is_unwanted = true;
		n--;
	}
	if (!n)
		return refuse(u, return_obstacle(u, &u->list[0]));
	if (n < u->n)
		plumb_warn("%zu of %zu functions in %s have no return that can be probed (-v says "
			   "why)",
			   u->n - n, u->n, u->path);
	return 0;
}

static void warn_of_cancellation(const struct plumb_userfuncs *u)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->list[i].return_caveat && !u->list[i].is_unwanted) {
			plumb_warn("%s in %s: %s; with --mechanism=uprobe.multi.returns they do",
				   u->list[i].name, u->path, u->list[i].return_caveat);
			return;
		}
}

int user_targets_check(struct plumb_userfuncs *found)
{
	int err;

	if (found->is_go != user_func.go)
		return plumb_error(EINVAL, "%s was replaced by a program of another language",
				   found->path);
	if (found->is_32bit && user_func.arg.position != PLUMB_NO_ARG)
		return plumb_error(EINVAL,
				   "%s is a 32-bit file: its arguments are on the stack, "
				   "which is not read",
				   found->path);
	err = check_returns(found);
	if (!err)
		warn_of_cancellation(found);
	return err;
}
