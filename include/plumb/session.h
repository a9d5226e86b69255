/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * session: a run from open to detach, and what it knows that a report prints.
 *
 * The parts, in the order of their use: filter (against the running system),
 * ladder (which rung holds), calibrate (what it costs), then the loop, which
 * takes snapshots and hands them to the report.
 */
#ifndef PLUMB_SESSION_H
#define PLUMB_SESSION_H

#include <plumb/bootstrap.h>
#include <plumb/ledger.h>
#include <plumb/options.h>
#include <plumb/percentile.h>
#include <plumb/probe.h>
#include <plumb/split.h>
#include <plumb/tool.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct bpf_link;
struct bpf_program;

#define PLUMB_MAX_RUNGS    8
#define PLUMB_MAX_PROGRAMS 16

/* A rung that did not hold, and why. */
struct plumb_refusal {
	const char *name;
	int err; /* negative */
	char why[192];
};

/* What tracing adds to a call, in ns. */
struct plumb_overhead {
	bool known;
	struct plumb_interval traced, filtered;
	bool filtered_known;
	const char *how; /* "calibrated", or why it is not known */
};

/* One loaded, perhaps attached, instance of a tool's BPF object. */
struct plumb_instance {
	struct plumb_bpf bpf;
	const struct plumb_rung *rung;
	struct bpf_link *links[PLUMB_MAX_PROGRAMS]; /* as rung->programs */
	size_t n_links;
	const struct plumb_functions *functions; /* NULL: none */
	struct plumb_probes probes;
	bool kprobe_misses; /* does this kernel count them? */
};

/* What the calls of a bucket spent their time with. */
struct plumb_parts {
	uint32_t bucket;
	uint64_t ns[PLUMB_ALL_PARTS];
	uint64_t led[PLUMB_ALL_PARTS]; /* calls of which this part was the largest */
};

/* Rows of a snapshot: times in ns, cumulative or of an interval. */
struct plumb_row {
	uint32_t slot; /* 0: [other] */
	const void *key;
	uint64_t count, errors, sum, extra[2];
	struct plumb_dist dist;
	uint64_t second_sum; /* of the tool's second measure; as dist */
	struct plumb_dist second;
	struct plumb_parts *split; /* of buckets that hold anything; NULL: not asked for */
	size_t n_split;
};

struct plumb_snapshot {
	struct plumb_row *rows;
	size_t n;
	void *keys; /* what rows[].key points into */
	struct plumb_ledger ledger;
	uint64_t missed; /* executions of programs that the kernel skipped */
	bool missed_known;
	bool missed_ends;      /* each is one end of a call; else a whole call */
	bool in_cookies;       /* the calls in flight are kept in sessions' cookies only */
	struct timespec taken; /* CLOCK_REALTIME */
	uint64_t clock;        /* ns, CLOCK_MONOTONIC */
};

struct plumb_session {
	struct plumb_tool *tool;
	struct plumb_options options;
	int cgroups[PLUMB_MAX_LIST]; /* descriptors, as options.cgroups */
	int pids[PLUMB_MAX_LIST];    /* pidfds, as options.pids; negative: ended */
	pid_t child;                 /* the command, 0: none */
	volatile int *child_go;      /* shared with it, see command.c */
	struct plumb_instance instance;
	struct {
		struct timespec time;
		uint64_t clock; /* ns, CLOCK_MONOTONIC */
	} attached;
	struct plumb_refusal refused[2 * PLUMB_MAX_RUNGS]; /* each may be tried twice */
	size_t n_refused;
	struct plumb_overhead overhead;
	int statistics; /* descriptor that keeps run-time statistics on, -1: none */
	struct plumb_functions calibration; /* the function that the calibration provokes */
};

/* filter: the options against the running system; -errno after saying what is wrong. */
int plumb_filter_resolve(struct plumb_session *s);
/* Does --comm name COMM, and the tool itself? */
bool plumb_filter_takes_name(const struct plumb_options *o, const char comm[PLUMB_COMM_LEN]);
bool plumb_filter_takes_own_name(const struct plumb_options *o);
/* Writes the filters into the configuration of a BPF object that is not loaded yet. */
void plumb_filter_configure(const struct plumb_session *s, struct plumb_config *config);
/* And into its maps, once it is. */
int plumb_filter_fill(const struct plumb_session *s, struct bpf_object *object);

/* configure: does what the options ask for fit into what is allowed?  0, or -errno after saying so.
 */
int plumb_configure_check_memory(const struct plumb_session *s);

/* instance: opens and loads the session's; 0, or -errno with the reason in WHY. */
int plumb_instance_load(struct plumb_session *s, const struct plumb_rung *rung, char *why,
			size_t size);
/*
 * Another of the same rung, which calibrate measures: on the system call of the
 * calibration, and for this thread only, or for all but those that run.
 */
enum plumb_twin { PLUMB_NO_TWIN, PLUMB_TWIN_TAKES, PLUMB_TWIN_REJECTS };
int plumb_instance_load_twin(const struct plumb_session *s, struct plumb_instance *twin,
			     enum plumb_twin kind);
/* Attaches all its programs or none; 0, or -errno with the reason in WHY. */
int plumb_instance_attach(struct plumb_instance *in, char *why, size_t size);
void plumb_instance_detach(struct plumb_instance *in);
void plumb_instance_close(struct plumb_instance *in);

/* calibrate: fills overhead; before the tool's own programs are attached, and after. */
void plumb_calibrate_traced(struct plumb_session *s);
void plumb_calibrate_filtered(struct plumb_session *s);
/*
 * Where nothing can be provoked: what the kernel says of the runs of the programs,
 * of the calls that come in the trace's first PLUMB_STATISTICS_NS.  Until then each
 * run costs some 20 ns more.
 */
#define PLUMB_STATISTICS_NS 100000000ULL
void plumb_calibrate_begin_statistics(struct plumb_session *s);
void plumb_calibrate_end_statistics(struct plumb_session *s);
/*
 * What the programs of any rung add to what PROVOKE does (NULL: the calibration's
 * call, for rungs with aims), in ns; false where that cannot be had.
 */
bool plumb_calibrate_rung(struct plumb_session *s, const struct plumb_rung *rung,
			  enum plumb_twin kind, void (*provoke)(void),
			  struct plumb_interval *added);
/* What was measured, as it may be printed: not known where traced calls cost nothing, or less. */
void plumb_overhead_judge(struct plumb_overhead *o);

/*
 * ladder: loads, calibrates and attaches the first rung that holds, or the one
 * that is asked for.  Returns 0 or -errno; what was refused, and why, stays in
 * the session.
 */
int plumb_ladder_climb(struct plumb_session *s);

/* command: starts COMMAND, stopped before its first system call; its pid or -errno. */
int plumb_command_start(struct plumb_session *s);
/* Lets it go. */
void plumb_command_release(struct plumb_session *s);

/* snapshot: all that the maps hold now.  Returns 0 or -errno. */
int plumb_snapshot_take(const struct plumb_session *s, struct plumb_snapshot *snap);
/* Without rows that hold nothing. */
void plumb_snapshot_prune(struct plumb_snapshot *snap);
/* The rows of what came between OLDER and NOW; their keys are NOW's. */
int plumb_snapshot_since(struct plumb_snapshot *delta, const struct plumb_snapshot *now,
			 const struct plumb_snapshot *older);
void plumb_snapshot_free(struct plumb_snapshot *snap);

#endif
