/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mappings: which processes map a file's code (/proc/PID/maps). */
#ifndef PLUMB_MAPPINGS_H
#define PLUMB_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct plumb_mapping {
	pid_t pid;
	uint64_t start, end, inode; /* of the first mapping of its code */
	const char *path;           /* in the process's root directory; without " (deleted)" */
};

/* Whether the processes have the same root directory and mount namespace. */
bool plumb_mappings_share_files(pid_t a, pid_t b);

/*
 * Calls EACH for each process of this mount namespace and root directory that maps code of a file
 * of this path, which may have been deleted: elsewhere the path may be another file's.  Once for
 * each file that the process maps.
 */
void plumb_mappings_of_path(const char *path,
			    void (*each)(void *context, const struct plumb_mapping *m),
			    void *context);

/* The same for process PID and a file whose last part is NAME or NAME.so... (binary.h). */
void plumb_mappings_of_name(pid_t pid, const char *name,
			    void (*each)(void *context, const struct plumb_mapping *m),
			    void *context);

/*
 * The same for process PID, or for each if it is 0, that maps code of a file with this inode, on
 * any device.
 */
void plumb_mappings_of_inode(pid_t pid, uint64_t inode,
			     void (*each)(void *context, const struct plumb_mapping *m),
			     void *context);

/* Opens the mapped file itself, whatever its path leads to now; negative: not possible. */
int plumb_mapping_open(const struct plumb_mapping *m);
int plumb_mapping_stat(const struct plumb_mapping *m, struct stat *st);

#endif
