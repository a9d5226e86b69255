/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of irq-latency. */
#pragma once

#include <plumb/bpf/core/ledger.h>
#include <plumb/bpf/key/key.h>
#include <plumb/bpf/sched/irq-hooks.h>

/* Keys that the tool adds to --by.  Rows are always of one kind: only then one program writes each.
 */
#define IRQ_BY_KIND    (PLUMB_BY_TOOL << 0)
#define IRQ_BY_HANDLER (PLUMB_BY_TOOL << 1)
#define IRQ_BY_PHASE   (PLUMB_BY_TOOL << 2)

enum irq_phase { IRQ_RUNS, IRQ_RAISED, IRQ_PHASES };

struct irq_key {
	struct plumb_who who; /* the thread that was interrupted */
	__u32 kind;           /* IRQ_KIND() of it */
	__u32 what;           /* as in irq-hooks.h */
	__u32 phase;          /* enum irq_phase */
	__u32 pad;
};
_Static_assert(sizeof(struct irq_key) == 72, "no hidden padding in a hash key");

/* Handlers and softirqs that follow one another within this time are one gap of a thread, ns. */
#define IRQ_GAP 1000

/* Whose time is taken: interrupts and softirqs add to victims of their own. */
struct irq_victim_key {
	__u64 id;      /* pid and tid, in the host's namespace; 0: none */
	__u32 cpu;     /* by which this was written */
	__u32 softirq; /* by which program */
};

struct irq_victim {
	struct irq_victim_key key;
	__u64 taken;   /* ns */
	__u64 count;   /* handlers and softirqs */
	__u64 longest; /* gap, ns */
	__u64 ran;     /* CPU time of the thread when it was first seen, ns */
	__u32 by;      /* what took most of the longest gap */
	__u32 own;     /* 1: the thread runs softirqs itself (ksoftirqd) */
	__u32 pid, tid;
	char comm[PLUMB_COMM_LEN];
};

/* Threads and CPUs; the time of those beyond is in irq_untold. */
#define IRQ_VICTIMS 16384

/*
 * When a softirq was raised, ns: FIRST for the next run, NEXT for the one after that; AGAIN: the
 * last time when it was to run already.
 */
struct irq_raised {
	__u64 first, next, again;
};

/* With more CPUs, handlers and softirqs count in the same ledgers. */
#define IRQ_CPUS (PLUMB_LEDGERS / 2)

#define IRQ_CACHED 64 /* numbers whose slots each CPU knows, a power of two */

struct irq_cpu {
	__u64 irq;     /* when the handler began, ns; 0: there is none */
	__u64 softirq; /* the same */
	__u64 nested;  /* ns of handlers in this softirq */
	__u64 since;   /* when it was raised; 0: not known */
	__u64 gap_began, gap_ended;
	__u64 gap_most; /* ns, of its longest part, GAP_BY */
	__u32 gap_by;
	/* Bits of softirqs: raised since the kernel last took all that were; taken, and to be run.
	 */
	__u32 pending, batch;
	__u32 pad;
	struct irq_raised raised[16];
	__u32 slots[IRQ_PHASES][4][IRQ_CACHED]; /* of rows, by kind and number; 0: not known */
	__u64 idle[2];  /* ns that were taken from an idle CPU, by a handler and by a softirq */
	__u64 softirqd; /* ns of softirqs in threads that run them */
	/* The thread that was last interrupted, by a handler and by a softirq; not in the map yet.
	 */
	struct irq_victim victims[2];
};
