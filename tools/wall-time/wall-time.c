/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <plumb/bpf/sched/irq-hooks.h>
#include <plumb/core/clock.h>
#include <plumb/core/privileges.h>
#include <plumb/core/tracer.h>
#include <plumb/cost/calibrate.h>
#include <plumb/disks/disks.h>
#include <plumb/functions/block-hooks.h>
#include <plumb/functions/probe.h>
#include <plumb/stacks/flame.h>
#include <plumb/stacks/stacks.h>
#include <plumb/syscalls/syscalls.h>

#include "baseline.h"
#include "parts-json.h"
#include "story.h"
#include "threads.h"
#include "wall-time.skel.h"

/* Not in step with what programs and kernels do 100 or 1000 times a second. */
#define FREQUENCY 99
#define QUOTAS    256 /* cgroups */

static __u64 frequency = FREQUENCY;
static bool all_waits;
static const char *baseline, *flame; /* files; NULL: none */
static struct wall_time_bpf *programs;
static const struct plumb_run *traced;
static struct block_hooks hooks;

/* clang-format off */
static const struct plumb_option options[] = {
	{"all-waits", 0, NULL, "do not tell threads that wait for work from others", 40, .given = &all_waits},
	{"baseline", 0, "FILE", "first print what has changed since FILE, which -j has printed", 40, .text = &baseline},
	{"flame", 0, "FILE.svg", "write a flame graph of all of the time at the end", 40, .text = &flame},
	{"frequency", 'F', "HZ", "samples per second on each CPU; default 99", 60, .number = &frequency, .min = 1, .max = 10000},
	{0},
};
/* clang-format on */

static void complete(struct plumb_options *o)
{
	if (plumb_flame_check(flame, o->check_only))
		exit(PLUMB_EXIT_FAILED);
	o->by = PLUMB_BY_PID | PLUMB_BY_TID | PLUMB_BY_COMM | PLUMB_BY_TOOL;
}

static int prepare(struct plumb_options *o)
{
	const int err = block_hooks_find(o->btf, &hooks);

	return err || !baseline ? err : baseline_read(baseline);
}

static int attach(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what, size_t size)
{
	return plumb_probe_samples(probes, bpf->object, "on_sample", frequency, what, size);
}

/* Calls whose first argument is a descriptor, and which wait for it. */
static const char *const descriptors[] = {
	"read",     "write",   "readv",    "writev",  "pread64",    "pwrite64",        "preadv",
	"pwritev",  "preadv2", "pwritev2", "fsync",   "fdatasync",  "ftruncate",       "fallocate",
	"sendfile", "splice",  "sendto",   "sendmsg", "sendmmsg",   "recvfrom",        "recvmsg",
	"recvmmsg", "connect", "accept",   "accept4", "getdents64", "sync_file_range", "syncfs",
};

static void select_descriptors(__u64 bits[8])
{
	int nr;

	for (size_t i = 0; i < sizeof(descriptors) / sizeof(*descriptors); i++) {
		nr = plumb_syscall_number(descriptors[i], PLUMB_ABI_NATIVE);
		if (nr >= 0 && nr < 512)
			bits[nr / 64] |= 1ULL << nr % 64;
	}
}

static const char *const copied[] = {"on_sample", NULL};

static int open_raw_tracepoint(struct plumb_bpf *bpf, bool calibration)
{
	struct wall_time_bpf *skel = wall_time_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sched_switch", "sched_waking", "sched_process_exit",
			    "task_rename", "cpu-clock", "block_bio_queue", "block_bio_complete",
			    "block_split", "block_rq_complete", IRQ_HOOKS, IRQ_VECTOR_HOOKS);
	memcpy((void *)&skel->rodata->block_config, &hooks.config, sizeof(hooks.config));
	bpf->config->waits = 1;
	bpf->config->wakers = PLUMB_WAKERS_NAMES;
	bpf->config->meanwhile = 1;
	bpf_map__set_max_entries(skel->maps.plumb_meanwhile_paths, QUOTAS);
	bpf->copied = copied;
	bpf->attach = attach;
	select_descriptors((__u64 *)skel->rodata->wall_descriptors);
	for (int i = 0; i < 2; i++)
		skel->rodata->wall_polls[i] =
			plumb_syscall_number(i ? "ppoll" : "poll", PLUMB_ABI_NATIVE) + 1;
	skel->rodata->wall_futex = __NR_futex + 1;
	if (calibration) {
		skel->bss->wall_began = 1;
	} else {
		programs = skel;
		bpf->cpus_left = skel->bss->plumb_cpus_left;
	}
	return 0;
}

/* Those of irq-time.bpf.h first: what they miss loses no time. */
static const char *const attached[] = {IRQ_PROGRAMS, IRQ_VECTOR_PROGRAMS, "on_leave", NULL};
static const char *const vital[] = {"on_leave", NULL};

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "raw_tracepoint",
		.stability = PLUMB_SCHED_STABILITY,
		.open = open_raw_tracepoint,
		.programs = attached,
		.vital = vital,
	},
};

/* First before the trace begins, and before privileges are given up. */
static void settle(const struct plumb_run *run)
{
	if (!traced)
		plumb_retain(PLUMB_CAP(SYS_PTRACE) | PLUMB_CAP(DAC_READ_SEARCH) |
				     PLUMB_CAP(SYS_ADMIN),
			     0, "where threads sleep all the time");
	else
		lives_look(run);
	traced = run;
}

/* Called once, a while after the beginning of the trace: on a busy machine some ms. */
static uint64_t tick(uint64_t elapsed)
{
	programs->bss->wall_began = traced->counting.clock;
	lives_begin(traced);
	return 0;
}

/* The account of a report is made once, whoever asks for parts of it. */
static struct account *account_of(const struct plumb_report *r)
{
	static struct account account;
	static const struct plumb_snapshot *of;
	static uint64_t clock;
	const struct part *disk;

	if (of != r->snap || clock != r->total->clock) {
		account_free(&account);
		account_make(&account, r, programs->bss->wall_began ?: traced->counting.clock,
			     all_waits);
		disk = story_largest(&account, CAUSE_DISK, false)
			       ?: story_largest(&account, CAUSE_LIMIT, false);
		if (disk && disk->device)
			plumb_disks_neighbour(r, disk->device, account.neighbour,
					      sizeof(account.neighbour));
		of = r->snap;
		clock = r->total->clock;
	}
	return &account;
}

static void print(const struct plumb_report *r, FILE *out)
{
	const struct account *a = account_of(r);

	baseline_print(a, out);
	story_print(a, &r->run->options, out);
}

static void report_json(json_t *json, const struct plumb_report *r)
{
	const struct account *a = account_of(r);
	json_t *changes = baseline_json(a);

	parts_report_json(json, a);
	if (changes)
		json_object_set_new(json, "changes", changes);
}

static int save(struct plumb_report *r)
{
	const struct account *a = account_of(r);

	return flame ? plumb_flame_weighed(r, flame, a->stacks, a->n_stacks) : 0;
}

static int rows_json(const struct plumb_report *r, FILE *out)
{
	return parts_rows_json(account_of(r), out);
}

int main(int argc, char **argv)
{
	struct plumb_tool tool = {
		.card.name = "wall-time",
		.card.summary = "Show where the time of threads goes: on the CPU, waiting for one, "
				"or asleep and for what.",
		.card.about =
			"hooks:     raw tracepoints sched_switch, sched_waking (stable-ish),\n"
			"           sched_process_exit, task_rename, block_bio_queue,\n"
			"           block_bio_complete, block_split, block_rq_complete;\n"
			"           begin and end of irq_handler, softirq, and of the vectors\n"
			"           local_timer, reschedule, call_function, call_function_single;\n"
			"           perf event cpu-clock, 99 times a second on each CPU (stable)\n"
			"kernels:   6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
			"fire rate: each context switch of the machine, 1,000 to 1,000,000 a "
			"second\n"
			"cost:      see the footer; most of it is taking stacks\n",
		.options.list = options,
		.options.complete = complete,
		.options.lacks = PLUMB_NO_TABLE_OPTIONS | PLUMB_NO_COLUMN_OPTIONS,
		.keys.size = sizeof(struct wall_key),
		.keys.default_by = PLUMB_BY_PID | PLUMB_BY_TID | PLUMB_BY_COMM,
		.keys.max = 16384,
		.measure.kind = PLUMB_SUMS,
		.view = {.rows = print,
			 .report_json = report_json,
			 .rows_json = rows_json,
			 .save = save},
		.overhead.switches = &plumb_switches,
		.overhead.traced = "a traced switch",
		.mechanisms.list = mechanisms,
		.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
		.lifecycle = {.reports_first = true,
			      .prepare = prepare,
			      .settle = settle,
			      .tick = tick},
		.stacking = &plumb_stacking_own,
	};

	return plumb_main(argc, argv, &tool);
}
