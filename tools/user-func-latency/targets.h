/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* targets: the functions that can be timed, by their files and by their returns. */
#ifndef USER_FUNC_TARGETS_H
#define USER_FUNC_TARGETS_H

#include <plumb/user/userfuncs.h>

/*
 * Sets in user_func whether the opened files are Go programs, whether exceptions may leave their
 * functions, and whether return instructions are probed.  Returns 0, or -errno after a message: the
 * options, or the files, do not go together.
 */
int user_targets_look(void);

/* An error of the mechanism that was asked for; others would not end the program. */
int user_targets_refuse(void);

/* struct plumb_builds_use.check: removes functions without a return; an error if none remains. */
int user_targets_check(struct plumb_userfuncs *found);

#endif
