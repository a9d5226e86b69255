/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* choice: which of a tool's mechanisms it uses. */
#ifndef PLUMB_CHOICE_H
#define PLUMB_CHOICE_H

struct plumb_session;

/*
 * Loads, calibrates and attaches the first mechanism that holds, or the one
 * that is asked for.  Returns 0 or -errno; what was refused, and why, stays in
 * the session.
 */
int plumb_mechanism_choose(struct plumb_session *s);

#endif
