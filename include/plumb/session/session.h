/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * session: a run from open to detach, and what it knows that a report prints.
 *
 * The parts, in the order of their use: filter (against the running system),
 * choice (which mechanism holds), calibrate (what it costs), then the loop, which
 * takes snapshots and hands them to the report.
 */
#ifndef PLUMB_SESSION_H
#define PLUMB_SESSION_H

#include <plumb/base/bootstrap.h>
#include <plumb/bpf/core/ledger.h>
#include <plumb/tool/options.h>
#include <plumb/measure/snapshot.h>
#include <plumb/report/run.h>
#include <plumb/attach/probe.h>
#include <plumb/tool/tool.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct bpf_link;
struct bpf_program;

#define PLUMB_MAX_MECHANISMS 8
#define PLUMB_MAX_PROGRAMS   16

/* One loaded, perhaps attached, instance of a tool's BPF object. */
struct plumb_instance {
	struct plumb_bpf bpf;
	const struct plumb_mechanism *mechanism;
	struct bpf_link *links[PLUMB_MAX_PROGRAMS]; /* as mechanism->programs */
	size_t n_links;
	const struct plumb_functions *functions; /* NULL: none */
	struct plumb_probes probes;
	bool kprobe_misses; /* does this kernel count them?  false where there are no kprobes */
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
	struct plumb_refusal refused[2 * PLUMB_MAX_MECHANISMS]; /* each may be tried twice */
	size_t n_refused;
	struct plumb_overhead overhead;
	int statistics; /* descriptor that keeps run-time statistics on, -1: none */
	struct plumb_functions calibrated; /* the function that the calibration triggers */
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
int plumb_instance_load(struct plumb_session *s, const struct plumb_mechanism *mechanism, char *why,
			size_t size);
/*
 * Another of the same mechanism, which calibrate measures: on the system call of the
 * calibration, and for this thread only, or for all but those that run.
 */
enum plumb_calibration { PLUMB_NO_CALIBRATION, PLUMB_CALIBRATION_TAKES, PLUMB_CALIBRATION_REJECTS };
int plumb_instance_load_calibration(const struct plumb_session *s,
				    struct plumb_instance *calibration,
				    enum plumb_calibration kind);
/* Attaches all its programs or none; 0, or -errno with the reason in WHY. */
int plumb_instance_attach(struct plumb_instance *in, char *why, size_t size);
void plumb_instance_detach(struct plumb_instance *in);
void plumb_instance_close(struct plumb_instance *in);

/* calibrate: fills overhead; before the tool's own programs are attached, and after. */
void plumb_calibrate_traced(struct plumb_session *s);
void plumb_calibrate_filtered(struct plumb_session *s);
/*
 * Where nothing can be triggered: what the kernel says of the runs of the programs,
 * of the calls that come in the trace's first PLUMB_STATISTICS_NS.  Until then each
 * run costs some 20 ns more.
 */
#define PLUMB_STATISTICS_NS 100000000ULL
void plumb_calibrate_begin_statistics(struct plumb_session *s);
void plumb_calibrate_end_statistics(struct plumb_session *s);
/*
 * What the programs of any mechanism add to what TRIGGER does (NULL: the calibration's
 * call, for mechanisms with attach targets), in ns; false where that cannot be had.
 */
bool plumb_calibrate_mechanism(struct plumb_session *s, const struct plumb_mechanism *mechanism,
			       enum plumb_calibration kind, void (*trigger)(void),
			       struct plumb_interval *added);
/* What was measured, as it may be printed: not known where traced calls cost nothing, or less. */
void plumb_overhead_judge(struct plumb_overhead *o);

/*
 * choice: loads, calibrates and attaches the first mechanism that holds, or the one
 * that is asked for.  Returns 0 or -errno; what was refused, and why, stays in
 * the session.
 */
int plumb_mechanism_choose(struct plumb_session *s);

/* command: starts COMMAND, stopped before its first system call; its pid or -errno. */
int plumb_command_start(struct plumb_session *s);
/* Lets it go. */
void plumb_command_release(struct plumb_session *s);

/* collect: what the session's maps hold now, and what the kernel missed; 0 or -errno. */
int plumb_collect(const struct plumb_session *s, struct plumb_snapshot *snap);

#endif
