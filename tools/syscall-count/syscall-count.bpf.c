/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/lifecycle.bpf.h>
#include <plumb/syscall.bpf.h>
#include <plumb/totals.bpf.h>

/*
 * A call is counted when it begins, since some never end, and an error when it
 * is returned: nothing is kept in between.  Only where errno is a key must the
 * call wait for its end.
 */
static __always_inline bool at_end(void)
{
	return plumb_config.by & PLUMB_BY_ERRNO;
}

static __always_inline void count_call(struct plumb_thread *t, const struct plumb_current *now,
				       __u64 call, __u32 error)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u32 slot = syscall_slot(t, now, call, error, cpu);
	struct plumb_totals *totals = totals_of(slot, cpu);

	if (!slot)
		ledger_count(cpu, pooled);
	if (totals)
		totals_add_call(totals, error);
}

static __always_inline void enter(const struct plumb_current *now, __u64 call)
{
	struct plumb_thread *t = inflight_make(now);
	__u32 cpu = bpf_get_smp_processor_id();

	if (!t) {
		ledger_count(cpu, no_state);
		return;
	}
	key_refresh(t, now);
	if (at_end()) {
		if (t->start)
			ledger_count(cpu, overwritten);
		ledger_count(cpu, began);
		t->call = call;
		t->start = 1;
		return;
	}
	count_call(t, now, call, 0);
}

/* Counts the end of a call whose entry waited for it. */
static __always_inline void leave(struct plumb_thread *t, const struct plumb_current *now, long ret)
{
	t->start = 0;
	count_call(t, now, t->call, syscall_error(t->call, t->call >> 32, ret));
}

/* Counts an error.  The call's number survives in the registers, but for rt_sigreturn, which has no
 * errors. */
static __always_inline void count_error(const struct plumb_current *now,
					const struct syscall_end *e)
{
	__u32 nr = syscall_end_nr(e), abi = syscall_abi(now), cpu = bpf_get_smp_processor_id();
	struct plumb_totals *totals;
	struct plumb_thread *t;

	if ((__s32)nr < 0 || !syscall_selected(nr, abi) || !filter_entry(now) ||
	    !syscall_error(nr, abi, e->ret))
		return;
	t = inflight_make(now);
	if (!t)
		return;
	key_refresh(t, now);
	totals = totals_of(syscall_slot(t, now, syscall_word(nr, abi), 0, cpu), cpu);
	if (totals)
		totals->errors++;
}

static __always_inline void on_enter(__u32 nr, const struct syscall_arguments *a)
{
	struct plumb_current now = current_get();
	__u32 abi;

	(void)a;
	if (!filter_thread(&now))
		return;
	abi = syscall_abi(&now);
	if (syscall_selected(nr, abi) && filter_entry(&now))
		enter(&now, syscall_word(nr, abi));
}

static __always_inline void on_exit(const struct syscall_end *e)
{
	struct plumb_current now;
	struct plumb_thread *t;

	if (!at_end() && (e->ret >= 0 || e->ret < -4095))
		return;
	now = current_get();
	if (!filter_thread(&now))
		return;
	if (!at_end()) {
		count_error(&now, e);
		return;
	}
	t = inflight_get(&now);
	if (t && t->start)
		leave(t, &now, e->ret);
	else
		syscall_unmatched(&now, e);
}

SYSCALL_PROGRAMS(on_enter, on_exit)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
