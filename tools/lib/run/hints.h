/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hints: what may be behind a run that has recorded nothing. */
#ifndef HINTS_H
#define HINTS_H

#include <plumb/session/session.h>

/* At most one line on stderr for each filter that may be at fault. */
void plumb_hints_print(const struct plumb_session *s, const struct plumb_snapshot *total);

#endif
