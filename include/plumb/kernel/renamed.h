/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * renamed: functions and tracepoints that have another name on some kernels, all of which are in
 * tools/lib/kernel/renamed.list.  Tools use one name; what looks it up tries the others, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The other name I, from 0, of NAME; NULL: there is none. */
const char *plumb_other_name(const char *name, size_t i);

/* Whether NAME is KNOWN or another name of it. */
bool plumb_is_named(const char *name, const char *known);
