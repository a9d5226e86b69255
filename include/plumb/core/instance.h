/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* instance: a tool's BPF object, loaded and attached. */
#pragma once

#include <stddef.h>
#include <plumb/core/run.h>

/* Returns 0 if the maps for the options are of an allowed size, or -errno after a message. */
int plumb_configure_check_memory(const struct plumb_run *run);

/* Opens and loads the run's instance; 0, or -errno with the reason in WHY. */
int plumb_instance_load(struct plumb_run *run, const struct plumb_mechanism *mechanism, char *why,
			size_t size);
/*
 * Opens and loads the calibration instance, of the same mechanism: on the system call of the
 * calibration, with filters that accept this thread only (TAKES), or no running thread (REJECTS).
 */
enum plumb_calibration { PLUMB_NO_CALIBRATION, PLUMB_CALIBRATION_TAKES, PLUMB_CALIBRATION_REJECTS };
int plumb_instance_load_calibration(const struct plumb_run *run, struct plumb_instance *calibration,
				    enum plumb_calibration kind);
/*
 * Attaches all programs of the instance or none; 0, or -errno with the reason in WHY.  The caller
 * sets plumb_live.
 */
int plumb_instance_attach(struct plumb_instance *in, char *why, size_t size);
void plumb_instance_detach(struct plumb_instance *in);
void plumb_instance_close(struct plumb_instance *in);
