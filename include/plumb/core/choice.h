/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* choice: chooses one of a tool's mechanisms. */
#pragma once

struct plumb_run;

/*
 * Loads, calibrates and attaches the first mechanism that works, or the one that --mechanism names.
 * Returns 0 or -errno.  The run keeps the refused mechanisms and the reasons.
 */
int plumb_mechanism_choose(struct plumb_run *run);
