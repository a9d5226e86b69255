/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the loader and the program of cpu-profile agree on. */
#ifndef CPU_PROFILE_H
#define CPU_PROFILE_H

/* Samples that are in no row: of CPUs that had nothing to do, and of who is filtered out. */
struct cpu_profile_rest {
	__u64 idle, others;
};

#endif
