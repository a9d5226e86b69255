/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <plumb/core/privileges.h>
#include <plumb/core/tracer.h>
#include <plumb/cost/calibrate.h>
#include <plumb/inflight/inflight.h>
#include <plumb/stacks/stacks.h>
#include <plumb/syscalls/syscalls.h>
#include <plumb/syscalls/untimed.h>

#include <bpf/libbpf.h>

#include "futex-latency.h"
#include "futex-latency.skel.h"
#include "rows.h"
#include "words.h"

static struct plumb_tool tool;
static const uint64_t *unfollowed; /* futex_unfollowed of the programs */
static uint32_t slots, by;

static void complete(struct plumb_options *o)
{
	slots = o->max_keys + 1;
	by = o->by;
	if (!(o->by & (FUTEX_BY_STACK | FUTEX_BY_WAKER_STACK)))
		tool.stacking = NULL;
}

/* --- mechanisms --- */

static const char *const calls[FUTEX_CALLS][3] = {
	[FUTEX_CALL] = {"futex", "futex_time64"},
	[FUTEX_CALL_WAIT] = {"futex_wait"},
	[FUTEX_CALL_WAITV] = {"futex_waitv"},
};

static int open_tracepoints(struct plumb_bpf *bpf, bool calibration)
{
	struct futex_latency_bpf *skel = futex_latency_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sys_enter", "sys_exit", "sched_waking");
	bpf->no_storage = true; /* a wakeup reads the state of another thread */
	bpf->config->wakers = by & FUTEX_BY_WAKER_STACK ? PLUMB_WAKERS_STACKS : PLUMB_WAKERS_NAMES;
	/* A softirq that wakes a thread can interrupt a program that takes a stack. */
	bpf->config->interleaved = by & FUTEX_BY_STACK && by & FUTEX_BY_WAKER_STACK;
	bpf_map__set_max_entries(skel->maps.futex_longest, slots * libbpf_num_possible_cpus());
	for (int i = 0; i < FUTEX_CALLS; i++)
		plumb_syscalls_are((uint8_t *)skel->rodata->futex_calls, calls[i], i);
	if (calibration)
		return 0;
	rows_use(skel->obj);
	unfollowed = (const uint64_t *)&skel->bss->futex_unfollowed;
	return 0;
}

static const char *const tp_programs[] = {"tp_exit", "tp_enter", NULL};
static const char *const raw_programs[] = {"raw_exit", "raw_enter", NULL};
/* Without the others a waker is not known, but no wait is lost. */
static const char *const vital[] = {"tp_exit", "tp_enter", "raw_exit", "raw_enter", NULL};

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "tracepoint",
		.stability = PLUMB_SCHED_STABILITY,
		.preemptible = PLUMB_AS_TRACEPOINTS,
		.open = open_tracepoints,
		.programs = tp_programs,
		.vital = vital,
	},
	{
		.name = "raw_tracepoint",
		.stability = PLUMB_SCHED_STABILITY,
		.preemptible = PLUMB_AS_RAW,
		.open = open_tracepoints,
		.programs = raw_programs,
		.vital = vital,
	},
};

/* BPF has compare-and-exchange since 5.12; this helper is as old as any that can be asked for. */
static int prepare(struct plumb_options *o)
{
	(void)o;
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_for_each_map_elem,
				    NULL) != 1)
		return plumb_error(-EOPNOTSUPP, "this kernel's BPF cannot compare and exchange a "
						"number (Linux 5.12): use offcpu-time");
	plumb_retain(PLUMB_CAP(SYS_PTRACE) | PLUMB_CAP(DAC_READ_SEARCH) |
			     PLUMB_CAP(CHECKPOINT_RESTORE),
		     0, "names of words");
	return 0;
}

/* A wait until a time that has passed: it is woken by a timer. */
static void wait_shortly(void)
{
	static const struct timespec past = {.tv_nsec = 1};
	static uint32_t word;

	syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &past, NULL,
		FUTEX_BITSET_MATCH_ANY);
}

static void calibrate(struct plumb_run *run)
{
	plumb_calibrate(run, wait_shortly);
}

/* --- waits in flight --- */

static bool is_wait(int op)
{
	op &= FUTEX_CMD_MASK;
	return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI ||
	       op == FUTEX_WAIT_REQUEUE_PI || op == 13; /* FUTEX_LOCK_PI2 */
}

/* Of programs of 64 bits: in /proc/PID/syscall are no tables of calls. */
static bool find_wait(const struct plumb_run *run, struct plumb_flight *f)
{
	unsigned long long address, op;
	struct plumb_thread_stat stat;
	char text[256];
	int nr, err;

	(void)run;
	err = plumb_thread_read(f->pid, f->tid, "syscall", text, sizeof(text));
	f->hidden = err == -EACCES || err == -EPERM;
	if (sscanf(text, "%d %llx %llx", &nr, &address, &op) != 3 || nr != SYS_futex ||
	    !is_wait(op) || plumb_thread_stat(f->pid, f->tid, &stat) || stat.state == 'T' ||
	    stat.state == 't')
		return false;
	f->what = address;
	return true;
}

static void describe(const struct plumb_run *run, const struct plumb_state *state,
		     struct plumb_flight *f)
{
	static int word;

	if (!word)
		word = plumb_states_offset(run->instance.bpf.object, "futex_thread", "word");
	f->what = plumb_state_word(state->value, word);
	f->own = plumb_state_word(state->value, word + 8);
}

static void name_wait(const struct plumb_run *run, const struct plumb_flight *f, char *text,
		      size_t size)
{
	/* One from before the trace is not known by its address space. */
	const struct futex_word_key word = {f->what, f->own ?: f->pid};

	(void)run;
	words_name(&word, f->pid, text, size);
}

static const struct plumb_inflight inflight = {
	.heading = "WORD",
	.json = "word",
	.proc = "syscall",
	.find = find_wait,
	.state = "futex_thread",
	.describe = describe,
	.name = name_wait,
};

/* --- */

static void print_footer(FILE *out)
{
	if (*unfollowed)
		fprintf(out, "words: of %llu waits the word was not followed, there are too many\n",
			(unsigned long long)*unfollowed);
}

static void add_json(json_t *json, const struct plumb_report *r)
{
	(void)r;
	json_object_set_new(json, "unfollowed", plumb_json_u64(*unfollowed));
}

static const struct plumb_ring rings[] = {{"futex_seen", &words_seen, NULL}, {}};

static struct plumb_tool tool = {
	.card.name = "futex-latency",
	.card.summary = "Summarize waits for user locks and conditions as percentiles, by futex "
			"word, and who ended them.",
	.card.about = "hooks:     raw tracepoints sys_enter, sys_exit (stable), or from 7.0 on\n"
		      "           tracepoints (stable); raw tracepoint sched_waking (stable-ish)\n"
		      "kernels:   6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64; not before\n"
		      "           5.13\n"
		      "fire rate: 10 to 100,000 waits a second\n"
		      "cost:      measured at each start, see the footer; all other system\n"
		      "           calls of the machine are slower too, by some 30 ns, and all\n"
		      "           wakeups, by some 40 ns\n",
	.options.complete = complete,
	.keys.fields = futex_fields,
	.keys.n_fields = FUTEX_N_FIELDS,
	.keys.size = sizeof(struct futex_row),
	.keys.default_by = PLUMB_BY_PID | PLUMB_BY_PROCESS | FUTEX_BY_WORD | FUTEX_BY_KIND,
	.keys.unify = rows_unify,
	.keys.paths = FUTEX_BY_STACK | FUTEX_BY_WAKER_STACK,
	.keys.fewer = "-b without word",
	.measure.errors = true,
	.measure.counted = "waits",
	.measure.ends_inside = true,
	.measure.columns = futex_columns,
	.view.footer = print_footer,
	.view.report_json = add_json,
	.overhead.calibrate = calibrate,
	.overhead.traced = "a wait",
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.lifecycle.prepare = prepare,
	.rings = rings,
	.stacking = &plumb_stacking_own, /* with stacks in --by */
	.inflight = &inflight,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
