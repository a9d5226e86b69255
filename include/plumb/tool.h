/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool: what a tool tells the library about itself.
 *
 * A tool's .c file fills one struct plumb_tool and calls plumb_main().  All
 * that is the same for every tool (options, filters, attaching, the loop, the
 * report) happens there.
 */
#ifndef PLUMB_TOOL_H
#define PLUMB_TOOL_H

#include <argp.h>
#include <asm/unistd.h>
#include <plumb/config.h>
#include <plumb/fields.h>
#include <plumb/options.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct bpf_object_skeleton;

#define PLUMB_MAX_HOOKS 9

/*
 * The system call that the calibration makes: next to nothing happens in it, it
 * has no effect, and, unlike getppid(), its function has an argument, without
 * which BTF does not know it (kernel-side it is an alias).
 */
#define PLUMB_CALIBRATION_NR __NR_sched_get_priority_max

/* A BPF object that a rung has opened and not yet loaded. */
struct plumb_bpf {
	void *owner; /* the generated struct, malloc'd; the session destroys and frees it */
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *object;
	struct plumb_config *config;     /* in .rodata, writable until it is loaded */
	uint32_t *live;                  /* plumb_live of ledger.bpf.h */
	char hooks[PLUMB_MAX_HOOKS][64]; /* what the report calls them; "" behind the last */
};

/* A struct plumb_bpf of a generated skeleton, with its hooks; its program includes ledger.bpf.h. */
#define PLUMB_BPF_OF(skel, ...)                                                                    \
	((struct plumb_bpf){                                                                       \
		.owner = (skel),                                                                   \
		.skeleton = (skel)->skeleton,                                                      \
		.object = (skel)->obj,                                                             \
		.config = (struct plumb_config *)&(skel)->rodata->plumb_config,                    \
		.live = &(skel)->bss->plumb_live,                                                  \
		.hooks = {__VA_ARGS__},                                                            \
	})

/* One way to get at the question's events.  Rungs are listed cheapest first. */
struct plumb_rung {
	const char *name;      /* as --mechanism takes it */
	const char *stability; /* "stable", "unstable", … */
	/* NULL: may be tried.  Else why it cannot do what is asked, whatever the kernel. */
	const char *(*unfit)(const struct plumb_options *options);
	/* NULL: should be tried.  Else why a later rung is better here; "" is not worth a line. */
	const char *(*outdone)(void);
	/*
	 * Opens the skeleton and sets the tool's own rodata; 0 or -errno.  The
	 * twin takes PLUMB_CALIBRATION_NR, whatever is selected.
	 */
	int (*open)(struct plumb_bpf *bpf, bool twin);
	bool interleaved; /* as in plumb_config */
	/*
	 * Programs by name, in the order in which they are attached: what ends
	 * a call before what begins it, so that each end has an entry or is
	 * older than the trace.  NULL ends the list.
	 */
	const char *const *programs;
};

struct plumb_tool {
	const char *name;
	const char *question; /* one line: what it answers */
	const char *about;    /* --about: hooks, stability, kernels, usual rate, cost */
	const struct argp_option *options; /* its own, ended by {0} */
	/* An own option, or at the end ARGP_KEY_END; 0, or argp_error() and any. */
	int (*parse)(int key, char *text, struct argp_state *state, struct plumb_options *options);

	const struct plumb_field *fields; /* keys that it adds to the common ones */
	size_t n_fields;
	size_t key_size;
	uint32_t default_by;
	bool counts_only;   /* no times: rows have counts and errors, and rates */
	bool sees_syscalls; /* its cost can be calibrated by making system calls */

	const struct plumb_rung *rungs;
	size_t n_rungs;
};

/* Runs the tool; the result is main()'s. */
int plumb_main(int argc, char **argv, struct plumb_tool *tool);

#endif
