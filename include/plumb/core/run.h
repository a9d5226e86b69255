/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* run: the properties of a run that its reports print. */
#ifndef PLUMB_RUN_H
#define PLUMB_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <plumb/core/options.h>
#include <plumb/core/tool.h>

/* A mechanism that could not be used, and the reason. */
struct plumb_refusal {
	const char *name;
	int err; /* negative */
	char why[192];
};

struct plumb_interval {
	double low, median, high;
};

/* What tracing adds to a call, in ns. */
struct plumb_overhead {
	bool known;
	struct plumb_interval traced, filtered;
	bool filtered_known;
	/* ns that are recorded of a call of an empty user function; 0: not known */
	uint64_t empty, empty_stepped; /* emulated and single-stepped (self-test.h) */
	const char *how;               /* "calibrated", or why it is not known */
};

/* What became of a cgroup of -g. */
struct plumb_watched {
	bool exists;
	uint32_t made_again; /* how often */
	bool polled; /* the kernel did not tell of each time: it was looked for each second */
};

struct plumb_run {
	const struct plumb_tool *tool;
	const struct plumb_options *options;
	const struct plumb_mechanism *mechanism;
	const char (*hooks)[PLUMB_HOOK_NAME]; /* "" after the last */
	const struct plumb_refusal *refused;
	size_t n_refused;
	const struct plumb_overhead *overhead;
	const struct bpf_object *object; /* loaded, with its maps */
	int64_t rings;                   /* of io_uring in traced processes; -1: nobody looked */
	const struct plumb_watched *watched; /* of options->cgroups */
	bool split;                          /* rows have the parts of the time (split.h) */
	/* Why waits on the way out (sched/return.h) are not in the times; "": they are, NULL: the
	 * tool never has them. */
	const char *no_return;
};

#endif
