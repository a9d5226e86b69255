/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Targets in programs and libraries. */
#include "targets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/user/userfuncs.h>

int targets_read_user(struct targets *p, const char *pattern)
{
	const struct target like = {.hooks = 1 << PLUMB_UPROBE, .n = 1, .taken = true};
	struct plumb_userfuncs found;
	int err = plumb_userfuncs_find(pattern + strlen("u:"), &found);

	for (size_t i = 0; !err && i < found.n; i++) {

		err = targets_add(p, USER_FUNCTION, &like, "u:%s:%s", found.path,
				  found.list[i].name);
	}
	plumb_userfuncs_free(&found);
	return err;
}

int targets_read_usdt(struct targets *p, const char *pattern)
{
	struct plumb_usdts *all = reallocarray(p->usdts, p->n_usdts + 1, sizeof(*all)), *found;
	int err;

	if (!all)
		return -ENOMEM;
	p->usdts = all;
	found = &all[p->n_usdts++];
	err = plumb_usdts_find(pattern + strlen("usdt:"), found);
	for (size_t i = 0; !err && i < found->n; i++) {
		const struct plumb_usdt *u = &found->list[i];
		struct target like = {
			.hooks = 1 << PLUMB_UPROBE, .n = u->n, .usdt = u, .taken = true};

		err = targets_add(p, USDT, &like, "usdt:%s:%s:%s", found->path, u->provider,
				  u->name);
	}
	return err;
}
