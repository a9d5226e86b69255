/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * configure: writes options and mechanism into a BPF object that is open and not yet loaded: its
 * constants, the sizes of its maps, and which of its programs are loaded.
 */
#pragma once

#include <plumb/core/instance.h>

void plumb_configure(const struct plumb_run *run, struct plumb_instance *in);
/* A part of it: the sizes of the maps of histograms, parts of times, and totals. */
void plumb_configure_hist(const struct plumb_run *run, struct plumb_config *c,
			  const struct plumb_bpf *bpf);
/*
 * After plumb_configure(), if the mechanism has attach targets: prepares its programs for the
 * functions.  0 or -errno.
 */
int plumb_configure_attach_targets(struct plumb_instance *in);
/*
 * Sets the filters of a calibration instance: it takes only this thread's calls, or rejects them.
 */
void plumb_configure_calibration(struct plumb_config *c, enum plumb_calibration calibration);
/* From now on, keep the states of threads in a hash map, although the kernel has task storage. */
void plumb_configure_without_storage(void);

/*
 * Whether the tool does without program P, which could not be attached (ERR): it is that for waits
 * on the way out of calls.  The report then says that they are not seen.
 */
bool plumb_configure_without(struct plumb_instance *in, const struct bpf_program *p, int err);
