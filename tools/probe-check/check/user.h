/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* user: check user functions and USDT probes of programs and libraries. */
#pragma once

#include <plumb/user/userfuncs.h>

#include "plan/verdict.h"

/* Set the verdicts of the checks of one kind, and skip the others. */
void userfuncs_check(struct check *checks, size_t n);
void usdts_check(struct check *checks, size_t n);

/* The kernel accepts probes on 32-bit code, but programs have to read arguments differently. */
bool user_is_32bit(const char *path);

/* Set the obstacle of what this kernel's probes would damage (uprobe-defects.h). */
void user_refuse_nops(struct plumb_userfuncs *found);

/*
 * Find the functions with exactly this name, which is no glob, and the places OFFSET bytes in them.
 * 0, or -errno after a message.
 */
int userfuncs_find(const char *file, const char *name, uint64_t offset,
		   struct plumb_userfuncs *found);
/* The same for a USDT probe, which is one. */
int usdt_find(const struct target *target, struct plumb_userfuncs *found);
