/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PLUMB_BPF_BUILDS_H
#define PLUMB_BPF_BUILDS_H

/* Builds of files whose calls are counted, a power of two. */
#define PLUMB_BUILDS 256

#endif
