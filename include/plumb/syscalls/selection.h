/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* selection: a set of system calls. */
#ifndef PLUMB_SELECTION_H
#define PLUMB_SELECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <plumb/bpf/syscall/syscall.h>

/* Selects the call NAME, as printed in rows, also "syscall_999"; 0, -ENOENT or -E2BIG. */
int plumb_syscall_select(struct syscall_config *config, const char *name);

/* Deselect calls without a file descriptor as first argument, or without a size as third. */
void plumb_syscall_narrow_fd(struct syscall_config *config);
void plumb_syscall_narrow_sized(struct syscall_config *config);
bool plumb_syscall_is_selected(const struct syscall_config *config, uint32_t nr);
bool plumb_syscall_none(const struct syscall_config *config);

/* Returns the count of selected numbers if all are native calls and at most MAX, else -1. */
int plumb_syscall_selected(const struct syscall_config *config, uint32_t *nrs, int max);

#endif
