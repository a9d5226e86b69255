/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sole: a file that is replaced again and again is written by one tool only. */
#ifndef SOLE_H
#define SOLE_H

/*
 * Claims NAME in the folder for as long as this process lives.  0; or the pid of the tool that has
 * claimed it, of root or this user, in this network namespace.  A claim that fails otherwise is
 * none.
 */
int sole_claim(int folder, const char *name);

#endif
