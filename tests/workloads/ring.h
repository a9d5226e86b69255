/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ring: io_uring, one request at a time, without a library. */
#pragma once

#include "workload.h"
#include <linux/io_uring.h>

struct ring {
	int fd;
	unsigned int enter_flags;
	unsigned int *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static inline void *ring_map(int fd, size_t length, off_t what)
{
	void *p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);

	if (p == MAP_FAILED)
		die("mmap of a ring: %s", strerror(errno));
	return p;
}

/*
 * FLAGS: IORING_SETUP_...  False, with errno: the kernel has no io_uring, or does not permit it.
 */
static inline bool ring_open(struct ring *r, unsigned int flags)
{
	struct io_uring_params p = {.flags = flags, .sq_thread_idle = 1};
	char *sq, *cq;

	r->enter_flags = flags & IORING_SETUP_SQPOLL ? IORING_ENTER_SQ_WAKEUP : 0;
	r->fd = syscall(SYS_io_uring_setup, 4, &p);
	if (r->fd < 0)
		return false;
	sq = ring_map(r->fd, p.sq_off.array + p.sq_entries * sizeof(unsigned int),
		      IORING_OFF_SQ_RING);
	cq = ring_map(r->fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		      IORING_OFF_CQ_RING);
	r->sqes = ring_map(r->fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	r->sq_tail = (unsigned int *)(sq + p.sq_off.tail);
	r->sq_mask = (unsigned int *)(sq + p.sq_off.ring_mask);
	r->sq_array = (unsigned int *)(sq + p.sq_off.array);
	r->cq_head = (unsigned int *)(cq + p.cq_off.head);
	r->cq_tail = (unsigned int *)(cq + p.cq_off.tail);
	r->cq_mask = (unsigned int *)(cq + p.cq_off.ring_mask);
	r->cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
	return true;
}

/* Submit WANTED; wait for N completions. */
static inline void ring_submit(struct ring *r, const struct io_uring_sqe *wanted, unsigned int n)
{
	unsigned int tail = *r->sq_tail, i = tail & *r->sq_mask;

	r->sqes[i] = *wanted;
	r->sq_array[i] = i;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, 1, n,
		    r->enter_flags | (n ? IORING_ENTER_GETEVENTS : 0), NULL, 0) != 1)
		die("io_uring_enter: %s", strerror(errno));
}

/* Submit WANTED and wait for it; return what the system call would. */
static inline ssize_t ring_call(struct ring *r, const struct io_uring_sqe *wanted)
{
	unsigned int head = *r->cq_head;
	int result;

	ring_submit(r, wanted, 1);
	while (__atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE) == head)
		pause_ns(1000);
	result = r->cqes[head & *r->cq_mask].res;
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	if (result < 0)
		errno = -result;
	return result < 0 ? -1 : result;
}
