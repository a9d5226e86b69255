/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* threads: those of the running system that the filters let pass, and what /proc says of one. */
#ifndef PLUMB_THREADS_H
#define PLUMB_THREADS_H

#include <plumb/session.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Calls EACH for the threads of the processes, thread ids and cgroups that are asked for, of the
 * command's descendants, or of all processes but this one; the filter by name is
 * plumb_thread_is_named()'s.  False where DEADLINE (ns, CLOCK_MONOTONIC) came first.
 */
bool plumb_threads_each(const struct plumb_session *s, uint64_t deadline,
			void (*each)(void *context, uint32_t pid, uint32_t tid), void *context);

/* Has it a name that is asked for? */
bool plumb_thread_is_named(const struct plumb_options *o, uint32_t pid, uint32_t tid);

/* Reads /proc/PID/task/TID/NAME; 0, "" in TEXT, or -errno where it cannot be read. */
int plumb_thread_read(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size);

/* Its name; "?" where it has ended. */
void plumb_thread_comm(uint32_t pid, uint32_t tid, char comm[PLUMB_COMM_LEN]);

struct plumb_thread_stat {
	char state;     /* 'R', 'S', 'D', ... */
	uint64_t begun; /* ns since the system was booted, in ticks of 10 ms */
	uint32_t cpu;   /* the one that it has, had, or waits for */
};

int plumb_thread_stat(uint32_t pid, uint32_t tid, struct plumb_thread_stat *stat);

/*
 * Since when it has had no CPU (ns, CLOCK_MONOTONIC), if it is asleep; 0: not known.  Late by what
 * interrupts and the hypervisor have taken from that CPU since.
 */
uint64_t plumb_thread_slept(uint32_t pid, uint32_t tid);

/* The process of a thread; 0: there is no such thread. */
uint32_t plumb_thread_process(uint32_t tid);

#endif
