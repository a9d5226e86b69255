/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mappings: which processes map a file's code (/proc/PID/maps). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <plumb/symbols/maps.h>

/* Called with the first mapping of the file's code in process PID. */
typedef void plumb_mapping_visitor(void *context, pid_t pid, const struct plumb_vma *area);

/* Which files are meant, by those of these that are set. */
struct plumb_mapped {
	const char *path; /* may be deleted; only processes that share files with this one */
	const char *name; /* the last part of the path is NAME or NAME.so... (binary.h) */
	uint64_t inode;   /* on any device */
};

/* Whether the processes have the same root directory and mount namespace. */
bool plumb_mappings_share_files(pid_t a, pid_t b);

/*
 * Calls EACH for process PID, or for each process if it is 0, that maps code of such a file, once
 * for each file that the process maps.
 */
void plumb_mappings_find(pid_t pid, const struct plumb_mapped *what, plumb_mapping_visitor *each,
			 void *context);
