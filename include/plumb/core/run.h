/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* run: the state of a tool's run, from its command line to its last report. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <plumb/core/attaching.h>
#include <plumb/core/options.h>
#include <plumb/core/tool.h>

struct bpf_link;
struct bpf_program;

#define PLUMB_MAX_MECHANISMS 8
#define PLUMB_MAX_PROGRAMS   32 /* that follow threads */
#define PLUMB_MAX_LINKS      64

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

/* Whether the interval is too wide for its bound to say anything: others had the CPU meanwhile. */
static inline bool plumb_cost_is_vague(const struct plumb_overhead *o)
{
	return o->filtered_known && o->traced.high > 10 * o->traced.median;
}

/* What became of a cgroup of -g. */
struct plumb_watched {
	bool exists;
	uint32_t made_again; /* how often */
	bool polled; /* the kernel did not tell of each time: it was looked for each second */
};

/* An instance of a tool's BPF object, loaded and possibly attached. */
struct plumb_instance {
	struct plumb_bpf bpf;
	const struct plumb_mechanism *mechanism;
	bool calibrates;                                 /* is the calibration instance */
	struct bpf_program *threads[PLUMB_MAX_PROGRAMS]; /* that follow threads (exit, fork, ...) */
	size_t n_threads;
	struct bpf_link *links[PLUMB_MAX_LINKS]; /* threads, then mechanism->programs */
	size_t n_links;
	const struct plumb_attaching *attaching; /* as the tool has it */
	const struct plumb_functions *functions; /* to attach to; NULL: none */
	struct plumb_probes probes;
	const struct bpf_program *without; /* refused, and not needed; NULL: none */
	bool has_returns;                  /* programs for waits on the way out (sched/return.h) */
	char no_return[128]; /* why waits on the way out (sched/return.h) are not seen; "": they are
			      */
	bool kprobe_misses; /* has kprobe or tracepoint programs, whose misses this kernel counts */
};

#define PLUMB_EXITED UINT64_MAX

struct plumb_run {
	const struct plumb_tool *tool;
	struct plumb_options options;
	int cgroups[PLUMB_MAX_LIST]; /* descriptors of options.cgroups */
	struct plumb_watched watched[PLUMB_MAX_LIST];
	int pids[PLUMB_MAX_LIST];      /* pidfds of options.pids; negative: exited */
	uint64_t tids[PLUMB_MAX_LIST]; /* when those of options.tids began; PLUMB_EXITED */
	pid_t child;                   /* pid of the command; 0: none */
	int child_status;              /* as of waitpid(); -1: it has not exited */
	volatile int *child_go;        /* shared with the child, see command.c */
	struct plumb_instance instance;
	struct {
		struct timespec time;
		uint64_t clock; /* ns, CLOCK_MONOTONIC */
	} counting;             /* from then on all are counted */
	uint64_t started;       /* ns, CLOCK_MONOTONIC: as --start-at says; 0: it does not */
	struct plumb_refusal refused[2 * PLUMB_MAX_MECHANISMS]; /* each is tried at most twice */
	size_t n_refused;
	struct plumb_overhead overhead;
	/* What reports say of it; set before the first one. */
	int64_t rings; /* of io_uring in traced processes; -1: nobody looked */
	bool split;    /* rows have the parts of the time (split.h) */
	/*
	 * Why waits on the way out (sched/return.h) are not in the times; "": they are; NULL: the
	 * tool never has them.
	 */
	const char *no_return;
	int statistics; /* descriptor that keeps run-time statistics enabled; -1: none */
	struct plumb_functions calibrated; /* the function that the calibration triggers */
};
