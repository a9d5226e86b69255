/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Targets in programs and libraries. */
#include "targets.h"

#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/user/usdt.h>
#include <plumb/user/userfuncs.h>

int targets_read_user(struct targets *p, const char *pattern)
{
	const struct target like = {.hooks = 1 << PLUMB_UPROBE, .n = 1, .taken = true};
	struct plumb_userfuncs found;
	int err = plumb_userfuncs_find(pattern + strlen("u:"), &found);

	for (size_t i = 0; !err && i < found.n; i++)
		err = targets_add(p, USER_FUNCTION, &like, "u:%s:%s", found.path,
				  found.list[i].name);
	plumb_userfuncs_free(&found);
	return err;
}

int targets_read_usdt(struct targets *p, const char *pattern)
{
	struct plumb_userfuncs *found = plumb_append(p->usdts, p->n_usdts);
	int err = plumb_usdts_find(pattern + strlen("usdt:"), found);

	for (size_t i = 0; !err && i < found->n; i++) {
		const struct plumb_userfunc *u = &found->list[i];
		struct target like = {
			.hooks = 1 << PLUMB_UPROBE, .n = u->n_places, .usdt = u, .taken = true};

		err = targets_add(p, USDT, &like, "usdt:%s:%s", found->path, u->name);
	}
	return err;
}
