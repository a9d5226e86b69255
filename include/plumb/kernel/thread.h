/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* thread: a thread in /proc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/bpf/key/key.h>

/*
 * Reads /proc/PID/task/TID/NAME to TEXT; 0, or -errno (TEXT is "" then).  The ids are those that
 * programs see: -ESRCH in a pid namespace where they are others'.
 */
int plumb_thread_read(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size);

/* The name of a thread; "?" if it has exited. */
void plumb_thread_comm(uint32_t pid, uint32_t tid, char comm[PLUMB_COMM_LEN]);

/* What the keys BY have of a thread, as far as it is still there; the CPU is its last one. */
void plumb_thread_who(uint32_t pid, uint32_t tid, uint32_t by, struct plumb_who *who);

struct plumb_thread_stat {
	char state;     /* 'R', 'S', 'D', ... */
	uint64_t begun; /* start, ns since boot, in ticks of 10 ms */
	uint32_t cpu;   /* on which it runs or last ran, or which it waits for */
};

int plumb_thread_stat(uint32_t pid, uint32_t tid, struct plumb_thread_stat *stat);

/*
 * The time (ns, CLOCK_MONOTONIC) when a sleeping thread last ran; 0: not known.  It is too late by
 * the time that interrupts and the hypervisor have taken from that CPU since then.
 */
uint64_t plumb_thread_slept(uint32_t pid, uint32_t tid);

/* The process of a thread; 0: there is no such thread. */
uint32_t plumb_thread_process(uint32_t tid);

/* Whether all that is left of a process is its exit status, which its parent has not read. */
bool plumb_process_is_zombie(uint32_t pid);

/* The pid namespace of this process and of /proc, by inode, whose ids are used; 0: the host's. */
uint32_t plumb_pid_namespace(void);

/* Whether this process is in another pid namespace than the host's, and /proc is not of that. */
bool plumb_pids_are_foreign(void);

/* Whether a pidfd can refer to any thread (6.9), and not only to a process's main thread. */
bool plumb_threads_have_pidfds(void);
/* Returns a pidfd of a thread; negative: not possible. */
int plumb_thread_pidfd(uint32_t tid);
