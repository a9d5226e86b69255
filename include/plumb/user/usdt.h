/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usdt: the USDT probes of a program or library (sys/sdt.h's notes in its section .note.stapsdt).
 *
 * TARGET is "FILE:PROVIDER:NAME", cut at its first colons; FILE is as in
 * userfuncs.h.  PROVIDER and NAME are names or globs.
 */
#pragma once

#include <plumb/user/userfuncs.h>

/*
 * As functions, sorted by their names, "PROVIDER:NAME", each with its places.  Returns 0 with at
 * least one, or -errno after a message with suggestions; FOUND is empty then.
 */
int plumb_usdts_find(const char *target, struct plumb_userfuncs *found);
/* The same of the open file FD, with PROBE, "PROVIDER:NAME"; SHOWN is its path, for messages. */
int plumb_usdts_find_in(int fd, const char *shown, const char *probe,
			struct plumb_userfuncs *found);
