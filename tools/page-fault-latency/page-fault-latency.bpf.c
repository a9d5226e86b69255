/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mechanism of software events, which needs no probe on a function.
 *
 * The event page-faults fires in the architecture's handler, once for each fault that it is going
 * to handle: after it has refused those in interrupts and with page faults disabled, before it
 * takes a lock and looks for the mapping.  page-faults-min or -maj fires at the end of
 * handle_mm_fault(), when the fault is handled, and not if it is to be retried; all retries are
 * therefore in one pair.  A fault that fails (SIGSEGV, SIGBUS, EFAULT), and one that a signal
 * interrupts, has no second event.  All this was seen on 5.10, 6.1, 6.12, 6.18 and 7.3.
 *
 * The kernel runs the programs in the context of the thread and with preemption disabled, so they
 * cannot interrupt each other on a CPU.
 */
#include <plumb/bpf/core/cpus.bpf.h>
#include <plumb/bpf/sched/return.h>

/*
 * The user's registers when a fault of user code ended.  They are the thread's until it is in user
 * mode, or again in a fault of the same instruction.  On x86 the flags have a bit (RF) in an
 * exception, and not in an interrupt that comes later, but in a string instruction; that counts in
 * cx.
 */
struct fault_registers {
	__u64 ip, sp, flags, counter;
};

#if defined(__TARGET_ARCH_x86)
#define FAULT_FLAGS   flags
#define FAULT_COUNTER cx
#else
#define FAULT_FLAGS   pstate
#define FAULT_COUNTER regs[0]
#endif

/* The fault that the thread is in. */
struct fault_thread {
	__u64 start; /* ns, CLOCK_MONOTONIC; 0: none */
	__u64 address;
	__u64 faults; /* that the kernel had counted of this thread when the fault began */
	__u64 code;   /* error code of the exception, if it is traced */
	struct plumb_return ret; /* its last fault, of user code */
	struct fault_registers registers;
};

#define PLUMB_THREAD struct fault_thread
#include <plumb/bpf/core/inflight-one.bpf.h>
#include <plumb/bpf/sched/return.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>
#include "find-mapping.bpf.h"
#include "mapping.bpf.h"

#define PLUMB_KEY struct fault_key
#include <plumb/bpf/key/key-cpu.bpf.h>

static __always_inline __u64 faults_counted(struct task_struct *task)
{
	return current_read(task, min_flt) + current_read(task, maj_flt);
}

/*
 * The thread's last fault did not reach the program for its end.  If the kernel has counted a fault
 * since, the program was not run.  Otherwise the fault failed, or a signal interrupted it.
 */
static __always_inline void count_left(struct fault_thread *t, __u64 faults, __u32 cpu)
{
	t->start = 0;
	if (faults != t->faults)
		ledger_count(cpu, exit_lost);
	else
		ledger_count(cpu, abandoned);
}

SEC("perf_event")
int fault_begin(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	struct fault_thread *t;
	__u64 faults;

	if (!filter_thread(task))
		return 0;
	if (!filter_entry(task)) {
		/* Its name or cgroup has changed since. */
		t = inflight_get(task);
		if (t && t->start)
			count_left(t, faults_counted(task), cpu);
		if (t)
			return_forget(t);
		return 0;
	}
	t = inflight_make(task);
	if (!t) {
		ledger_count(cpu, no_state);
		return 0;
	}
	faults = faults_counted(task);
	if (t->start)
		count_left(t, faults, cpu);
	return_forget(t);
	ledger_count(cpu, began);
	t->address = ctx->addr;
	t->faults = faults;
	t->start = bpf_ktime_get_ns();
	return 0;
}

static __always_inline __u32 fault_slot(struct task_struct *task, __u64 address, __u64 code,
					__u32 type, __u32 cpu)
{
	struct fault_key key = {.type = type};

	if (plumb_config.by & FAULT_BY_MAPPING)
		mapping_fill(mapping_find(task, address, cpu), code, &key);
	if (!(plumb_config.by & FAULT_BY_TYPE))
		key.type = 0;
	return key_cpu_slot(task, &key, cpu);
}

/*
 * Whether both events are of the same fault: an architecture may pass the address of the page to
 * the second.  Pages are 64 KiB at most.
 */
static __always_inline bool is_same_fault(__u64 a, __u64 b)
{
	return a >> 16 == b >> 16;
}

static __always_inline int fault_end(struct bpf_perf_event_data *ctx, __u32 type)
{
	struct task_struct *task = current_task();
	__u64 now = bpf_ktime_get_ns(), start;
	__u32 cpu = bpf_get_smp_processor_id(), slot;
	struct fault_thread *t;

	if (!filter_thread(task))
		return 0;
	t = inflight_get(task);
	if (!t || !t->start) {
		if (plumb_live && filter_entry(task))
			ledger_count(cpu, unmatched);
		return 0;
	}
	start = t->start;
	t->start = 0;
	if (!is_same_fault(t->address, ctx->addr)) {
		ledger_count(cpu, unpaired);
		return 0;
	}
	slot = fault_slot(task, ctx->addr, t->code, type, cpu);
	hist_record(slot, cpu, now - start, 0, false);
	if ((__s64)PT_REGS_IP(&ctx->regs) < 0) /* of the kernel: it goes on there */
		return 0;
	t->registers = (struct fault_registers){
		.ip = PT_REGS_IP(&ctx->regs),
		.sp = PT_REGS_SP(&ctx->regs),
		.flags = ctx->regs.FAULT_FLAGS,
		.counter = ctx->regs.FAULT_COUNTER,
	};
	t->ret.slot = slot;
	t->ret.ns = now - start;
	t->ret.ended = now;
	return 0;
}

/* ---- waits on the way out ---- */

static __always_inline bool return_find(struct fault_thread *t, struct task_struct *task)
{
	const struct pt_regs *regs;

	if (t->start || !t->ret.ended)
		return false;
	regs = return_registers(task);
	if (PT_REGS_IP_CORE(regs) != t->registers.ip || PT_REGS_SP_CORE(regs) != t->registers.sp ||
	    BPF_CORE_READ(regs, FAULT_FLAGS) != t->registers.flags ||
	    BPF_CORE_READ(regs, FAULT_COUNTER) != t->registers.counter)
		return false;
	return_is_fresh(t);
	return true;
}

static __always_inline bool return_undo(struct bpf_raw_tracepoint_args *ctx, struct fault_thread *t,
					struct return_held *h, __u32 cpu)
{
	hist_record_split(t->ret.slot, cpu, t->ret.ns, 0, t->ret.ns, true, -1);
	return true;
}

static __always_inline void return_redo(struct return_held *h, __u32 cpu)
{
	hist_record(h->ret.slot, cpu, h->ret.ns, 0, false);
}

SEC("perf_event")
int fault_end_minor(struct bpf_perf_event_data *ctx)
{
	return fault_end(ctx, FAULT_MINOR);
}

SEC("perf_event")
int fault_end_major(struct bpf_perf_event_data *ctx)
{
	return fault_end(ctx, FAULT_MAJOR);
}

/*
 * The exception itself, just before page-faults: only its tracepoint has the error code.  Loaded if
 * faults are grouped by kind.
 */
static __always_inline int take_code(__u64 code)
{
	struct task_struct *task = current_task();
	struct fault_thread *t;

	if (!filter_thread(task) || !filter_entry(task))
		return 0;
	t = inflight_make(task);
	if (t)
		t->code = code;
	return 0;
}

SEC("raw_tp/page_fault_user")
int fault_code_user(struct bpf_raw_tracepoint_args *ctx)
{
	return take_code(ctx->args[2]);
}

SEC("raw_tp/page_fault_kernel")
int fault_code_kernel(struct bpf_raw_tracepoint_args *ctx)
{
	return take_code(ctx->args[2]);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
