/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * builds: the files that are traced.  An upgrade replaces a library by another file of the same
 * path, while processes still map the old one: both are traced, each is a build.
 */
#pragma once

#include <plumb/bpf/function/function.h>
#include <plumb/core/tool.h>
#include <plumb/functions/probe.h>
#include <plumb/user/targets.h>
#include <plumb/user/user-targets.h>

#define PLUMB_BUILD_ID 41 /* 20 bytes in hexadecimal, and a NUL */

/* A file's functions, those that the targets have, by their numbers there. */
struct plumb_build {
	size_t file; /* index in the targets */
	int fd;      /* -1: it was changed in place, and is no longer traced */
	uint64_t device, inode;
	struct timespec changed;
	int64_t size;
	uint64_t code;              /* a checksum of the instructions at its probes */
	char id[PLUMB_BUILD_ID];    /* GNU build id; "": it has none */
	bool deleted;               /* its path leads to another file, or to none */
	struct timespec since;      /* when it was attached to */
	uint64_t gap;               /* ns before, at most, in which calls may have been missed */
	struct timespec until;      /* when it was detached from, changed in place; 0: it was not */
	size_t first_probe, probes; /* its probes, in the run's list */
	/* PATH leads to FD's file; an absent function has no name; none: it cannot be traced. */
	struct plumb_userfuncs functions;
};

/* What a tool does with its targets in each build. */
struct plumb_builds_use {
	const uint32_t *pids; /* the only processes to be traced; none: all */
	size_t n_pids;
	enum plumb_user_purpose purpose;
	/* Removes what the tool cannot trace; 0, or -errno after a message.  NULL: it traces all.
	 */
	int (*check)(struct plumb_userfuncs *found);
	/*
	 * Attaches the programs of BPF to these functions, whose numbers begin at FIRST, of build
	 * number BUILD; 0 or -errno.
	 */
	int (*attach)(const struct plumb_bpf *bpf, struct plumb_probes *probes,
		      const struct plumb_userfuncs *functions, size_t first, size_t build,
		      char *what, size_t size);
	/* Attaches to what else a tool needs of the file FD, that of FUNCTIONS; NULL: nothing. */
	int (*attach_file)(const struct plumb_bpf *bpf, struct plumb_probes *probes, int fd,
			   const struct plumb_userfuncs *functions, char *what, size_t size);
	/* Whether each process is to have links of its own; NULL: none has. */
	bool (*is_by_process)(const struct plumb_bpf *bpf);
};

/*
 * Finds the targets of PATTERNS in the files that plumb_user_files_open() has opened, and adds them
 * to TARGETS, which has no other user functions.  Each file is a build, and so are those that
 * processes of this mount namespace still map, where the path leads to another file by now.  What
 * the arguments point to is used until the end.  Returns 0 or -errno after a message.
 */
int plumb_builds_open(struct plumb_targets *targets, const struct plumb_user_pattern *patterns,
		      size_t n, const struct plumb_builds_use *use);

/* Attaches to all of them; as plumb_bpf.attach(). */
int plumb_builds_attach(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
			size_t size);

/*
 * For struct plumb_tool.files: looks often enough for a new file to be traced in a second.  If
 * several builds of a file are traced, lines of a table's footer say so; JSON has "builds".  The
 * programs include user/builds.bpf.h.
 */
extern const struct plumb_traced_files plumb_builds;

/* Build I; NULL after the last. */
const struct plumb_build *plumb_build_at(size_t i);

/* The path and, if other builds have that path, the build id, or else the inode; returns TEXT. */
const char *plumb_build_name(size_t i, char *text, size_t size);
