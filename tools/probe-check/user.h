/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* user: what becomes of a probe on a function or a USDT probe of a program or library. */
#ifndef USER_H
#define USER_H

#include <plumb/elf/userfuncs.h>

#include "verdict.h"

/* Judge each check of the kind, and pass over the others. */
void userfuncs_check(struct check *checks, size_t n);
void usdts_check(struct check *checks, size_t n);

/* The functions of this very name: 0, or -errno after saying what is wrong. */
int userfuncs_find(const char *file, const char *name, struct plumb_userfuncs *found);

#endif
