/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF program of request-latency. */
#pragma once

#include <plumb/bpf/net/ends.h>

/* What the tool adds to --by, besides those of bpf/net/ends.h. */
#define REQUEST_BY_SERVER (TCP_BY_TOOL << 0)
#define REQUEST_BY_STAGE  (TCP_BY_TOOL << 1)

#define REQUEST_SOCKETS 65536 /* accepted connections; those beyond are not followed */
#define REQUEST_SOCKETS_KEPT                                                                       \
	8192 /* the same where maps cannot allocate in programs: before 6.1                        \
	      */
#define REQUEST_PATHS 1024
#define REQUEST_PATH  108 /* UNIX_PATH_MAX */

/* The stages of a request follow each other: queued + service = whole. */
enum request_stage { REQUEST_WHOLE, REQUEST_QUEUED, REQUEST_SERVICE, REQUEST_STAGES };

/* What the time of a request consists of. */
enum request_part {
	/* Until the last of the reply is sent, by what the thread did that read the request: */
	REQUEST_BLOCKED,    /* it slept, for another reason than the next three */
	REQUEST_LOCK,       /* it slept for a lock */
	REQUEST_DISK,       /* it slept for I/O of files */
	REQUEST_DOWNSTREAM, /* it slept until another socket answered what it had sent there */
	REQUEST_PREEMPTED,
	REQUEST_QUOTA, /* the same, with the CPU quota of its cgroup used up */
	REQUEST_RUNQ,
	REQUEST_IRQ,    /* it had a CPU, and interrupts and softirqs took that */
	REQUEST_KERNEL, /* it had a CPU in system calls, if these are followed */
	REQUEST_HANDED, /* another thread has sent the reply, or it is not known which */
	/* Until it is read, by what the thread did that then reads it: */
	REQUEST_BUSY,   /* something else, mostly other requests */
	REQUEST_LATE,   /* it was runnable, without a CPU */
	REQUEST_ASLEEP, /* it slept, and served nothing */
	REQUEST_OFF,
	REQUEST_ON_CPU = REQUEST_OFF,
	REQUEST_PARTS
};
/* Of these a thread has an account. */
#define REQUEST_ACCOUNTS REQUEST_HANDED

/* A system call or a peer in which a thread has had a part of its time. */
#define REQUEST_USES 16 /* of a thread, by use; what it does in others is in the parts only */
struct request_use {
	__u64 what; /* the part, and below REQUEST_WHAT_SHIFT the call or the peer */
	__u64 ns;
};
#define REQUEST_WHAT_SHIFT 56
#define REQUEST_WHAT(part) ((__u64)(part) << REQUEST_WHAT_SHIFT)
/* The number and 1 of the call, and its table; 0: no call. */
#define REQUEST_CALL_ABI_SHIFT 32

/* A time without a CPU: between these the thread has one. */
#define REQUEST_SPANS 16
struct request_span {
	__u64 what;    /* as in struct request_use */
	__u64 from;    /* ns, CLOCK_MONOTONIC */
	__u64 waiting; /* from then on it was runnable */
	__u64 until;
};

/* The sums of a row's requests. */
#define REQUEST_ROW_USES 16384
struct request_row_use {
	__u64 what;
	__u32 slot, pad;
};

/* The other end of a socket that a server asks, by a number of 56 bits. */
#define REQUEST_PEERS 1024
struct request_peer {
	struct tcp_address address;
	char comm[PLUMB_COMM_LEN]; /* of the process at the other end of a unix socket */
	__u32 pid;                 /* the same; 0: not known */
	__u16 port, family;
};
_Static_assert(sizeof(struct request_peer) == 40, "no hidden padding in what is hashed");

/* Kinds of system calls by what threads sleep for in them. */
enum request_call_kind { REQUEST_OF_DISKS, REQUEST_OF_LOCKS, REQUEST_OF_FUTEXES };

struct request_key {
	struct plumb_who who; /* the thread that read the request first */
	struct tcp_ends ends; /* empty, of a unix socket */
	__u64 path;           /* of a unix socket: the hash of its name, never 0 */
	__u32 port;           /* of TCP, the server's */
	__u32 stage;
};
_Static_assert(sizeof(struct request_key) == 112, "no hidden padding in a hash key");

/* A connection that a server accepted, by its socket. */
struct request_socket {
	/* The request that is open, times in ns, CLOCK_MONOTONIC: */
	__u64 first;  /* its data began to arrive; 0: none is open */
	__u64 read;   /* its first bytes were read; 0: not yet */
	__u64 sent;   /* the last time that something was sent since; 0: nothing was */
	__u64 second; /* data arrived when all before were read, and no reply was sent; 0: none did
		       */
	__u64 reader; /* the task that read it */
	__u64 sender; /* the task that sent last; 0: none, or its account is not known */
	__u64 late, asleep;              /* in the queue; the rest is REQUEST_BUSY */
	__u64 account[REQUEST_ACCOUNTS]; /* of the reader when it had read, */
	__u64 service[REQUEST_ACCOUNTS]; /* and how it had grown when it sent last */
	__u64 before[REQUEST_USES];      /* the same of the reader's uses: ns of the first N, */
	struct request_use uses[REQUEST_USES]; /* and how these had grown */
	__u32 n_before, n_uses;
	/* The reader's last ones when it sent last, the oldest first, of requests that are sent one
	 * by one. */
	struct request_span spans[REQUEST_SPANS];
	__u32 unsent;   /* request_written() when it was read */
	__u32 is_sent;  /* the same when SENT was noted */
	__u32 rejected; /* by the filters */
	__u32 mixed;    /* not separable from others */
	__u32 drained;  /* all that had arrived was read */
	__u32 pid, tid;
	char comm[PLUMB_COMM_LEN]; /* what is behind the NUL may be stale */
	struct plumb_who who;
	__u32 slots[REQUEST_STAGES]; /* of the rows of WHO and this connection; 0: not known */

	/* The connection: */
	__u32 gone;        /* it was closed */
	__u32 over;        /* of TCP: nothing more can be sent */
	__u32 known;       /* since it was made, or since the end of a request */
	__u32 arrived;     /* of TCP: the number of the byte after the last one */
	__u32 from;        /* the same when data arrived at FIRST, before them */
	__u32 second_from; /* the same at SECOND */
	__u32 sends;       /* of unix sockets */
	__u64 path;        /* as in the key; 0: it is no unix socket */
	__u64 address;     /* of a unix socket: that of its name, in the kernel */
	struct tcp_address raddr;
	__u32 port;
};
_Static_assert(sizeof(struct request_socket) % 8 == 0, "no hidden padding in a map's value");

/* A call that a kprobe has seen begin. */
#define REQUEST_CALLS 16384
struct request_call {
	__u64 sk;
	__u32 flags, pad;
};

struct request_path {
	__u32 length;
	union {
		char path[REQUEST_PATH];
		__u32 words[REQUEST_PATH / 4];
	};
};

/* A request that took at least request_config.min_ns. */
struct request_slow {
	__u64 end; /* ns, CLOCK_MONOTONIC */
	__u64 ns[REQUEST_STAGES];
	struct request_span spans[REQUEST_SPANS]; /* FROM 0: none; some are of other requests */
	__u64 off[REQUEST_OFF];
	__u64 path;
	struct tcp_address raddr;
	__u32 port, pid, tid, pad;
	char comm[PLUMB_COMM_LEN];
};

struct request_config {
	__u64 min_ns;    /* shorter requests are not recorded */
	__u32 slower;    /* 1: recorded requests are also sent one by one */
	__u32 early;     /* 1: tcp_sendmsg_locked says when TCP is about to take bytes */
	__u32 calls;     /* 1: the time in system calls is told from that in user mode */
	__u32 exchanges; /* 1: BPF has an atomic exchange */
	__u32 reads; /* of the functions that are probed, the first ones receive, the others send */
	__u32 pad;
};
