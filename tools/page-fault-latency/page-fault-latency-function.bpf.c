/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mechanisms on the function: handle_mm_fault(vma, address, flags, regs).
 *
 * One fault can be several calls of it: the kernel gives up its locks while it waits for a page,
 * and then calls again.  Such a call is recorded as a retry.
 */
#include <plumb/bpf/function/function.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/core/exit.bpf.h>
#include "mapping.bpf.h"

#define PLUMB_KEY struct fault_key
#include <plumb/bpf/key/key-cpu.bpf.h>

/* include/linux/mm_types.h; these have not changed since 5.10. */
#define VM_FAULT_MAJOR 0x4
#define VM_FAULT_RETRY 0x400
/* OOM, SIGBUS, HWPOISON, HWPOISON_LARGE, SIGSEGV, FALLBACK */
#define VM_FAULT_ERROR   (0x1 | 0x2 | 0x10 | 0x20 | 0x40 | 0x800)
#define FAULT_FLAG_WRITE 0x1 /* enum fault_flag */
#define FAULT_FLAG_TRIED 0x20

static __always_inline void function_args(const void *ctx, enum function_hook hook, __u64 target,
					  __u64 *args)
{
	args[0] = function_arg(ctx, hook, 0);
	args[1] = function_arg(ctx, hook, 2);
}

/* As mm_account_fault() counts it: a fault that has waited for its page is major. */
static __always_inline __u32 type_of(__u32 result, __u32 flags)
{
	if (result & VM_FAULT_RETRY)
		return FAULT_RETRY;
	if (result & VM_FAULT_ERROR)
		return FAULT_FAILED;
	return result & VM_FAULT_MAJOR || flags & FAULT_FLAG_TRIED ? FAULT_MAJOR : FAULT_MINOR;
}

static __always_inline void function_record(struct task_struct *task, const struct function_call *c)
{
	__u32 cpu = bpf_get_smp_processor_id(), type = type_of(c->ret, c->args[1]);
	__u32 code = c->args[1] & FAULT_FLAG_WRITE ? FAULT_CODE_WRITE : 0;
	struct fault_key key = {.type = type};

	/* After a retry the mapping may be gone: its lock was given up. */
	mapping_fill(type == FAULT_RETRY ? NULL : (struct vm_area_struct *)c->args[0], code, &key);
	if (!(plumb_config.by & FAULT_BY_TYPE))
		key.type = 0;
	hist_record(key_cpu_slot(task, &key, cpu), cpu, c->ns, 0, false);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
