/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* maps: what a process has mapped (/proc/PID/maps). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/* An area of its memory. */
struct plumb_vma {
	uint64_t start, end, offset;
	uint64_t device; /* major << 32 | minor; not always what stat() says (overlayfs, btrfs) */
	uint64_t inode;  /* 0: not of a file */
	bool is_code;    /* executable */
	bool is_deleted; /* no path leads to the file any more */
	char *path;      /* in the process's root directory; or "[stack]" and the like, or "" */
	const unsigned char *build_id; /* if the kernel has reported it */
	size_t build_id_size;          /* 0: it has not */
};

/*
 * Calls EACH for every line of a file in the format of /proc/PID/maps, until it does not return 0;
 * returns what it returned last.  Lines that are not in the format are left out.  The path is
 * EACH's to change, until it returns.
 */
int plumb_maps_read(FILE *f, int (*each)(void *context, struct plumb_vma *vma), void *context);

/* The same for process PID, in the order of addresses; -errno if its maps cannot be read. */
int plumb_maps_of(pid_t pid, int (*each)(void *context, struct plumb_vma *vma), void *context);

/* Cuts off what the kernel appends to the path of a deleted file; returns whether it was there. */
bool plumb_maps_cut_deleted(char *path);

/* The link that leads to the mapped file, also if it is deleted. */
#define PLUMB_MAP_FILE 80
const char *plumb_map_file(char link[PLUMB_MAP_FILE], pid_t pid, uint64_t start, uint64_t end);

/*
 * Opens the file of the area AREA of process PID, for its descriptor or -errno; or looks at it, for
 * 0 or -errno.  To follow that link takes CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN; without it the
 * path is used, if it still leads to the inode, else the result is -EPERM.
 */
int plumb_map_open(pid_t pid, const struct plumb_vma *area);
int plumb_map_stat(pid_t pid, const struct plumb_vma *area, struct stat *st);
