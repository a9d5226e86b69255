/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* syscall-fields: the keys of rows that are system calls. */
#ifndef PLUMB_SYSCALL_FIELDS_H
#define PLUMB_SYSCALL_FIELDS_H

#include <plumb/core/fields.h>

/* Keys: syscall, errno. */
extern const struct plumb_field plumb_syscall_fields[];
extern const size_t plumb_n_syscall_fields;

#endif
