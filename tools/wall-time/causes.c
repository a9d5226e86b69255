/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "causes.h"

#include <fnmatch.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <plumb/syscalls/syscalls.h>

static const struct {
	const char *word, *text;
	bool on_cpu;
} causes[CAUSES] = {
	[CAUSE_USER] = {"user", "on the CPU in user code", true},
	[CAUSE_CALL] = {"system call", "on the CPU in system calls", true},
	[CAUSE_FAULTING] = {"page faults", "on the CPU in page faults", true},
	[CAUSE_IRQ] = {"interrupts", "on the CPU, but interrupted", true},
	[CAUSE_KERNEL] = {"kernel", "on the CPU in the kernel", true},
	[CAUSE_ON] = {"cpu", "on the CPU, not sampled", true},
	[CAUSE_TAKEN] = {"runnable", "runnable without a CPU", false},
	[CAUSE_IDLE_CPU] = {"idle cpu", "runnable on an idle CPU that wakes up", false},
	[CAUSE_QUOTA] = {"quota", "out of CPU quota", false},
	[CAUSE_DISK] = {"disk", "waiting for the disk", false},
	[CAUSE_LIMIT] = {"io limit", "waiting for the disk or its I/O limit", false},
	[CAUSE_THREAD] = {"thread", "waiting for another of its threads", false},
	[CAUSE_PROCESS] = {"process", "waiting for another process", false},
	[CAUSE_KTHREAD] = {"kernel thread", "waiting for a thread of the kernel", false},
	[CAUSE_PEER] = {"peer", "waiting for the network", false},
	[CAUSE_TIMER] = {"timer", "asleep until a time", false},
	[CAUSE_FAULT] = {"page fault", "asleep in page faults", false},
	[CAUSE_MEMORY] = {"memory.high", "held back by memory.high", false},
	[CAUSE_STOPPED] = {"stopped", "stopped by a signal or a debugger", false},
	[CAUSE_OTHER] = {"other", "asleep for another reason", false},
	[CAUSE_UNTOLD] = {"untold", "not told", false},
};

const char *cause_text(enum cause cause)
{
	return causes[cause].text;
}

const char *cause_word(enum cause cause)
{
	return causes[cause].word;
}

bool cause_is_on_cpu(enum cause cause)
{
	return causes[cause].on_cpu;
}

static bool is_any(const char *name, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (!fnmatch(*patterns, name, 0))
			return true;
	return false;
}

/* Whether a frame of the stack is one of PATTERNS. */
static bool passes(const struct clue *c, const char *const *patterns)
{
	for (size_t i = 0; i < c->n; i++)
		if (is_any(c->frames[i], patterns))
			return true;
	return false;
}

/* The first clue is the function that waits, the names of which change little between kernels. */
static const char *const disk[] = {"io_schedule*",
				   "folio_wait_bit*",
				   "folio_wait_writeback*",
				   "wait_on_page*",
				   "blk_mq_get_tag",
				   "rq_qos_wait",
				   "wbt_wait",
				   "submit_bio_wait",
				   "jbd2_log_wait_commit",
				   "jbd2_journal_commit_transaction",
				   "wait_transaction_locked",
				   "balance_dirty_pages*",
				   "xlog_wait*",
				   "xfs_log_force*",
				   "btrfs_wait*",
				   "blkdev_issue_flush",
				   NULL};
/* io.latency, io.cost */
static const char *const limits[] = {"blkcg_iolatency_throttle", "blkcg_maybe_throttle_*",
				     "ioc_rqos_throttle", NULL};
static const char *const faults[] = {"asm_exc_page_fault",
				     "exc_page_fault",
				     "do_user_addr_fault",
				     "do_page_fault",
				     "do_mem_abort",
				     "el0_da",
				     "el0_ia",
				     NULL};
static const char *const interrupts[] = {
	"handle_softirqs", "__do_softirq",     "do_softirq*", "irq_exit_rcu",
	"__irq_exit_rcu",  "common_interrupt", "sysvec_*",    "asm_sysvec_*",
	"el0_irq",         "el1_irq",          NULL};
static const char *const memory[] = {"mem_cgroup_handle_over_high*",
				     "__mem_cgroup_handle_over_high", NULL};
static const char *const stops[] = {"do_signal_stop", "ptrace_stop*", "do_jobctl_trap", NULL};
static const char *const network[] = {"sk_wait_data",
				      "inet_csk_accept",
				      "inet_csk_wait_for_connect",
				      "sk_stream_wait_*",
				      "__skb_wait_for_more_packets",
				      "tcp_recvmsg*",
				      "tcp_sendmsg*",
				      "inet_stream_connect*",
				      "inet_wait_for_connect",
				      "tcp_close",
				      "udp_recvmsg",
				      NULL};
static const char *const pipes[] = {"pipe_read",     "pipe_write",   "anon_pipe_*", "fifo_pipe_*",
				    "unix_stream_*", "unix_dgram_*", "eventfd_*",   NULL};
static const char *const timers[] = {"do_nanosleep", "hrtimer_nanosleep", NULL};

static const char *const kthreads[] = {"kthread", "ret_from_fork*", NULL};

bool cause_is_kthread(const struct clue *c)
{
	return passes(c, kthreads);
}

/* Functions that are about sleeping, not about its reason. */
static const char *const sleeping[] = {"__schedule",
				       "schedule",
				       "schedule_*",
				       "io_schedule*",
				       "preempt_schedule*",
				       "__cond_resched",
				       "futex_wait*",
				       "__futex_wait",
				       "futex_do_wait",
				       "do_futex",
				       "do_nanosleep",
				       "hrtimer_*",
				       "common_nsleep*",
				       "do_wait",
				       "kernel_wait4",
				       "kernel_waitid",
				       "do_epoll_wait",
				       "ep_poll",
				       "do_sys_poll",
				       "do_poll",
				       "core_sys_select",
				       "do_select",
				       "folio_wait_bit*",
				       "wait_on_page*",
				       "bit_wait*",
				       "__wait_on_bit*",
				       "out_of_line_wait_on_bit*",
				       "wait_for_completion*",
				       "__wait_for_common",
				       "rwsem_down_*",
				       "__mutex_lock*",
				       "mutex_lock*",
				       "down_*",
				       "__down_*",
				       "rt_mutex_*",
				       "__rt_mutex_*",
				       "wait_woken",
				       "prepare_to_wait*",
				       "folio_wait_writeback*",
				       "wait_on_buffer",
				       "__wait_on_buffer",
				       "poll_schedule_timeout*",
				       "schedule_hrtimeout*",
				       "__x64_sys_*",
				       "__arm64_sys_*",
				       "__se_sys_*",
				       "__do_sys_*",
				       "x64_sys_call",
				       "do_syscall_64",
				       "entry_SYSCALL*",
				       "invoke_syscall",
				       "el0_svc*",
				       "el0t_64_sync*",
				       "ret_from_fork*",
				       "kthread",
				       NULL};

const char *cause_place(const struct clue *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (!is_any(c->frames[i], sleeping))
			return c->frames[i];
	return NULL;
}

/* --- system calls by name --- */

static bool is_call(const struct clue *c, const char *const *names)
{
	char text[48];

	if (!(c->what & WALL_CALL))
		return false;
	plumb_syscall_name((c->what & WALL_CALL) - 1, PLUMB_ABI_NATIVE, text, sizeof(text));
	return is_any(text, names);
}

static const char *const sleeps[] = {"nanosleep", "clock_nanosleep", NULL};
static const char *const polls[] = {"epoll_wait", "epoll_pwait*", "poll", "ppoll",
				    "select",     "pselect6",     NULL};
static const char *const work[] = {
	"accept",         "accept4",      "rt_sigtimedwait", "rt_sigsuspend", "wait4", "waitid",
	"io_uring_enter", "io_getevents", "inotify_*",       "pause",         NULL};
static const char *const futex[] = {"futex", "futex_wait*", NULL};
static const char *const sockets[] = {"recv*", "send*", "connect", "accept*", NULL};

/* A mutex is waited for by FUTEX_WAIT; conditions and semaphores by FUTEX_WAIT_BITSET. */
static uint32_t futex_op(const struct clue *c)
{
	return c->what >> WALL_OP_SHIFT & WALL_OP;
}

/* In these themselves there is nothing else to wait for than the lock of the address space. */
static bool waits_for_memory_lock(const struct clue *c)
{
	static const char *const takers[] = {"vm_mmap_pgoff", "__vm_munmap", "lock_mm_and_find_vma",
					     "do_mprotect_pkey"};
	const char *place = cause_place(c);

	for (size_t i = 0; place && i < sizeof(takers) / sizeof(takers[0]); i++)
		if (!strcmp(place, takers[i]))
			return true;
	return false;
}

/* Who woke it: a thread, or what else. */
static enum cause by_waker(const struct clue *c)
{
	const struct wall_other *o = c->other;
	static const char *const sends[] = {"send*", "write*",   "splice",  "tee",
					    "close", "shutdown", "connect", NULL};
	struct clue waker = {.what = o->call};

	if (o->kind == PLUMB_WAKER_THREAD && o->pid == c->pid)
		return CAUSE_THREAD;
	if (o->kind == PLUMB_WAKER_THREAD && o->call)
		return CAUSE_PROCESS;
	if (o->kind == PLUMB_WAKER_THREAD)
		return CAUSE_KTHREAD;
	if (o->kind == PLUMB_WAKER_SOFTIRQ && is_call(&waker, sends))
		return CAUSE_PEER;
	if (o->kind == PLUMB_WAKER_INTERRUPT && is_call(c, polls))
		return CAUSE_TIMER;
	/* A mutex has no end by itself, and the waker may not have been seen. */
	if (is_call(c, futex) && futex_op(c) == FUTEX_WAIT)
		return CAUSE_THREAD;
	if (is_call(c, futex))
		return o->kind ? CAUSE_TIMER : CAUSE_OTHER;
	if (o->kind == PLUMB_WAKER_SOFTIRQ && (is_call(c, polls) || is_call(c, sockets)))
		return CAUSE_PEER;
	if (passes(c, pipes))
		return CAUSE_PROCESS;
	/* Whose end of the wait was not seen. */
	return waits_for_memory_lock(c) ? CAUSE_THREAD : CAUSE_OTHER;
}

static enum cause of_sleep(const struct clue *c)
{
	if (c->kind == WALL_STOPPED || passes(c, stops))
		return CAUSE_STOPPED;
	if (passes(c, memory))
		return CAUSE_MEMORY;
	if (passes(c, limits))
		return CAUSE_LIMIT;
	if (c->what & WALL_IO || passes(c, disk))
		return c->what & WALL_LIMITED ? CAUSE_LIMIT : CAUSE_DISK;
	if (is_call(c, sleeps) || passes(c, timers))
		return CAUSE_TIMER;
	if (cause_is_kthread(c))
		return CAUSE_OTHER;
	if (passes(c, network))
		return CAUSE_PEER;
	if (passes(c, faults) && c->other->kind != PLUMB_WAKER_THREAD)
		return CAUSE_FAULT;
	return by_waker(c);
}

static enum cause of_sample(const struct clue *c)
{
	if (!c->n)
		return CAUSE_USER;
	if (passes(c, interrupts))
		return CAUSE_IRQ;
	if (passes(c, faults))
		return CAUSE_FAULTING;
	return c->what & WALL_CALL ? CAUSE_CALL : CAUSE_KERNEL;
}

enum cause cause_of(const struct clue *c)
{
	switch (c->kind) {
	case WALL_ON:
		return CAUSE_ON;
	case WALL_SAMPLE:
		return of_sample(c);
	case WALL_RUNNABLE:
		return c->other->kind == PLUMB_PREEMPTER_IDLE ? CAUSE_IDLE_CPU : CAUSE_TAKEN;
	case WALL_THROTTLED:
		return CAUSE_QUOTA;
	default:
		return of_sleep(c);
	}
}

enum work cause_work(const struct clue *c, enum cause cause)
{
	bool waits;

	if (c->kind != WALL_ASLEEP && c->kind != WALL_BEFORE)
		return WORK_NOT;
	if (c->served)
		return WORK_CLIENT;
	if (c->asks)
		return WORK_NOT;
	if (cause_is_kthread(c))
		waits = cause == CAUSE_OTHER;
	else if (is_call(c, futex))
		return futex_op(c) == FUTEX_WAIT_BITSET ? WORK_POOL : WORK_NOT;
	else
		waits = cause == CAUSE_STOPPED || is_call(c, polls) || is_call(c, work);
	return waits ? WORK_WAIT : cause == CAUSE_TIMER ? WORK_PAUSE : WORK_NOT;
}
