/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arguments: the arguments of a target that a probe can read, with their types. */
#pragma once

#include "targets.h"
#include <jansson.h>

/*
 * "ssize_t vfs_read(struct file *file, ...)", "sched_switch(char prev_comm[16], ...)", or the
 * reason why they are not known; malloc'd.  NULL: no memory.
 */
char *arguments_text(struct targets *p, const struct target *target);

/*
 * Add "arguments", a list of {name, type}, and "returns", a type; for USDT add "places".  What is
 * not known is null.
 */
void arguments_json(struct targets *p, const struct target *target, json_t *to);
