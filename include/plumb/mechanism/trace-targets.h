/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* trace targets: the targets that such a tool is attached to, and its mechanisms. */
#ifndef PLUMB_TRACE_TARGETS_H
#define PLUMB_TRACE_TARGETS_H

#include <plumb/attach/targets.h>
#include <plumb/bpf/function/trace-targets.h>
#include <plumb/cost/calibrate.h>

struct plumb_trace_targets {
	/* The tool's: opens its skeleton, and where the target's number is in a row's key. */
	int (*open)(struct plumb_bpf *bpf, bool calibration);
	size_t target_at;

	const char *patterns[PLUMB_MAX_LIST]; /* as they were typed */
	size_t n_patterns;
	struct plumb_targets targets; /* that they stand for */

	/*
	 * Where tracepoints of single system calls are many: their targets plus 1 by direction and
	 * number, 0 where there is none, and the two tracepoints that are attached to for them.
	 */
	uint32_t calls[PLUMB_DIRECTIONS][PLUMB_SYSCALLS];
	struct plumb_tracepoints raw_syscalls;
};

extern struct plumb_trace_targets plumb_trace_targets;

/* Those that attach to many at once come first. */
#define PLUMB_TRACE_TARGETS_MECHANISMS 8
extern const struct plumb_mechanism plumb_trace_targets_mechanisms[PLUMB_TRACE_TARGETS_MECHANISMS];

/* The key "func", in struct plumb_tool's fields. */
extern const struct plumb_field plumb_trace_targets_field;

/* In struct plumb_tool's argument. */
bool plumb_trace_targets_add(const char *text, bool number);
bool plumb_trace_targets_ask_for(enum plumb_target_kind kind);

/*
 * In its prepare: finds the targets, by which rows are told apart if there are
 * several, and leaves TOOL the mechanisms that fit their number; 0 or -errno.
 */
int plumb_trace_targets_find(struct plumb_tool *tool, struct plumb_options *o);

/* For plumb_trace_targets_find(): calls and raw_syscalls; 0 or -errno. */
int plumb_trace_targets_number_calls(void);
/* RAW and PERF are as for plumb_probe_tracepoints(). */
int plumb_trace_targets_attach_calls(struct plumb_probes *probes, const struct bpf_object *object,
				     const char *raw, const char *perf, char *what, size_t size);

/* ns that a fire adds by a mechanism, on something that can be triggered; false: cannot be had. */
bool plumb_trace_targets_measure(struct plumb_session *s, const struct plumb_mechanism *mechanism,
				 enum plumb_calibration kind, struct plumb_interval *added);
/* In its calibrate: what the library cannot measure itself, mechanisms of no kernel functions. */
void plumb_trace_targets_calibrate(struct plumb_session *s);

size_t plumb_trace_targets_index(const struct plumb_row *row);

/* Is target I a tracepoint that raw tracepoint programs get to? */
bool plumb_trace_targets_is_raw(size_t i);

/* In its finish: which targets stayed silent, each by name if they are few. */
void plumb_trace_targets_finish(const struct plumb_session *s, const struct plumb_snapshot *total,
				uint64_t elapsed);

#endif
