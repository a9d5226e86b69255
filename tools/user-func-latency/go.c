/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "go.h"

#include <errno.h>
#include <string.h>
#include <plumb/core/log.h>

#include "mechanisms.h"

int user_go_check_options(const struct plumb_options *o)
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

static bool ends_in(const char *name, const char *end)
{
	size_t length = strlen(name), n = strlen(end);

	return length >= n && !strcmp(name + length - n, end);
}

const char *user_go_obstacle(const struct plumb_userfuncs *u, const struct plumb_userfunc *one)
{
	if (!u->has_go_registers)
		return "built by a Go before 1.18, or for 32 bits: its goroutines are not in a "
		       "register (func-count counts calls)";
	/* Names of Go have a package; the others in its files are of C or assembly. */
	if (ends_in(one->name, ".abi0") || !strchr(one->name, '.'))
		return "not compiled by Go: its goroutine is not known (func-count counts calls)";
	return NULL;
}

int user_go_attach_end(const struct plumb_bpf *bpf, struct plumb_probes *probes, int fd,
		       const struct plumb_userfuncs *functions, char *what, size_t size)
{
	struct plumb_userfuncs found, opened;
	int err = plumb_userfuncs_find_in(fd, functions->shown, "runtime.goexit1", false, &found);

	if (err)
		return err;
	opened = found;
	opened.path = functions->path;
	opened.shown = functions->shown;
	err = user_func_attach_go_end(bpf, probes, &opened, what, size);
	plumb_userfuncs_free(&found);
	return err;
}
