/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arguments: what a probe on a target gets to see, with types. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "targets.h"
#include <jansson.h>

/*
 * "ssize_t vfs_read(struct file *file, ...)", "sched_switch(char prev_comm[16], ...)", or why
 * that is not known; malloc'd.  NULL: there is no memory.
 */
char *arguments_text(struct targets *p, const struct target *target);

/*
 * Adds "arguments", a list of {name, type}, and "returns", a type; of USDT "places".  What is
 * not known is null.
 */
void arguments_json(struct targets *p, const struct target *target, json_t *to);

#endif
