/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ifunc: the function that a running process calls by the name of an ifunc (STT_GNU_IFUNC), such as
 * memcpy.
 */
#pragma once

#include <sys/types.h>
#include <plumb/user/userfuncs.h>

/*
 * Finds the implementation of FUNCTION[@VERSION], not a glob, of the open file FD, whose path is
 * SHOWN, in the relocated addresses of process PID: those of all files that it maps, and the
 * library's own for the ifunc.  Usually that is one function; each has FUNCTION as its name and the
 * names of its symbols, if there are any, as `aliases`.  RETURNS: also find `returns`, or the
 * obstacle to that.
 *
 * Returns 0 with at least one; -ENODATA without a message if FUNCTION is no ifunc of the file; or
 * another -errno after a message.  FOUND is empty then; otherwise plumb_userfuncs_free() frees it.
 */
int plumb_ifunc_resolve(pid_t pid, int fd, const char *shown, const char *function, bool returns,
			struct plumb_userfuncs *found);
