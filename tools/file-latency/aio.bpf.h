/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * aio: operations of AIO (io_submit), from the submission of a request to its completion, on
 * functions, since no tracepoint shows them: by fentry or kprobe programs, as the mechanism has it.
 * The former may be preempted, and then skipped for other threads; the latter are skipped in
 * interrupts, which complete requests, while another kprobe program runs on the CPU.
 */
#ifndef FILE_AIO_BPF_H
#define FILE_AIO_BPF_H

#include "uring.bpf.h"

/* In place of a ring. */
#define AIO_RING (~0ULL)

/* The request begins with what its operation has as its first argument. */
static __always_inline int aio_begin(__u64 request, __u32 op)
{
	struct uring_id id = {.ring = AIO_RING, .id = request};

	return uring_begin_at(&id, request, op | FILE_BY_AIO);
}

static __always_inline int aio_end(__u64 request)
{
	struct uring_id id = {.ring = AIO_RING, .id = request};

	return uring_end(&id, peek(struct aio_kiocb, request, ki_res.res));
}

#define AIO_PROGRAMS(function, handle, ...)                                                        \
	SEC("fentry/" #function)                                                                   \
	int function##_fentry(__u64 *ctx)                                                          \
	{                                                                                          \
		return handle(ctx[0], ##__VA_ARGS__);                                              \
	}                                                                                          \
	SEC("kprobe/" #function)                                                                   \
	int function##_kprobe(struct pt_regs *ctx)                                                 \
	{                                                                                          \
		return handle(PT_REGS_PARM1(ctx), ##__VA_ARGS__);                                  \
	}

AIO_PROGRAMS(aio_read, aio_begin, FILE_READ)
AIO_PROGRAMS(aio_write, aio_begin, FILE_WRITE)
AIO_PROGRAMS(aio_fsync, aio_begin, FILE_FSYNC)
AIO_PROGRAMS(aio_complete, aio_end)

#endif
