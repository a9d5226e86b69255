/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* causes: what a thread did, or waited for, as told by its stack, its system call and its waker. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wall-time.h"

enum cause {
	CAUSE_USER,     /* on a CPU, in user code */
	CAUSE_CALL,     /* in a system call */
	CAUSE_FAULTING, /* in a page fault */
	CAUSE_IRQ,      /* interrupted: in an interrupt or a softirq */
	CAUSE_KERNEL,   /* in the kernel for another reason; or a thread of the kernel */
	CAUSE_ON,       /* on a CPU, where no sample was taken */
	CAUSE_TAKEN,    /* runnable: another thread had the CPU */
	CAUSE_IDLE_CPU, /* runnable: its CPU was idle and had to wake up, or it moved there */
	CAUSE_QUOTA,
	CAUSE_DISK,
	CAUSE_LIMIT,  /* the same, or a limit of I/O of its cgroup */
	CAUSE_THREAD, /* another thread of the process woke it */
	CAUSE_PROCESS,
	CAUSE_KTHREAD, /* a thread of the kernel did */
	CAUSE_PEER,    /* data from the network */
	CAUSE_TIMER,
	CAUSE_FAULT, /* asleep in a page fault, but not for a disk */
	CAUSE_MEMORY,
	CAUSE_STOPPED,
	CAUSE_OTHER, /* asleep; none of these */
	CAUSE_UNTOLD,
	CAUSES
};

/* What there is to judge by. */
struct clue {
	enum wall_kind kind;
	uint32_t what; /* as plumb_stack_key.what */
	const struct wall_other *other;
	uint32_t pid;
	bool served; /* the call's socket was accepted: what comes there is new work */
	bool asks;   /* it is another one that is connected: what comes there is an answer */
	const char *const *frames; /* of the kernel, innermost first */
	size_t n;
};

enum cause cause_of(const struct clue *c);

/* Whether the stack is that of a thread of the kernel, which makes no system calls. */
bool cause_is_kthread(const struct clue *c);

/* The innermost frame that is not about sleeping as such; NULL: there is none. */
const char *cause_place(const struct clue *c);

/* What a sleep has to do with a thread's work (wall-time(8), IDLE THREADS). */
enum work {
	WORK_NOT,    /* it is a part of it */
	WORK_PAUSE,  /* a sleep until a time, which the thread itself chose */
	WORK_CLIENT, /* until a client wants something */
	WORK_WAIT,   /* in a call in which threads wait for work, or for an answer */
	WORK_POOL,   /* for another thread, which has work or holds a lock */
};
enum work cause_work(const struct clue *c, enum cause cause);

/* "waiting for the disk"; and as a word for JSON. */
const char *cause_text(enum cause cause);
const char *cause_word(enum cause cause);
bool cause_is_on_cpu(enum cause cause);
