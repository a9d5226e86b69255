/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* usdt: check USDT probes of programs and libraries. */
#include "check/user.h"
#include "check/remains.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/user/usdt-arguments.h>
#include <plumb/user/usdt.h>

#if defined(__x86_64__)
#define NATIVE EM_X86_64
#else
#define NATIVE EM_AARCH64
#endif

/* Add the first argument of the probe that tools do not read. */
static void add_arguments(struct check *check, const struct plumb_userfuncs *found)
{
	struct plumb_usdt_argument list[PLUMB_USDT_ARGS];
	const int machine = user_is_32bit(found->path) ? EM_NONE : NATIVE;
	int n;

	for (size_t i = 0; i < found->list->n_places; i++) {
		n = plumb_usdt_arguments(found->list->places[i].arguments, machine, list);
		if (n < 0)
			check_add(check, "it has more than %d arguments", PLUMB_USDT_ARGS);
		for (int k = 0; k < n; k++) {
			if (!list[k].refused)
				continue;
			check_add(check, "argument %d (%.*s) is not read: %s", k,
				  (int)list[k].length, list[k].text, list[k].refused);
			return;
		}
	}
}

int usdt_find(const struct target *target, struct plumb_userfuncs *found)
{
	char name[4400];
	int err;

	snprintf(name, sizeof(name), "%s:%s", target->file, target->name);
	err = plumb_usdts_find(name, found);
	if (!err)
		user_refuse_nops(found);
	return err;
}

static void check_usdt(struct check *check)
{
	struct plumb_userfuncs found;
	bool guarded = false;
	char words[1024];
	size_t places;
	int err;

	plumb_divert(words, sizeof(words));
	err = usdt_find(&check->target, &found);
	plumb_divert(NULL, 0);
	if (err) {
		check_judge(check, err == -ENOENT ? VERDICT_GONE : VERDICT_UNKNOWN, "%s",
			    *words ? words : strerror(-err));
		return;
	}
	places = found.list->n_places;
	for (size_t i = 0; i < places; i++)
		guarded |= found.list->places[i].semaphore != 0;
	if (found.list->obstacle)
		check_judge(check, VERDICT_REFUSED, "%s", found.list->obstacle);
	else
		check_judge(check, VERDICT_OK, "at %zu place%s in the code%s", places,
			    plural(places),
			    guarded ? "; it fires only while its semaphore is raised, as tracers "
				      "that know of USDT do"
				    : "");
	add_arguments(check, &found);
	plumb_userfuncs_free(&found);
}

void usdts_check(struct check *checks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (checks[i].target.kind == TARGET_USDT)
			check_usdt(&checks[i]);
}
