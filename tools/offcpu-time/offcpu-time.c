/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <plumb/core/tracer.h>
#include <plumb/cost/calibrate.h>
#include <plumb/inflight/inflight.h>
#include <plumb/split/waker.h>
#include <plumb/stacks/stacks.h>

#include "heads.h"
#include "offcpu-time.h"
#include "offcpu-time.skel.h"

static struct offcpu_config offcpu_selection = {.max_ns = UINT64_MAX};

static const char *const states[OFFCPU_STATES] = {
	[OFFCPU_PREEMPTED] = "preempted", [OFFCPU_THROTTLED] = "throttled",
	[OFFCPU_SLEEPING] = "sleeping",   [OFFCPU_UNINTERRUPTIBLE] = "uninterruptible",
	[OFFCPU_IDLE] = "idle",           [OFFCPU_OTHER] = "other",
};

static const struct plumb_waker *waker_of(const void *key)
{
	return &((const struct offcpu_key *)key)->waker;
}

static void format_waker(const void *key, char *text, size_t size)
{
	if (!*plumb_waker_text(waker_of(key), text, size))
		snprintf(text, size, "[unknown]");
}

static json_t *json_of_waker(const void *key)
{
	return plumb_waker_json(waker_of(key));
}

static const struct plumb_field fields[] = {
	{PLUMB_NAMED_FIELD("state", OFFCPU_BY_STATE, PLUMB_NAME, plumb_stack_key, what, states)},
	{"waker", OFFCPU_BY_WAKER, .format = format_waker, .json = json_of_waker},
};

static bool all_waits, waker_stacks;
static uint32_t wakers; /* plumb_config.wakers */

/* clang-format off */
static const struct plumb_option options[] = {
	{.doc = "Only these off-CPU intervals:", .group = 30},
	{"min", 0, "TIME", "of at least TIME (10us, 1.5ms, 2s)", 30, .time = &offcpu_selection.min_ns},
	{"max", 0, "TIME", "of at most TIME", 30, .time = &offcpu_selection.max_ns},
	PLUMB_STACK_OPTIONS,
	{"all-waits", 0, NULL, "do not tell threads that wait for work from others", 45, .given = &all_waits},
	{"wakers", 0, NULL, "also print the stacks of the waking threads (-b waker)", 45, .given = &waker_stacks},
	{0},
};
/* clang-format on */

static const char *const programs[] = {"on_leave", NULL};

/* Wakers that are timers or devices are told. */
static const char *const waking_programs[] = {
	"irq_begins",   "irq_ends",     "softirq_begins", "softirq_ends", "hrtimer_begins",
	"hrtimer_ends", "timer_begins", "timer_ends",     "on_leave",     NULL};
/* A missed execution of those does not lose an interval. */
static const char *const vital[] = {"on_leave",     "thread_ends",           "thread_exit",
				    "thread_woken", "thread_woken_by_count", NULL};

static const char *const waking_hooks[] = {"sched_waking", "irq_handler_entry", "softirq_entry",
					   "hrtimer_expire_entry", "timer_expire_entry"};

static struct plumb_mechanism mechanisms[1];

/*
 * Whether a stack is that of a call, or of a kernel thread, that may wait for work. The function in
 * the table of system calls, which has a prefix on all architectures, says which call it is.
 */
static bool is_for_work(const struct plumb_frames *f)
{
	static const char *const calls[] = {
		"nanosleep", "clock_nanosleep", "epoll_wait", "epoll_pwait",     "epoll_pwait2",
		"poll",      "ppoll",           "select",     "pselect6",        "accept",
		"accept4",   "wait4",           "waitid",     "rt_sigtimedwait", "rt_sigsuspend",
		"pause",     "io_uring_enter",  "futex"};
	const char *name;

	if (f->in_rwlock)
		return false;
	for (size_t i = 0; i < f->n_kernel; i++) {
		if (!strcmp(f->text[i], "inotify_read") ||
		    !strncmp(f->text[i], "ret_from_fork", strlen("ret_from_fork")))
			return true;
		name = strstr(f->text[i], "_sys_");
		for (size_t j = 0; name && j < sizeof(calls) / sizeof(calls[0]); j++)
			if (!strcmp(name + strlen("_sys_"), calls[j]))
				return true;
	}
	return false;
}

static void complete(struct plumb_options *o)
{
	if (!all_waits)
		plumb_stacks_options.is_for_work = is_for_work;
	if (waker_stacks) {
		wakers = PLUMB_WAKERS_STACKS;
		plumb_stacks_options.waker = offsetof(struct offcpu_key, waker);
		o->by |= OFFCPU_BY_WAKER;
	} else if (o->by & OFFCPU_BY_WAKER) {
		wakers = PLUMB_WAKERS_NAMES;
	}
	if (wakers) {
		plumb_stacks_options.below = heads_print;
		mechanisms->programs = waking_programs;
		mechanisms->vital = vital;
	}
	if (offcpu_selection.min_ns > offcpu_selection.max_ns)
		plumb_usage_error("--min is longer than --max");
}

static int open_raw_tracepoint(struct plumb_bpf *bpf, bool calibration)
{
	struct offcpu_time_bpf *skel = offcpu_time_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sched_switch");
	memcpy((void *)&skel->rodata->offcpu_config, &offcpu_selection, sizeof(offcpu_selection));
	bpf->config->wakers = wakers;
	for (size_t i = 0; wakers && i < sizeof(waking_hooks) / sizeof(*waking_hooks); i++)
		strcpy(bpf->hooks[1 + i], waking_hooks[i]);
	return 0;
}

static struct plumb_mechanism mechanisms[1] = {
	{
		.name = "raw_tracepoint",
		.stability = PLUMB_SCHED_STABILITY,
		.open = open_raw_tracepoint,
		.programs = programs,
	},
};

/* --- threads whose sleep has not ended --- */

/* The state as a key, of a thread whose stay began before the trace. */
static uint32_t state_of(char state)
{
	return state == 'S'   ? OFFCPU_SLEEPING
	       : state == 'D' ? OFFCPU_UNINTERRUPTIBLE
			      : OFFCPU_OTHER;
}

enum { ASLEEP, RUNNABLE, RUNNING }; /* plumb_flight.own */

/* Return whether a thread is asleep or stopped: not runnable, and not an idle kernel thread (I).
 * *WHAT is its state. */
static bool is_asleep(uint32_t pid, uint32_t tid, uint64_t *what)
{
	struct plumb_thread_stat stat;

	if (plumb_thread_stat(pid, tid, &stat) || !strchr("SDTt", stat.state))
		return false;
	*what = state_of(stat.state);
	return true;
}

static bool find_sleep(const struct plumb_run *run, struct plumb_flight *f)
{
	return is_asleep(f->pid, f->tid, &f->what);
}

/*
 * A state keeps when its thread left its CPU even after it is back: /proc shows whether it is
 * asleep, and the CPUs whether it has one.
 */
static void read_state(const struct plumb_run *run, const struct plumb_state *state,
		       struct plumb_flights *to)
{
	static int left = -2, task, kernel, user, preempted, what;
	struct plumb_flight f = {.pid = state->pid, .tid = state->tid};
	const struct bpf_object *object = run->instance.bpf.object;
	const char *value = state->value;
	struct plumb_thread_stat stat;
	uint64_t came_back;
	size_t kernel_of;
	bool asleep;

	if (left < -1) {
		left = plumb_states_offset(object, "offcpu_thread", "left");
		task = plumb_states_offset(object, "offcpu_thread", "task");
		kernel = plumb_states_offset(object, "offcpu_thread", "kernel");
		user = plumb_states_offset(object, "offcpu_thread", "user");
		preempted = plumb_states_offset(object, "offcpu_thread", "preempted");
		what = plumb_states_offset(object, "offcpu_thread", "what");
	}
	f.start = plumb_state_word(value, left);
	f.user = *(const int32_t *)(value + user);
	if (!f.start)
		return;
	asleep = is_asleep(f.pid, f.tid, &f.what);
	if (!asleep) {
		if (plumb_thread_stat(f.pid, f.tid, &stat) || stat.state != 'R')
			return;
		came_back = plumb_states_came(run, plumb_state_word(value, task));
		f.own = came_back >= f.start ? RUNNING : RUNNABLE;
		f.end = f.own == RUNNING ? came_back : 0;
		f.what = *(const uint32_t *)(value + what);
	}
	/* kernel[0] is of the last sleep. */
	kernel_of = asleep ? 0 : *(const uint32_t *)(value + preempted) & 1;
	f.kernel = ((const int32_t *)(value + kernel))[kernel_of];
	plumb_flights_add(to, &f);
}

static void name(const struct plumb_run *run, const struct plumb_flight *f, char *text, size_t size)
{
	char stack[256], *function;

	if (f->own) {
		snprintf(text, size, "%s", f->own == RUNNING ? "[running]" : "[runnable]");
		return;
	}
	plumb_thread_read(f->pid, f->tid, "wchan", text, size);
	if (*text && strcmp(text, "0") != 0)
		return;
	/* Before 5.16 wchan is found by frame pointers, which those kernels do not have. */
	plumb_thread_read(f->pid, f->tid, "stack", stack, sizeof(stack));
	function = strstr(stack, "] ");
	snprintf(text, size, "%.*s", function ? (int)strcspn(function + 2, "+\n") : 1,
		 function ? function + 2 : "-");
}

static void print(const struct plumb_run *run, const struct plumb_flights *f, size_t n, FILE *out)
{
	bool some = false;

	for (size_t i = 0; i < n; i++)
		some |= f->all[i].own == RUNNING;
	if (some)
		fputs("[running]: back on a CPU; AGE is the time that it had none\n", out);
}

static const struct plumb_inflight asleep = {
	.heading = "WCHAN",
	.json = "wchan",
	.min_ns = &offcpu_selection.min_ns,
	.max_ns = &offcpu_selection.max_ns,
	.sleeps = true,
	.find = find_sleep,
	.proc = "stack",
	.read = read_state,
	.name = name,
	.stacks = true,
	.print = print,
};

static void report_json(json_t *json, const struct plumb_report *r)
{
	if (wakers)
		heads_json(json, r);
}

int main(int argc, char **argv)
{
	struct plumb_tool tool = {
		.card.name = "offcpu-time",
		.card.summary = "Summarize the time that threads are off the CPU, by kernel and "
				"user stack.",
		.card.about = "hooks:     raw tracepoint sched_switch (stable-ish): when a thread\n"
			      "           leaves its CPU, and when it gets one again; with\n"
			      "           -b waker also sched_waking\n"
			      "kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
			      "fire rate: each context switch of the machine, 1,000 to 1,000,000 a "
			      "second\n"
			      "cost:      see the footer; most of it is taking stacks\n",
		.options.list = options,
		.options.complete = complete,
		.options.lacks = PLUMB_NO_COLUMN_OPTIONS,
		.keys.fields = fields,
		.keys.n_fields = sizeof(fields) / sizeof(fields[0]),
		.keys.size = sizeof(struct offcpu_key),
		.keys.default_by = PLUMB_BY_COMM,
		.keys.max = 16384,
		.measure.kind = PLUMB_SUMS,
		.view.report_json = report_json,
		.overhead.switches = &plumb_switches,
		.overhead.traced = "a traced switch",
		.mechanisms.list = mechanisms,
		.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
		.lifecycle.reports_first = true,
		.inflight = &asleep,
		.meanwhile = true,
		.stacking = &plumb_stacking,
	};

	return plumb_main(argc, argv, &tool);
}
