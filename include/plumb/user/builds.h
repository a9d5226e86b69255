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
	size_t number; /* by which programs know it */
	size_t file;   /* index in the targets, and in plumb_user_files */
	int fd;        /* -1: it was changed in place, and is no longer traced */
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

/* What a tool does with its targets in each build; functions may be NULL, but for attach(). */
struct plumb_builds_use {
	enum plumb_user_purpose purpose;
	/* All files are open: the tool judges them, and may set its purpose; 0, or -errno after a
	 * message. */
	int (*opened)(void);
	/*
	 * Marks functions that the tool cannot trace (is_unwanted); 0, -errno after a message, or
	 * -EAGAIN if the tool has set another purpose, by which all are to be found again.
	 */
	int (*check)(struct plumb_userfuncs *found);
	/*
	 * Attaches the programs of BPF to these functions, whose numbers begin at FIRST; 0 or
	 * -errno.
	 */
	int (*attach)(const struct plumb_bpf *bpf, struct plumb_probes *probes,
		      const struct plumb_userfuncs *functions, size_t first,
		      const struct plumb_build *build, char *what, size_t size);
	/* Another function of each file, found by this name; and attaches to it.  NULL: none. */
	const char *also;
	int (*attach_also)(const struct plumb_bpf *bpf, struct plumb_probes *probes,
			   const struct plumb_userfuncs *also, char *what, size_t size);
	/* Whether each process is to have links of its own; NULL: none has. */
	bool (*is_by_process)(const struct plumb_bpf *bpf);
};

/*
 * Called by a tool's prepare(): opens the files of PATTERNS, finds the targets in them, and adds
 * these to TARGETS, which has no other user functions.  Each file is a build, and so are those that
 * processes of this mount namespace still map, where the path leads to another file by now.  What
 * the arguments point to is used until the end.  Returns 0 or -errno after a message.
 */
int plumb_builds_open(struct plumb_targets *targets, const struct plumb_user_pattern *patterns,
		      size_t n, const struct plumb_builds_use *use, const struct plumb_options *o);

/*
 * Called by a mechanism's open(): the programs of HOOKS, ended by PLUMB_HOOK_NONE, are copied and
 * attached to all builds, or, of a calibration instance, to the function that is its trigger.
 * Returns 0 or -errno.
 */
int plumb_builds_configure(struct plumb_bpf *bpf, const struct plumb_attach_target *hooks,
			   bool calibration);

/* The two ways of attaching; as plumb_bpf.attach(). */
int plumb_builds_attach(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
			size_t size);
int plumb_builds_attach_self_test(const struct plumb_bpf *bpf, struct plumb_probes *probes,
				  char *what, size_t size);

/*
 * For struct plumb_tool.files: looks often enough for a new file to be traced in a second.  If
 * several builds of a file are traced, lines of a table's footer say so; JSON has "builds".  The
 * programs include user/builds.bpf.h.
 */
extern const struct plumb_traced_files plumb_builds;

/* The path and, if other builds have that path, the build id, or else the inode; returns TEXT. */
const char *plumb_build_name(size_t i, char *text, size_t size);
