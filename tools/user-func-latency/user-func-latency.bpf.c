/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "user-func-latency.h"

#include <plumb/bpf/user/user-function.bpf.h>
#include <plumb/bpf/function/arg.bpf.h>
#include <plumb/bpf/user/builds.bpf.h>
#include <plumb/bpf/sched/split.h>
enum { SPLIT_PARTS = PLUMB_PARTS };
#include <plumb/bpf/hist/split-hist.bpf.h>
#include <plumb/bpf/core/exit.bpf.h>

#define PLUMB_KEY struct user_func_key
#include <plumb/bpf/key/key-cpu.bpf.h>

static __always_inline void function_record(struct task_struct *task, const struct function_call *c)
{
	__u32 cpu = bpf_get_smp_processor_id(), slot, at;
	struct user_func_key key = {};

	build_count(c->target);
	if (plumb_config.by >= PLUMB_BY_TOOL) {
		if (plumb_config.by & USER_FUNC_BY_FUNC)
			key.function = PLUMB_TARGET_INDEX(c->target);
		if (plumb_config.by & USER_FUNC_BY_FILE)
			key.build = PLUMB_TARGET_FILE(c->target);
		if (plumb_config.by & USER_FUNC_BY_ARG)
			key.arg = arg_value(c->args[0]);
		if (plumb_config.by & USER_FUNC_BY_RET)
			key.ret = c->ret;
		if (plumb_config.by & USER_FUNC_BY_ERRNO)
			key.error = c->error;
	}
	slot = key_cpu_slot(task, &key, cpu);
	if (plumb_config.split) {
		split_record(c->off, slot, cpu, c->ns, c->on_cpu, c->error);
		return;
	}
	at = hist_at(slot, cpu);
	hist_record_at(&at, c->ns, c->error);
	if (plumb_config.off_cpu) {
		at += plumb_config.second * plumb_config.shards;
		hist_record_at(&at, c->on_cpu, c->error);
	}
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
