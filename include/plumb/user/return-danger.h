/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* return-danger: how return probes may end the programs whose functions have them. */
#pragma once

#include <plumb/core/options.h>
#include <plumb/user/user-files.h>
#include <plumb/user/userfuncs.h>

/*
 * Sets the file's danger; looks also at what the processes that are traced have loaded beside it.
 * Returns 0, or -errno after a message.
 */
int plumb_return_danger(struct plumb_user_file *f, const struct plumb_options *o);

/*
 * Sets the caveat of functions of the C library in which threads are cancelled while they wait
 * (pthreads(7)).  The unwinding of a cancellation ends at a return probe.
 */
void plumb_find_cancellation_points(struct plumb_userfuncs *found);
