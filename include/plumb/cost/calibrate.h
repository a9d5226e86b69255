/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* calibrate: measures what tracing adds to a call, on this host, in this configuration. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <plumb/core/instance.h>

/*
 * Of all programs: their run time, their runs, and the runs of the one that ran most.  STAGES: an
 * event runs several of them, each at most once; otherwise one.  The mean is 0 if they are too few.
 */
struct plumb_run_times {
	uint64_t ns, all, most;
};
void plumb_run_times_add(struct plumb_run_times *t, uint64_t ns, uint64_t runs);
double plumb_run_times_mean(const struct plumb_run_times *t, bool stages);
/*
 * Measures what the programs of MECHANISM add to a call of TRIGGER (NULL: the calibration's call,
 * for mechanisms with attach targets), in ns.  Returns false if that is not possible.
 */
bool plumb_calibrate_mechanism(struct plumb_run *run, const struct plumb_mechanism *mechanism,
			       enum plumb_calibration kind, void (*trigger)(void),
			       struct plumb_interval *added);
/* The same of the mechanism of RUN, and to a call that it rejects; sets RUN->overhead if possible.
 */
bool plumb_calibrate(struct plumb_run *run, void (*trigger)(void));
/* A TRIGGER: a page fault, a minor one. */
void plumb_page_fault(void);
/*
 * The same of a user function, at which the kernel single-steps or not; and sets what the programs
 * measure of an empty call of either kind.
 */
void plumb_calibrate_userfuncs(struct plumb_run *run, bool is_stepped);
/*
 * Prepares measured values for printing.  They are not known if a traced call seems to cost
 * nothing, or less than a rejected one.  Negative values become 0.
 */
void plumb_overhead_judge(struct plumb_overhead *o);

/* Makes context switches, to calibrate tools that trace them. */
struct plumb_switches {
	/* Pins this thread to its CPU and starts a partner thread there; false: not possible. */
	bool (*begin)(void);
	/* This thread leaves the CPU once, and so does its partner. */
	void (*make)(void);
	void (*end)(void);
};

/* Only tools that refer to it are linked with pthreads. */
extern const struct plumb_switches plumb_switches;
