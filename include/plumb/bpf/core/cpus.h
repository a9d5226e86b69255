/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cpus: the number of CPUs that Linux supports, at most (NR_CPUS of x86). */
#ifndef PLUMB_CPUS_H
#define PLUMB_CPUS_H

#define PLUMB_CPUS 8192

#endif
