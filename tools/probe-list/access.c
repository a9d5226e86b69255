/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "access.h"

#include <stdio.h>
#include <plumb/core/log.h>
#include <plumb/user/hook-try.h>

static struct access all[16];
static size_t n;

const struct access *access_of(enum plumb_hook hook)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].hook == hook)
			return &all[i];
	return NULL;
}

static void try(enum plumb_hook hook, int tracefs)
{
	struct access *a = &all[n];

	*a = (struct access){.hook = hook};
	if (hook == PLUMB_TRACEPOINT && tracefs < 0)
		snprintf(a->why, sizeof(a->why), "tracefs, which has their numbers, cannot be had");
	else
		a->open = !plumb_hook_try(hook, a->why, sizeof(a->why));
	n++;
}

void access_try(unsigned int wanted, int tracefs)
{
	for (enum kind k = 0; k < KINDS; k++)
		for (const enum plumb_hook *h = kinds[k].hooks; wanted >> k & 1 && *h; h++)
			if (!access_of(*h))
				try(*h, tracefs);
}

void access_say_closed(void)
{
	for (const struct access *a = all; a < all + n; a++)
		if (!a->open)
			plumb_warn("%s refused: %s", plumb_hook_name(a->hook), a->why);
}
