/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* go: what is particular to Go programs, whose calls are those of goroutines. */
#ifndef USER_FUNC_GO_H
#define USER_FUNC_GO_H

#include <plumb/core/tool.h>
#include <plumb/functions/probe.h>
#include <plumb/user/userfuncs.h>

/* Whether the options apply to calls of goroutines; 0, or -errno after a message. */
int user_go_check_options(const struct plumb_options *o);

/* Why the function of a Go program cannot be timed, as far as its returns can; NULL: it can. */
const char *user_go_obstacle(const struct plumb_userfuncs *u, const struct plumb_userfunc *one);

/*
 * Attaches to where goroutines of the file FD, that of FUNCTIONS, end: calls that they are inside
 * then do not return.  Returns 0 or -errno, after a message if the place is not found.
 */
int user_go_attach_end(const struct plumb_bpf *bpf, struct plumb_probes *probes, int fd,
		       const struct plumb_userfuncs *functions, char *what, size_t size);

#endif
