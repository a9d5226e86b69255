/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* keeps: what a run still needs after it is attached, of capabilities and system calls. */
#ifndef PLUMB_KEEPS_H
#define PLUMB_KEEPS_H

struct plumb_run;

/* Gives up everything else; what the libraries keep for themselves has been told by plumb_retain().
 * 0, or -errno after a message. */
int plumb_keeps_confine(struct plumb_run *run);

#endif
