/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * copies: several of one program on a tracepoint.  While a program runs, the kernel skips it for an
 * interrupt of that CPU (from 6.1 on) and, if programs can be preempted, for other threads (from
 * 7.0 on).  Copies run one after the other: the first that is not skipped does the work, the others
 * find it done.
 */
#pragma once

/* Where programs can be preempted. */
#define PLUMB_COPIES 4
/* Where they cannot be: of the ends of I/O, which an interrupt can bring while another ends. */
#define PLUMB_END_COPIES 2

/* Their names, as strings. */
#define PLUMB_COPIES_OF(program) program "_0", program "_1", program "_2", program "_3"
