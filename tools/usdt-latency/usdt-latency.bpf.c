/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "usdt-latency.h"

#define PLUMB_USER_FUNCTIONS
#define PLUMB_PAIRS
#include <plumb/bpf/function/function-calls.bpf.h>
#include <plumb/bpf/user/builds.bpf.h>
#include <plumb/bpf/user/by-id.bpf.h>
#include <plumb/bpf/user/exec.bpf.h>
#include <plumb/bpf/user/own-stack.bpf.h>
#include <plumb/bpf/user/usdt.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/core/exit.bpf.h>

#define PLUMB_KEY struct usdt_key
#include <plumb/bpf/key/key-cpu.bpf.h>

const volatile struct usdt_config usdt_config = {};

PLUMB_MAP(usdt_places, ARRAY, USDT_PLACES, __u32, struct usdt_place);

/*
 * A pair of probes is a call: START enters it, DONE leaves it.  The places of calls ascend, so that
 * a START ends the call of an earlier one, which is counted as abandoned.
 */
#define PAIR_TARGET PLUMB_TARGET(0, 0, PLUMB_NO_RESULT)

/* What is kept of START until DONE, in the arguments of the call. */
enum { ARG, UNREAD }; /* UNREAD: bits by end, and above them the file of START */

static __always_inline __u64 shifted(__u64 arg, int end)
{
	__u32 shift = usdt_config.shift[end] & 63;

	return usdt_config.is_signed[end] ? (__u64)((__s64)arg >> shift) : arg >> shift;
}

static __always_inline void function_record(struct task_struct *task, const struct function_call *c)
{
	__u32 cpu = bpf_get_smp_processor_id(), at;
	struct usdt_key key = {};

	build_count(PLUMB_TARGET_IN_FILE(0, c->args[UNREAD] >> USDT_ENDS));
	if (plumb_config.by & USDT_BY_ARG(USDT_START))
		key.arg[USDT_START] = shifted(c->args[ARG], USDT_START);
	if (plumb_config.by & USDT_BY_ARG(USDT_DONE))
		key.arg[USDT_DONE] = shifted(c->ret, USDT_DONE);
	if (plumb_config.by >= PLUMB_BY_TOOL)
		key.unread = c->args[UNREAD] & ((1 << USDT_ENDS) - 1);
	at = hist_at(key_cpu_slot(task, &key, cpu), cpu);
	hist_record_at(&at, c->ns, 0);
}

/* Reads the argument for --by; returns the bit that says that it cannot be read. */
static __always_inline __u64 read_by(const struct pt_regs *ctx, const struct usdt_place *place,
				     int end, __u64 *value)
{
	*value = 0;
	if (!(plumb_config.by & USDT_BY_ARG(end)) || usdt_read(ctx, &place->by, value))
		return 0;
	return 1 << end;
}

static __always_inline int start(struct pt_regs *ctx, __u64 target)
{
	__u32 number = PLUMB_TARGET_INDEX(target);
	struct usdt_place *place = bpf_map_lookup_elem(&usdt_places, &number);
	__u64 args[PLUMB_FUNCTION_ARGS] = {}, id;
	struct task_struct *task = current_task();
	struct plumb_thread_kept *kept = NULL;
	struct plumb_id which;

	keep_own_stack(ctx);
	if (!place || !filter_thread(task) || !function_begins(task, PAIR_TARGET, args))
		return 0;
	args[UNREAD] = read_by(ctx, place, USDT_START, &args[ARG]);
	args[UNREAD] |= (__u64)PLUMB_TARGET_FILE(target) << USDT_ENDS;
	if (!usdt_config.by_argument) {
		function_push(task, PAIR_TARGET, bpf_ktime_get_ns(), args, NULL);
		return 0;
	}
	if (usdt_read(ctx, &place->pair, &id)) {
		which = by_id_of(task, id);
		kept = by_id_make(&which, task);
	}
	if (kept)
		kept->tid = current_tid(task);
	function_push_in(kept ? &kept->thread : NULL, PAIR_TARGET, bpf_ktime_get_ns(), args, NULL);
	return 0;
}

/* DONE, of a pair whose START is in T; NULL: none. */
static __always_inline bool leave(struct pt_regs *ctx, struct function_thread *t,
				  const struct usdt_place *place, __u64 now)
{
	struct function_call c = {.target = PAIR_TARGET};
	struct plumb_frame *f = t ? frame_below(t, t->depth) : NULL;
	__u64 value, unread = read_by(ctx, place, USDT_DONE, &value);

	c.ret = value;
	if (f)
		f->args[UNREAD] |= unread;
	return function_pop_from(t, current_task(), &c, 0, now, NULL);
}

static __always_inline int done(struct pt_regs *ctx, __u64 target)
{
	__u32 number = PLUMB_TARGET_INDEX(target);
	struct usdt_place *place = bpf_map_lookup_elem(&usdt_places, &number);
	struct task_struct *task = current_task();
	struct plumb_thread_kept *kept = NULL;
	__u64 now = bpf_ktime_get_ns(), id;
	struct plumb_id which;

	keep_own_stack(ctx);
	if (!place)
		return 0;
	if (!usdt_config.by_argument) {
		if (filter_thread(task) && !leave(ctx, inflight_get(task), place, now))
			function_unmatched(task, PAIR_TARGET, NULL);
		return 0;
	}
	if (usdt_read(ctx, &place->pair, &id)) {
		which = by_id_of(task, id);
		kept = by_id_get(&which);
	}
	/* The thread may be another than that of START, where the filters were applied. */
	if (kept && leave(ctx, &kept->thread, place, now))
		by_id_drop(&which, kept);
	else if (filter_thread(task))
		function_unmatched(task, PAIR_TARGET, NULL);
	return 0;
}

/* As user_own_target(): uprobe.multi has cookies, and links to perf events from 5.15 on. */
#define OWN_TARGET(ctx)                                                                            \
	(function_config.with_cookies ? bpf_get_attach_cookie(ctx) : function_own_target())

SEC("uprobe")
int usdt_start(struct pt_regs *ctx)
{
	return start(ctx, OWN_TARGET(ctx));
}

SEC("uprobe")
int usdt_done(struct pt_regs *ctx)
{
	return done(ctx, OWN_TARGET(ctx));
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
