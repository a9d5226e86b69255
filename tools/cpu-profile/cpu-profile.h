/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF program of cpu-profile. */
#pragma once

/* Samples that are in no row: of idle CPUs, and of threads that the filters exclude. */
struct cpu_profile_rest {
	__u64 idle, others;
};
