/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hints: possible causes of a run that recorded nothing. */
#ifndef HINTS_H
#define HINTS_H

#include <plumb/session/session.h>

/*
 * If nothing was recorded, prints a line on stderr for each name or option that may be the cause.
 */
void plumb_hints_print(const struct plumb_session *s, const struct plumb_snapshot *total);

#endif
