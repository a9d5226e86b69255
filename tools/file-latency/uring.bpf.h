/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * uring: operations of io_uring and AIO, from the submission of a request to its completion.
 *
 * Any thread may complete a request: it belongs to the thread that submitted it. Before the kernel
 * issues it, its file may not be known yet, so the file is read at its end.
 */
#pragma once

#include "record.bpf.h"

PLUMB_MAP(uring_requests, HASH, FILE_REQUESTS, struct uring_id, struct uring_request);

/* Of enum io_uring_op, part of the user interface; FILE_OPS: not traced. */
static __always_inline __u32 uring_op(__u32 opcode)
{
	switch (opcode) {
	case 1:  /* READV */
	case 4:  /* READ_FIXED */
	case 22: /* READ */
	case 60: /* READV_FIXED */
		return FILE_READ | FILE_BY_URING;
	case 2:  /* WRITEV */
	case 5:  /* WRITE_FIXED */
	case 23: /* WRITE */
	case 61: /* WRITEV_FIXED */
		return FILE_WRITE | FILE_BY_URING;
	case 3:
		return FILE_FSYNC | FILE_BY_URING;
	case 8:
		return FILE_SYNC_RANGE | FILE_BY_URING;
	case 18: /* OPENAT */
	case 28: /* OPENAT2 */
		return FILE_OPEN | FILE_BY_URING;
	case 30:
		return FILE_SPLICE | FILE_BY_URING;
	default:
		return FILE_OPS | FILE_BY_URING;
	}
}

/*
 * Another program can run on the CPU while one of these is preempted (7.0), but none of these while
 * another runs, except before 5.19, in interrupts. So only these have to add atomically.
 */
#define uring_count(field)                                                                         \
	atomic_add(&plumb_ledgers[bpf_get_smp_processor_id() & (PLUMB_LEDGERS - 1)].field, 1)

struct io_kiocb___user_data { /* before 5.19 */
	__u64 user_data;
	void *ctx;
} __attribute__((preserve_access_index));

static __always_inline void uring_forget(const struct uring_id *id, struct uring_request *r)
{
	r->start = 0; /* a deletion can fail (6.1: the map is busy) */
	bpf_map_delete_elem(&uring_requests, id);
}

/* A request begins at ID, traced or not: one that was known by it has ended without a completion.
 */
static __always_inline void uring_replace(const struct uring_id *id)
{
	struct uring_request *old = bpf_map_lookup_elem(&uring_requests, id);

	if (!old || !old->start)
		return;
	uring_count(exit_lost);
	uring_forget(id, old);
}

/* OP as in file_key. */
static __always_inline int uring_begin_at(const struct uring_id *id, __u64 request, __u32 op)
{
	struct uring_request r = {.request = request, .op = op};
	struct task_struct *task = current_task();

	uring_replace(id);
	if (!plumb_live || !filter_thread(task))
		return 0;
	op &= FILE_OP_MASK;
	if (op >= FILE_OPS || !(file_config.ops >> op & 1) || !filter_entry(task))
		return 0;
	key_current(&r.who, task, bpf_get_smp_processor_id());
	key_trim(&r.who);
	r.pid = current_pid(task);
	r.tid = current_tid(task);
	r.start = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&uring_requests, id, &r, BPF_ANY))
		uring_count(no_state);
	else
		uring_count(began);
	return 0;
}

static __always_inline int uring_begin(struct io_kiocb *request)
{
	struct io_kiocb___user_data *old = (struct io_kiocb___user_data *)request;
	struct uring_id id = {.id = (__u64)request};

	if (file_config.uring_end == URING_END_USER_DATA) {
		id.ring = (__u64)BPF_CORE_READ(old, ctx);
		id.id = BPF_CORE_READ(old, user_data);
	}
	return uring_begin_at(&id, (__u64)request,
			      uring_op(peek(struct io_kiocb, request, opcode)));
}

/* The file of a request that has ended; of an open, the one that it has opened. */
static __always_inline struct file *uring_file(const struct uring_request *r, long ret)
{
	if (r->op & FILE_BY_AIO)
		return peek(struct aio_kiocb, r->request, ki_filp);
	if (r->op != (FILE_OPEN | FILE_BY_URING))
		return peek(struct io_kiocb, r->request, file);
	/* 0: it is not in the table of descriptors, but in the ring's. */
	return ret > 0 ? peek_file_of(current_task(), ret) : NULL;
}

static __always_inline void uring_record(const struct uring_request *r, long ret)
{
	struct file_call c = {.ns = bpf_ktime_get_ns() - r->start, .op = r->op};
	struct file *file = uring_file(r, ret);
	struct file_facts facts = {};
	struct file_key key = {};
	__u32 slot;

	c.error = ret < 0 ? -ret : 0;
	if ((file && !file_is_one(file)) || (file_config.only_errors && !c.error) ||
	    c.ns < file_config.min_ns) {
		uring_count(filtered_at_exit);
		return;
	}
	file_describe(file, &facts);
	c.bytes = c.error ? 0 : file_bytes(c.op & FILE_OP_MASK, ret, 0);
	if (facts.flags & 1 << FILE_DIRECT && plumb_config.by & FILE_BY_CACHE)
		c.cache = FILE_CACHE_DIRECT;
	file_fill(&key, &facts, &c);
	key.who = r->who;
	key_find(&key, &slot);
	file_add_atomically(slot, bpf_get_smp_processor_id(), &c, 1);
}

static __always_inline int uring_end(const struct uring_id *id, long ret)
{
	struct uring_request *r = bpf_map_lookup_elem(&uring_requests, id);

	/* What began before the trace is not known here: whose it was, and what. */
	if (!r || !r->start)
		return 0;
	uring_record(r, ret);
	uring_forget(id, r);
	return 0;
}

SEC("raw_tp/io_uring_submit_req")
int uring_submitted(struct bpf_raw_tracepoint_args *ctx)
{
	return uring_begin((struct io_kiocb *)argument(ctx, file_config.uring_begin));
}

SEC("raw_tp/io_uring_complete")
int uring_completed(struct bpf_raw_tracepoint_args *ctx)
{
	struct uring_id id = {};
	struct io_uring_cqe *cqe;

	id.id = argument(ctx, 1);
	switch (file_config.uring_end) {
	case URING_END_CQE:
		cqe = (struct io_uring_cqe *)argument(ctx, 2);
		return uring_end(&id, peek(struct io_uring_cqe, cqe, res));
	case URING_END_REQUEST:
		return uring_end(&id, (int)argument(ctx, 3));
	default:
		id.ring = argument(ctx, 0);
		return uring_end(&id, (int)argument(ctx, 2));
	}
}

/*
 * The same by perf tracepoints, whose programs cannot be preempted, and then skipped for other
 * threads, as those on raw tracepoints can be from 7.0 on.
 */
struct trace_event_raw_io_uring_submit_req___7 {
	void *req;
} __attribute__((preserve_access_index));

struct trace_event_raw_io_uring_complete___7 {
	void *req;
	int res;
} __attribute__((preserve_access_index));

SEC("tp/io_uring/io_uring_submit_req")
int uring_submitted_event(struct trace_event_raw_io_uring_submit_req___7 *ctx)
{
	return uring_begin(ctx->req);
}

SEC("tp/io_uring/io_uring_complete")
int uring_completed_event(struct trace_event_raw_io_uring_complete___7 *ctx)
{
	struct uring_id id = {.id = (__u64)ctx->req};

	return uring_end(&id, ctx->res);
}
