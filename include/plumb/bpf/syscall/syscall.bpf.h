/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* syscall, BPF side: the number, the arguments and the result of a call. */
#pragma once

#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/syscall/selection.bpf.h>
#include <plumb/bpf/syscall/syscall.h>

/* The arguments by which calls are filtered. */
struct syscall_arguments {
	__u32 fd;                   /* the first */
	__u64 size;                 /* the third */
	const struct pt_regs *regs; /* NULL: not known */
};

static __always_inline struct syscall_arguments syscall_arguments(struct pt_regs *regs)
{
	struct syscall_arguments a = {.regs = regs};

	if (syscall_config.has_fd)
		a.fd = PT_REGS_PARM1_CORE_SYSCALL(regs);
	if (syscall_config.has_size)
		a.size = PT_REGS_PARM3_CORE_SYSCALL(regs);
	return a;
}

/*
 * The user's registers of the current thread, which a tracepoint does not pass; NULL: not on this
 * kernel.
 */
static __always_inline struct pt_regs *syscall_registers(void)
{
	/* Since 5.15. */
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return NULL;
	return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

/*
 * All six, also at a call's exit: the registers still have them, since only one is overwritten by
 * the result (arm64's first), and that one is saved separately.
 */
static __always_inline void syscall_read_arguments(struct pt_regs *regs, __u32 abi,
						   __u64 arguments[6])
{
	struct pt_regs r;

	if (bpf_probe_read_kernel(&r, sizeof(r), regs))
		return;
#if defined(__TARGET_ARCH_x86)
	if (abi == PLUMB_ABI_NATIVE) {
		arguments[0] = r.di;
		arguments[1] = r.si;
		arguments[2] = r.dx;
		arguments[3] = r.r10;
		arguments[4] = r.r8;
		arguments[5] = r.r9;
	} else {
		arguments[0] = (__u32)r.bx;
		arguments[1] = (__u32)r.cx;
		arguments[2] = (__u32)r.dx;
		arguments[3] = (__u32)r.si;
		arguments[4] = (__u32)r.di;
		arguments[5] = (__u32)r.bp;
	}
#else
	int i;

	arguments[0] = r.orig_x0;
	for (i = 1; i < 6; i++)
		arguments[i] = abi == PLUMB_ABI_NATIVE ? r.regs[i] : (__u32)r.regs[i];
#endif
}

/* The loader selects only calls that have these arguments. */
static __always_inline bool syscall_arguments_match(const struct syscall_arguments *a)
{
	if (syscall_config.has_fd && a->fd != syscall_config.fd)
		return false;
	return !syscall_config.has_size ||
	       (a->size >= syscall_config.min_size && a->size <= syscall_config.max_size);
}

/*
 * The exit of a call: a tracepoint has its number, a raw tracepoint its registers, which are read
 * only if needed.
 */
struct syscall_end {
	struct pt_regs *regs; /* NULL: nr is known, the arguments are not */
	__u32 nr;
	long ret;
};

static __always_inline __u32 syscall_end_nr(const struct syscall_end *e)
{
	struct pt_regs *regs = e->regs;

	if (!regs)
		return e->nr;
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(regs, orig_ax);
#else
	return BPF_CORE_READ(regs, syscallno);
#endif
}

/* Without registers, a call that is filtered by its arguments cannot be decided. */
static __always_inline bool syscall_end_arguments_match(const struct syscall_end *e)
{
	struct syscall_arguments a;

	if (!syscall_config.has_fd && !syscall_config.has_size)
		return true;
	if (!e->regs)
		return false;
	a = syscall_arguments(e->regs);
	return syscall_arguments_match(&a);
}

/* A tool can do something at the entry of each call that is not selected. */
#ifndef SYSCALL_NOT_SELECTED
#define SYSCALL_NOT_SELECTED(task, nr, abi) (void)0
#endif

/* Whether a call is selected, at its entry. REGS may be NULL. */
static __always_inline bool syscall_wanted(struct task_struct *task, __u32 nr, __u32 abi,
					   const struct pt_regs *regs)
{
	bool selected = syscall_selected(nr, abi);

	if (!selected)
		SYSCALL_NOT_SELECTED(task, nr, abi);
	if (!selected &&
	    !(abi && syscall_config.n_compat && syscall_is_in(syscall_config.compat, nr, 0)))
		return false;
	if (!filter_entry(task)) {
		if (regs)
			filter_remember_rejected(regs);
		return false;
	}
	if (!selected)
		ledger_count(bpf_get_smp_processor_id(), compat_calls);
	return selected;
}

/* Whether NR is one of the N in LIST. */
static __always_inline bool syscall_is_one_of(__u32 nr, const volatile __s32 *list, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if ((__s32)nr == list[i])
			return true;
	return false;
}

/* The call's errno, 0 if it succeeded (include/linux/err.h: MAX_ERRNO is 4095). */
static __always_inline __u32 syscall_error(__u32 nr, __u32 abi, long ret)
{
	if (ret >= 0 || ret < -4095)
		return 0;
	if (syscall_is_one_of(nr, syscall_config.sigreturns[abi & 1], 2))
		return 0;
	return -ret;
}

/* Whether the registers at the exit are still those of the entry. */
static __always_inline bool syscall_keeps_arguments(__u32 nr, __u32 abi, long ret)
{
	if (syscall_is_one_of(nr, syscall_config.sigreturns[abi & 1], 2))
		return false;
	return ret || !syscall_is_one_of(nr, syscall_config.renames[abi & 1], 2);
}

/* At an exit without an entry: return whether there should have been one. */
static __always_inline void syscall_unmatched(struct task_struct *task, const struct syscall_end *e)
{
	__u32 nr, abi;

	if (!plumb_live || !filter_entry(task))
		return;
	nr = syscall_end_nr(e);
	abi = syscall_abi(task);
	if (!syscall_selected(nr, abi) || !syscall_end_arguments_match(e))
		return;
	/* A new thread leaves the fork that its parent called: no call of its own ends. */
	if (!e->ret && syscall_is_one_of(nr, syscall_config.forks[abi & 1], 4))
		return;
	/* The call that gave the thread its name was rejected under the old name. */
	if (filter_by_comm() && syscall_is_one_of(nr, syscall_config.renames[abi & 1], 3))
		return;
	ledger_count(bpf_get_smp_processor_id(), unmatched);
}

/*
 * The properties that a rejection depended on have changed. Loaded only if names or cgroups are
 * selected.
 */
SEC("raw_tp/task_rename")
int thread_renamed(void *ctx __attribute__((unused)))
{
	atomic_add(&plumb_epoch, 1);
	return 0;
}

SEC("raw_tp/cgroup_attach_task")
int thread_moved(void *ctx __attribute__((unused)))
{
	atomic_add(&plumb_epoch, 1);
	return 0;
}
