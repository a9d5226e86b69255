/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sole: a file that is replaced again and again is written by one tool only. */
#ifndef SOLE_H
#define SOLE_H

/*
 * Claims NAME in the folder, which is the PATH of OPTION, for as long as this process lives.  0; or
 * an error, if a tool of root or this user in this network namespace has claimed it, which is said.
 * A claim that fails otherwise is none.
 */
int sole_claim(const char *option, const char *path, int folder, const char *name);

#endif
