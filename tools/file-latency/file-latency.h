/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of file-latency. */
#pragma once

#include <plumb/bpf/syscall/syscall.h>

/* Keys that the tool adds to --by. */
#define FILE_BY_FS    (PLUMB_BY_TOOL << 0)
#define FILE_BY_MOUNT (PLUMB_BY_TOOL << 1)
#define FILE_BY_FILE  (PLUMB_BY_TOOL << 2)
#define FILE_BY_OP    (PLUMB_BY_TOOL << 3)
#define FILE_BY_FLAGS (PLUMB_BY_TOOL << 4)
#define FILE_BY_SIZE  (PLUMB_BY_TOOL << 5)
#define FILE_BY_CACHE (PLUMB_BY_TOOL << 6)
#define FILE_BY_ERRNO (PLUMB_BY_TOOL << 7)

#define FILE_TYPE_LEN 16

enum file_op {
	FILE_READ,
	FILE_WRITE,
	FILE_OPEN,
	FILE_FSYNC, /* and fdatasync */
	FILE_SYNC_RANGE,
	FILE_MMAP,
	FILE_SENDFILE,
	FILE_SPLICE,
	FILE_COPY_RANGE,
	FILE_OPS,
};

/* In addition: system calls that are only counted. */
enum file_untimed {
	FILE_IO_SUBMIT = FILE_OPS,
	FILE_MSYNC,
	FILE_TRUNCATE, /* and ftruncate */
	FILE_ALLOCATE,
	FILE_SYNC_ALL, /* sync, syncfs */
	FILE_CALLS,
};

/* In file_key.op: the operation was submitted to io_uring, or to AIO. */
#define FILE_BY_URING 32U
#define FILE_BY_AIO   64U
#define FILE_OP_MASK  31U

/* Bits of file_key.flags. */
enum { FILE_DIRECT, FILE_SYNC, FILE_DSYNC, FILE_FLAGS };
/* Only in file_facts.flags: the page cache has nothing of the file. */
#define FILE_UNCACHED (1U << 31)

enum file_cache {
	FILE_CACHE_NONE, /* not a read or write, or not known */
	FILE_CACHE_HIT,
	FILE_CACHE_MISS,
	FILE_CACHE_DIRECT,
	FILE_CACHE_STATES,
};

/* A file is known by its file system's device, its inode number and its generation. */
struct file_id {
	__u64 ino;
	__u32 dev; /* major << 20 | minor; 0: not known */
	__u32 generation;
};

struct file_key {
	struct plumb_who who;
	char fs[FILE_TYPE_LEN]; /* the type of the file system; "": not known */
	struct file_id id;
	__u64 size; /* the lowest of its class, bytes */
	__u32 op, flags;
	__u32 error; /* positive errno, 0 for success */
	__u32 cache; /* enum file_cache */
};
_Static_assert(sizeof(struct file_key) == 112, "no hidden padding in a hash key");

/* The names of a file and of the directories above it, up to the root of its file system. */
#define FILE_PATH_DEPTH 24
#define FILE_PATH_LEN   512 /* where the last name may begin */
#define FILE_NAME_LEN   256 /* NAME_MAX and a NUL */

enum file_path_state { FILE_PATH_BEGUN, FILE_PATH_WHOLE, FILE_PATH_CUT };

struct file_path {
	__u32 state;                               /* enum file_path_state, written last */
	__u32 length;                              /* of the names */
	char names[FILE_PATH_LEN + FILE_NAME_LEN]; /* the file's first, each ends with a NUL */
};

/* Requests of io_uring and AIO in flight; beyond them, requests are lost. */
#define FILE_REQUESTS 16384

struct uring_id {
	__u64 ring; /* 0 where the request is known at its end */
	__u64 id;   /* address of the request, or its user_data */
};

struct uring_request {
	struct plumb_who who; /* the thread that submitted it */
	__u64 start;          /* ns, CLOCK_MONOTONIC; 0: it has ended */
	__u64 request;        /* its address */
	__u32 op;             /* as in file_key */
	__u32 pid, tid;
	__u32 pad;
};
_Static_assert(sizeof(struct uring_request) == 88, "no hidden padding in a map's value");

/* How io_uring_complete tells the request and its result. */
enum uring_end {
	URING_END_NONE,      /* io_uring is not traced */
	URING_END_CQE,       /* (ring, request, cqe) */
	URING_END_REQUEST,   /* (ring, request, user_data, result, ...) */
	URING_END_USER_DATA, /* (ring, user_data, result, ...) */
};

#define FILE_TARGETS 32 /* functions, a power of two */

struct file_config {
	__u64 min_ns;
	__u32 only_errors;
	__u32 ops; /* selected: 1 << enum file_op */
	__u32 uring_end;
	__u32 uring_begin; /* the position of the request among the arguments */
	__u32 casts;       /* bpf_rdonly_cast() can be used (peek.bpf.h) */
	__u32 pad;
	__u32 targets[FILE_TARGETS]; /* enum file_op or file_untimed of each function */
	/* 1 + enum file_op or file_untimed, by enum plumb_abi; 0: not traced */
	__u8 calls[2 * PLUMB_SYSCALLS];
};
