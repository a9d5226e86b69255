/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "func-latency.h"

#include <plumb/bpf/function/function.bpf.h>
#include <plumb/bpf/function/arg.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/core/exit.bpf.h>

#define PLUMB_KEY struct func_latency_key
#include <plumb/bpf/key/key-cpu.bpf.h>

static __always_inline void function_record(struct task_struct *task, const struct function_call *c)
{
	__u32 cpu = bpf_get_smp_processor_id(), at;
	struct func_latency_key key = {};

	if (plumb_config.by >= PLUMB_BY_TOOL) {
		if (plumb_config.by & FUNC_LATENCY_BY_FUNC)
			key.function = PLUMB_TARGET_INDEX(call_target(c));
		if (plumb_config.by & FUNC_LATENCY_BY_ARG)
			key.arg = arg_value(c->args[0]);
		if (plumb_config.by & FUNC_LATENCY_BY_RET)
			key.ret = function_result(call_target(c), c->ret);
		if (plumb_config.by & FUNC_LATENCY_BY_ERRNO)
			key.error = c->error;
	}
	at = hist_at(key_cpu_slot(task, &key, cpu), cpu);
	hist_record_at(&at, c->ns, c->error);
	if (plumb_config.off_cpu) {
		at += plumb_config.second * plumb_config.shards;
		hist_record_at(&at, c->on_cpu, c->error);
	}
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
