/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* calibrate: what tracing adds to a call, on this host, in this configuration. */
#ifndef PLUMB_CALIBRATE_H
#define PLUMB_CALIBRATE_H

#include <plumb/load/instance.h>
#include <stdbool.h>

/* Fill the session's overhead: before the tool's own programs are attached, and after. */
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

#endif
