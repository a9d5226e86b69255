/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* access: which kinds of hooks this kernel lets us have, and why not the others. */
#ifndef ACCESS_H
#define ACCESS_H

#include "targets.h"

struct access {
	enum plumb_hook hook;
	bool open;
	char why[160]; /* it is not */
};

/* Tries the hooks of these kinds; TRACEFS -1: there is none, which is why events are closed. */
void access_try(unsigned int wanted, int tracefs);

/* Of each that is closed, why. */
void access_say_closed(void);

/* What was found; NULL: it was not tried. */
const struct access *access_of(enum plumb_hook hook);

#endif
