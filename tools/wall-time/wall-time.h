/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of wall-time. */
#pragma once

#include <plumb/bpf/sched/meanwhile.h>
#include <plumb/bpf/sched/waker.h>
#include <plumb/bpf/stack/stacks.h>

/* What a row has the time of. */
enum wall_kind {
	WALL_ON,        /* on a CPU */
	WALL_INTERRUPT, /* interrupted there: a part of WALL_ON */
	WALL_SAMPLE,    /* nothing: it counts samples that were taken there */
	WALL_ASLEEP,    /* until it was woken */
	WALL_STOPPED,   /* by a signal or a debugger */
	WALL_RUNNABLE,  /* without a CPU; who had it is in the key */
	WALL_THROTTLED, /* the same, because its cgroup had used up its quota */
	WALL_BEFORE,    /* what it did when the trace began */
	WALL_KINDS
};

/* plumb_stack_key.what: a system call's number and 1, or 0; and what else is known of a sleep. */
#define WALL_CALL     0xffffU
#define WALL_OP_SHIFT 16 /* futex: the operation, 7 bits */
#define WALL_OP       0x7fU
#define WALL_RWLOCK   (1U << 29) /* the loader's: a futex of a read-write lock */
#define WALL_LIMITED  (1U << 30) /* there is a limit of I/O for the disk of its file */
#define WALL_IO       (1U << 31) /* the kernel counts it as a wait for I/O */

/* Another thread: it woke this one, or had the CPU. */
struct wall_other {
	__u32 kind; /* enum plumb_waker_kind; of the second, PLUMB_PREEMPTER or PLUMB_PREEMPTER_IDLE
		     */
	__u32 pid, tid;
	__u32 call; /* the system call's number and 1 in which a waker was; 0: in none */
	__s32 nice; /* of who had the CPU, or PLUMB_REALTIME */
	/* How many CPUs it may use, and which, if that is only one. */
	__u16 n_allowed, cpu;
	char comm[PLUMB_COMM_LEN];
};
_Static_assert(sizeof(struct wall_other) == 40, "no hidden padding in a hash key");

/* The other end of a socket. */
struct wall_peer {
	__u16 family;      /* AF_INET, AF_INET6 or AF_UNIX */
	__u16 port, local; /* host byte order */
	__u16 pad;
	__u32 pid; /* AF_UNIX: the process that made it */
	__u8 address[16];
};
_Static_assert(sizeof(struct wall_peer) == 28, "no hidden padding in a map's value");

/* That was used up. */
struct wall_quota {
	__u64 cgroup, quota, period; /* as in struct plumb_meanwhile */
};

struct wall_key {
	struct plumb_stack_key stack;
	__u32 kind;
	__u32 device; /* of the regular file that the call's descriptor is; 0: it is none */
	__u64 peer;   /* key of wall_peers, if it is a socket; 0: it is none */
	union {
		struct wall_other other;
		struct wall_quota quota; /* of WALL_THROTTLED */
	};
};

/* How a thread left its CPU: plumb_thread.how. */
enum wall_how {
	WALL_NEVER_LEFT,
	WALL_SLEPT,
	WALL_WAS_STOPPED,
	WALL_WAS_PREEMPTED,
	WALL_WAS_THROTTLED
};
