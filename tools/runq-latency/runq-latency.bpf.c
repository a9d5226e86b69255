/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/away.bpf.h>
#include <plumb/hist.bpf.h>

#define PLUMB_KEY struct plumb_who
#include <plumb/key-cpu.bpf.h>

/*
 * The thread that leaves the CPU, after one stay there, has waited once for it: by
 * so much its run_delay has grown since it left the last time.  A new one had none.
 */
static __always_inline void count_wait(void *ctx __attribute__((unused)), struct plumb_thread *t,
				       struct task_struct *task, __u32 cpu)
{
	__u64 delay = current_read(task, sched_info.run_delay);
	__u64 stays = current_read(task, sched_info.pcount);
	struct plumb_who key = {};

	if (stays == t->stays + 1)
		hist_record(key_cpu_slot(task, &key, cpu), cpu, delay - t->delay, 0, false);
	else if (stays != t->stays)
		ledger_count(cpu, unmatched);
	t->delay = delay;
	t->stays = stays;
}

AWAY_PROGRAMS(count_wait, count_wait)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
