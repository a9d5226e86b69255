/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * modules: kernel modules with functions that are probed.  A kprobe does not keep its module: when
 * that is unloaded, the probe is gone, also if the module is loaded again.
 */
#pragma once

#include <plumb/functions/functions.h>

/* Notes the modules of FOUND, as they are now. */
void plumb_modules_note(const struct plumb_functions *found);

/* The name of the Nth that was unloaded since, by what /sys/module has; NULL: there are no more. */
const char *plumb_modules_gone(size_t n);
