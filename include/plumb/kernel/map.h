/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * map: elements of BPF maps, read while programs run.
 *
 * While a thread is inside bpf(2) for an element of a map, the kernel skips all programs of perf
 * tracepoints and kprobes on its CPU (bpf_prog_active, kernel/bpf/syscall.c).  If the kernel
 * preempts it there, calls of the threads that run meanwhile are missed, for a time slice.
 */
#pragma once

/*
 * As bpf_map_lookup_elem() of libbpf: 0, or -1 with errno.  On a preemptible kernel the calling
 * thread is a real-time thread meanwhile, if that is permitted.
 */
int plumb_map_lookup(int map, const void *key, void *value);
