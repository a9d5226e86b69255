/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plan/refusals.h"

#include <string.h>
#include <plumb/user/hook-try.h>

#define FUNCTIONS (1U << TARGET_FUNCTION)
#define RAW       (1U << TARGET_RAW_TRACEPOINT)
#define EVENTS    (1U << TARGET_TRACEPOINT | 1U << TARGET_SYSCALL)
#define PROGRAMS  (1U << TARGET_USER | 1U << TARGET_USDT)

/* Hooks, and the kinds of targets whose verdicts name them; 0: only tools' mechanisms use it. */
static const struct {
	enum plumb_hook hook;
	unsigned int kinds;
} hooks[] = {
	{PLUMB_FSESSION, 0},        {PLUMB_FENTRY, FUNCTIONS}, {PLUMB_KPROBE_SESSION, 0},
	{PLUMB_KPROBE_MULTI, 0},    {PLUMB_KPROBE, FUNCTIONS}, {PLUMB_RAW_TRACEPOINT, EVENTS | RAW},
	{PLUMB_TRACEPOINT, EVENTS}, {PLUMB_UPROBE, PROGRAMS},
};
_Static_assert(sizeof(hooks) / sizeof(hooks[0]) ==
		       sizeof(((struct refusals *)NULL)->list) / sizeof(struct refusal),
	       "each may be refused");

void refusals_find(struct refusals *r, unsigned int kinds, bool all)
{
	*r = (struct refusals){.tried = true};
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		struct refusal *one = &r->list[r->n];

		if (!all && !(hooks[i].kinds & kinds))
			continue;
		one->mechanism = plumb_hook_name(hooks[i].hook);
		one->kinds = hooks[i].kinds;
		r->n += plumb_hook_try(hooks[i].hook, one->why, sizeof(one->why)) != 0;
	}
}

bool refusals_have_all(const struct refusals *r, enum target_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		n += hooks[i].kinds >> kind & 1;
	for (size_t i = 0; i < r->n; i++)
		n -= r->list[i].kinds >> kind & 1;
	return !n;
}

bool refusals_have(const struct refusals *r, const char *mechanism, size_t length)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strncmp(r->list[i].mechanism, mechanism, length) &&
		    !r->list[i].mechanism[length])
			return true;
	return false;
}
