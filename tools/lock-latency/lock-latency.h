/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of lock-latency. */
#pragma once

#include <plumb/bpf/sched/waker.h>
#include <plumb/bpf/stack/stacks.h>

/* Keys that the tool adds to --by. */
#define LOCK_BY_KIND   (PLUMB_BY_TOOL << 0)
#define LOCK_BY_LOCK   (PLUMB_BY_TOOL << 1)
#define LOCK_BY_CALLER (PLUMB_BY_TOOL << 2)
#define LOCK_BY_OWNER  (PLUMB_BY_TOOL << 3)
#define LOCK_BY_DOING  (PLUMB_BY_TOOL << 4)
#define LOCK_BY_ASLEEP (PLUMB_BY_TOOL << 5)

enum lock_kind {
	LOCK_MUTEX,
	LOCK_RWSEM_READ,
	LOCK_RWSEM_WRITE,
	LOCK_SPINLOCK,
	LOCK_RWLOCK_READ,
	LOCK_RWLOCK_WRITE,
	LOCK_RTMUTEX,
	LOCK_RT_READ,
	LOCK_RT_WRITE,
	LOCK_PERCPU_READ,
	LOCK_PERCPU_WRITE,
	LOCK_SEMAPHORE,
	LOCK_KINDS
};

/* Where a lock is that has no symbol: the member of a struct, of which something is known. */
enum lock_member {
	LOCK_NOWHERE,    /* not known */
	LOCK_MMAP,       /* mm_struct.mmap_lock, NUMBER and NAME are those of the process */
	LOCK_INODE,      /* inode.i_rwsem, NUMBER is that of the inode, NAME that of the file */
	LOCK_I_MMAP,     /* address_space.i_mmap_rwsem, the same */
	LOCK_INVALIDATE, /* address_space.invalidate_lock, the same */
	LOCK_UMOUNT,     /* super_block.s_umount, NAME is s_id: that of the block device */
	LOCK_ANON_VMA,   /* anon_vma.rwsem */
	LOCK_PIPE,       /* pipe_inode_info.mutex, NUMBER is that of the inode */
	LOCK_POSITION,   /* file.f_pos_lock, as that of an inode */
	LOCK_EPOLL,      /* eventpoll.mtx */
	LOCK_RQ,         /* rq.__lock, NUMBER is that of the CPU */
	LOCK_MEMBERS
};

#define LOCK_NAME_LEN 32

struct lock_id {
	__u64 lock;   /* its address */
	__u64 caller; /* an address in the function that waits for it; 0: not known or not needed */
	__u64 number;
	__u32 kind;   /* enum lock_kind */
	__u32 member; /* enum lock_member */
	char name[LOCK_NAME_LEN];
};

/* A thread that holds a lock. */
struct lock_holder {
	__u32 pid, tid; /* 0: not known */
	__u32 shared;   /* not one thread, readers; that of the others is 0 */
	__u32 call;     /* the number and 1 of the system call that it was in; 0: none */
	char comm[PLUMB_COMM_LEN];
};

struct lock_key {
	struct plumb_stack_key stack; /* with --stacks the waiter's */
	struct lock_id id;
	union { /* a program has stack for one of them */
		struct {
			struct lock_holder owner;
			__u64 asleep; /* a place, see below */
		};
		struct plumb_waker owner_at; /* with --stacks; only its kind and kernel stack */
	};
};
_Static_assert(sizeof(struct lock_key) == 176, "no hidden padding in a hash key");

/*
 * Where threads slept, and how long: an address in the function, or with --stacks the number of
 * the stack and LOCK_PLACES_FROM.  The last entry is that of all further places.
 */
#define LOCK_PLACES 4
struct lock_sleeps {
	__u64 at[LOCK_PLACES];
	__u64 ns[LOCK_PLACES];
};
enum { LOCK_PLACE_NONE, LOCK_PLACE_UNKNOWN, LOCK_PLACE_OTHER, LOCK_PLACES_FROM };

/* What the owner did in the time of a wait. */
enum lock_part {
	LOCK_PREEMPTED, /* runnable, without a CPU */
	LOCK_QUOTA,     /* the same, with the CPU quota of its cgroup used up */
	LOCK_ASLEEP,
	LOCK_OFF,                /* these are off the CPU */
	LOCK_UNKNOWN = LOCK_OFF, /* it was not known, or there were readers */
	LOCK_ON_CPU,
	LOCK_PARTS
};

/* In plumb_totals.counters: waits in which the lock was handed on. */
#define LOCK_HANDED_ON 0

/* A wait that has not ended. */
struct lock_wait {
	struct lock_id id;
	__u64 start; /* ns, CLOCK_MONOTONIC */
	__u64 task;
	__u32 known; /* HELD is, since the wait began */
	__u32 pad;
	__u64 sums[LOCK_ON_CPU];  /* those of the lock (held_lock) then */
	__u64 turns;              /* the same of held_lock.turns */
	__u32 followed;           /* the lock has them */
	__u32 handed_on;          /* to another owner, before the waiter got it */
	__u64 slept[LOCK_PLACES]; /* as SUMS, of held_lock.slept */
	__u64 asleep;             /* when it has ended: where owners slept longest */
	__s32 kernel, user;       /* with --stacks */
	__s32 release;            /* the stack of the thread that released the lock */
	__u32 tgid;               /* of the user stack */
	struct lock_holder held;
};

#define LOCK_THREAD_WAITS 2

struct lock_thread {
	__u64 depth;
	struct lock_wait waits[LOCK_THREAD_WAITS];
};

/* Addresses of kernel functions: TO is not included. */
struct lock_text {
	__u64 from, to;
};

/* Those that take sleeping locks and spinning ones, and the one by which readers release a rwsem.
 */
enum { LOCK_TEXT_SLEEPS, LOCK_TEXT_SPINS, LOCK_TEXT_UP_READ, LOCK_TEXTS };
