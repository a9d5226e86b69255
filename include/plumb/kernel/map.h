/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * map: elements of BPF maps, read while programs run.
 *
 * While a thread is inside bpf(2) for an element of a map, the kernel skips all programs of perf
 * tracepoints and kprobes on its CPU (bpf_prog_active, kernel/bpf/syscall.c).  If the kernel
 * preempts it there, calls of the threads that run meanwhile are missed, for a time slice.
 */
#pragma once

#include <stddef.h>

/*
 * As bpf_map_lookup_elem() of libbpf: 0, or -1 with errno.  On a preemptible kernel the calling
 * thread is a real-time thread meanwhile, if that is permitted.
 */
int plumb_map_lookup(int map, const void *key, void *value);

/*
 * The elements of a hash map at N places: the key of number I is at KEYS + I * the map's size of
 * keys, its value at VALUES + I * the size of values; of a map per CPU, I * the number of possible
 * CPUs * that size, rounded up to 8 bytes.  Zeroed at first.
 */
struct plumb_elements {
	size_t n, room;
	void *keys, *values;
};

/*
 * Reads all elements of a hash map (HASH, LRU_HASH, and those per CPU) into TO, whose memory of an
 * earlier call is used again; its elements are overwritten.  A key that is in the map all the time
 * is read exactly once, also while others are added and deleted; one that is added or deleted
 * meanwhile, at most once.  Values are copied as by plumb_map_lookup().  Returns 0, or after a
 * message -errno; TO then has what was read until then, which may be nothing.
 */
int plumb_map_read(int map, struct plumb_elements *to);

/* Frees its memory; it is empty then. */
void plumb_elements_free(struct plumb_elements *elements);
