/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * aio: operations of AIO (io_submit), from the submission of a request to its completion, on
 * functions, since no tracepoint shows them: by fentry or kprobe programs, as the mechanism has it.
 * The former may be preempted, and then skipped for other threads; the latter are skipped in
 * interrupts, which complete requests, while another kprobe program runs on the CPU.
 */
#pragma once

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

/*
 * The function that issues a request has returned. If it fails, no completion follows: io_submit()
 * frees the request after that. Otherwise the request may be another one by now.  A function, since
 * it is large, rarely does anything, and is called by six programs.
 */
static __noinline int aio_issued(__u64 request, int ret)
{
	struct uring_id id = {.ring = AIO_RING, .id = request};

	return ret ? uring_end(&id, ret) : 0;
}

/* The request that each thread is issuing: a kretprobe program has no arguments. */
PLUMB_MAP(aio_issuing, LRU_HASH, 4096, __u64, __u64);

static __always_inline int aio_begin_by_kprobe(__u64 request, __u32 op)
{
	__u64 task = (__u64)current_task();

	bpf_map_update_elem(&aio_issuing, &task, &request, BPF_ANY);
	return aio_begin(request, op);
}

static __always_inline int aio_issued_by_kprobe(int ret)
{
	__u64 task = (__u64)current_task(), *request = bpf_map_lookup_elem(&aio_issuing, &task);

	if (request) {
		aio_issued(*request, ret);
		bpf_map_delete_elem(&aio_issuing, &task);
	}
	return 0;
}

SEC("fentry/aio_read")
int aio_read_fentry(__u64 *ctx)
{
	return aio_begin(ctx[0], FILE_READ);
}

/* The result follows the arguments. */
SEC("fexit/aio_read")
int aio_read_end_fentry(__u64 *ctx)
{
	return aio_issued(ctx[0], ctx[4]);
}

SEC("kprobe/aio_read")
int aio_read_kprobe(struct pt_regs *ctx)
{
	return aio_begin_by_kprobe(PT_REGS_PARM1(ctx), FILE_READ);
}

SEC("kretprobe/aio_read")
int aio_read_end_kprobe(struct pt_regs *ctx)
{
	return aio_issued_by_kprobe(PT_REGS_RC(ctx));
}

SEC("fentry/aio_write")
int aio_write_fentry(__u64 *ctx)
{
	return aio_begin(ctx[0], FILE_WRITE);
}

SEC("fexit/aio_write")
int aio_write_end_fentry(__u64 *ctx)
{
	return aio_issued(ctx[0], ctx[4]);
}

SEC("kprobe/aio_write")
int aio_write_kprobe(struct pt_regs *ctx)
{
	return aio_begin_by_kprobe(PT_REGS_PARM1(ctx), FILE_WRITE);
}

SEC("kretprobe/aio_write")
int aio_write_end_kprobe(struct pt_regs *ctx)
{
	return aio_issued_by_kprobe(PT_REGS_RC(ctx));
}

SEC("fentry/aio_fsync")
int aio_fsync_fentry(__u64 *ctx)
{
	return aio_begin(ctx[0], FILE_FSYNC);
}

SEC("fexit/aio_fsync")
int aio_fsync_end_fentry(__u64 *ctx)
{
	return aio_issued(ctx[0], ctx[3]);
}

SEC("kprobe/aio_fsync")
int aio_fsync_kprobe(struct pt_regs *ctx)
{
	return aio_begin_by_kprobe(PT_REGS_PARM1(ctx), FILE_FSYNC);
}

SEC("kretprobe/aio_fsync")
int aio_fsync_end_kprobe(struct pt_regs *ctx)
{
	return aio_issued_by_kprobe(PT_REGS_RC(ctx));
}

SEC("fentry/aio_complete")
int aio_complete_fentry(__u64 *ctx)
{
	return aio_end(ctx[0]);
}

SEC("kprobe/aio_complete")
int aio_complete_kprobe(struct pt_regs *ctx)
{
	return aio_end(PT_REGS_PARM1(ctx));
}
