/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* untimed: what loaders and programs share that count calls without timing them. */
#ifndef PLUMB_BPF_UNTIMED_H
#define PLUMB_BPF_UNTIMED_H

#define PLUMB_MAX_UNTIMED 8 /* kinds of them */

#endif
