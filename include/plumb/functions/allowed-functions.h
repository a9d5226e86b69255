/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* allowed functions: guard/allowed.h for kernel functions and tracepoints. */
#pragma once

#include <stddef.h>
#include <plumb/functions/functions.h>
#include <plumb/functions/tracepoints.h>

int plumb_allowed_functions(const struct plumb_functions *f, char *what, size_t size);
/* Also as r:NAME, and those of a system call as s:NAME. */
int plumb_allowed_tracepoints(const struct plumb_tracepoints *t, char *what, size_t size);
