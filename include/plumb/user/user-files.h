/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * user-files: the files that targets name, opened.  All that is read of a file, and each probe, is
 * of its descriptor: its path may lead to another file by then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <plumb/bpf/core/config.h>

struct plumb_user_pattern;
struct plumb_vma;

#define PLUMB_MAX_USER_FILES (2 * PLUMB_MAX_LIST)
_Static_assert(PLUMB_MAX_LIST <= 64, "a bit for each pattern");

/*
 * Of a file's functions: they are left, or gone on from, in ways that return probes do not survive
 * (return-danger.h).
 */
struct plumb_return_danger {
	bool is_go; /* of a Go program, whose stacks move; the others are not looked for */
	const char *certain, *possible; /* the reasons; NULL: none */
	const char *of_kernel;          /* if there is none: one of this kernel's; NULL: none */
};

struct plumb_user_file {
	uint64_t patterns; /* those that mean it, a bit each: all of functions, or all of USDT */
	const char *typed; /* FILE of the first of them */
	char *shown;       /* its path; below /proc/PID/root, if it is in another mount namespace */
	int fd;
	bool is_usdt;
	bool is_mapped; /* found in the mappings of a process: SHOWN is not the path of a name */
	bool of_host;   /* TYPED names a file of this process's root directory */
	struct stat st;
	struct plumb_return_danger danger; /* if calls are probed, not entries only */
};

/* The files that are opened. */
struct plumb_user_files {
	struct plumb_user_file list[PLUMB_MAX_USER_FILES];
	size_t n;
};

extern struct plumb_user_files plumb_user_files;

/*
 * Opens the file of a pattern, which has this number: a path or a name (binary.h).  If processes
 * are selected, N of them, a name is that of a file that one of them has mapped, and an absolute
 * path is one in its root directory, which symbolic links do not lead out of.  A file is kept once,
 * and once more for its USDT probes.  Returns 0, or -errno after a message.
 */
int plumb_user_files_open(const struct plumb_user_pattern *pattern, size_t number,
			  const uint32_t *pids, size_t n);

/* Opens what the path of a file of the host leads to now; its descriptor, or -errno. */
int plumb_user_file_reopen(struct plumb_user_file *f, struct stat *st);

/*
 * Whether the file ST that process PID maps may be traced in place of file number FILE: it has the
 * owner of the named file, which is the user's choice, or one of the process's.  If not, after a
 * message.
 */
bool plumb_user_file_may_be(size_t file, pid_t pid, const struct plumb_vma *area,
			    const struct stat *st);
