/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tracefs: the kernel's tracepoints as files.
 *
 * If it is not mounted, a detached mount is created, which has no path and disappears when its
 * descriptor is closed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Return a descriptor of the root of tracefs for openat(), which the caller closes, or -errno;
 * plumb_tracefs_open() prints a message then.
 */
int plumb_tracefs_open(void);
int plumb_tracefs_try(void);

/* Whether tracefs is where libbpf looks for it, and this process may not read it. */
bool plumb_tracefs_is_denied(void);
/* Says that a file of it cannot be read, since only root may enter it.  Returns -ERR. */
int plumb_tracefs_refused(int err);

/* The file PATH in it; NULL and errno. */
FILE *plumb_tracefs_file(int tracefs, const char *path);
/* Sets perf_event_attr.config of PERF_TYPE_TRACEPOINT; 0 or -errno. */
int plumb_tracefs_id(int tracefs, const char *category, const char *name, uint32_t *id);
