/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * configure: what the options and the mechanism ask for, written into a BPF object that is
 * opened and not yet loaded: its constants, the sizes of its maps, which of its programs
 * are loaded.
 */
#ifndef CONFIGURE_H
#define CONFIGURE_H

#include <plumb/load/instance.h>

void plumb_configure(const struct plumb_session *s, struct plumb_instance *in);
/* Behind it, for a mechanism with attach targets: its programs to the functions; 0 or -errno. */
int plumb_configure_attach_targets(struct plumb_instance *in);
/* Calibration instances see this thread only, or everyone else. */
void plumb_configure_calibration(struct plumb_config *c, enum plumb_calibration calibration);
/* From now on threads are kept in a hash, though the kernel says that it has task storage. */
void plumb_configure_without_storage(void);

#endif
