/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <plumb/bpf/core/copies.h>
#include <plumb/core/cli.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/core/tool.h>
#include <plumb/functions/block-hooks.h>
#include <plumb/functions/disk.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/kernel/kernel.h>
#include <plumb/recorder/slower.h>
#include <plumb/stacks/stacks.h>
#include <plumb/syscalls/syscall-options.h>
#include <plumb/syscalls/untimed.h>
#include <plumb/user/hook-try.h>

#include <bpf/libbpf.h>

#include "file-io-breakdown.h"
#include "file-io-breakdown.skel.h"
#include "places.h"
#include "programs.h"
#include "singles.h"

static const char *const calls[] = {
	"read",     "readv",   "pread64",  "preadv", "preadv2",   "write",           "writev",
	"pwrite64", "pwritev", "pwritev2", "fsync",  "fdatasync", "sync_file_range",
};

static struct io_config config = {.slower_ns = UINT64_MAX};
static struct io_place places[IO_PLACES];
static struct block_hooks hooks;
static const struct io_counts *counts;
static uint32_t unseen_parts; /* parts: 1 << enum io_part */
static struct bpf_object *live;
static bool stacks;
static struct plumb_tool tool;

_Static_assert(IO_ALL_PARTS <= PLUMB_MAX_PARTS, "a row has room for all parts");

const struct plumb_part_name io_parts[IO_ALL_PARTS] = {
	{"on-cpu", "CPU", "on_cpu", IO_ON_CPU},
	{"interrupts", "IRQ", "irq", IO_IRQ},
	{"preempted", "PREE", "preempted", IO_PREEMPTED},
	{"runq", "RUNQ", "runq", IO_RUNQ},
	{"idle wakeup", "WAKE", "wake", IO_WAKE},
	{"device", "DEV", "device", IO_DEVICE},
	{"queue", "QUEUE", "queue", IO_QUEUE},
	{"other device", "ODEV", "other_device", IO_OTHER_DEVICE},
	{"other queue", "OQUE", "other_queue", IO_OTHER_QUEUE},
	{"I/O limit", "LIMIT", "limit", IO_LIMIT},
	{"page cache", "CACHE", "page_cache", IO_CACHE},
	{"file system", "FS", "file_system", IO_FS},
	{"unexplained", "UNEX", "unexplained", IO_UNEXPLAINED},
	{"return", "RET", "return", IO_RETURN},
};

static void format_disk(const void *key, char *text, size_t size)
{
	plumb_disk_name(((const struct io_key *)key)->dev, text, size);
}

#define N_FIELDS 4

/* The key begins with that of a system call. */
static const struct plumb_field *fields(void)
{
	static struct plumb_field all[N_FIELDS] = {
		{PLUMB_FIELD("fs", IO_BY_FS, PLUMB_WORD, io_key, fs)},
		{"disk", IO_BY_DISK, .format = format_disk},
	};

	all[2] = plumb_syscall_fields[0];
	all[3] = plumb_syscall_fields[1];
	return all;
}

/* All calls that read, write or sync a file, in all tables of system calls. */
static void select_calls(void)
{
	static const char *const prefixes[] = {"", PLUMB_COMPAT_PREFIX, "x32:"};
	char name[64];

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		for (size_t p = 0; p < sizeof(prefixes) / sizeof(prefixes[0]); p++) {
			snprintf(name, sizeof(name), "%s%s", prefixes[p], calls[i]);
			plumb_syscall_select(&plumb_syscall_selection,
					     name); /* not all tables have all */
		}
}

/* clang-format off */
static const struct plumb_option options[] = {
	{"slower", 0, "TIME", "also print each call that takes at least TIME (10us, 1.5ms, 2s)", 40, .time = &config.slower_ns},
	{"stacks", 0, NULL, "with --slower, also print where in user code each call was made", 40, .given = &stacks},
	PLUMB_OPTION_NO_RETURN("call"),
	{0},
};
/* clang-format on */

static void complete(struct plumb_options *o)
{
	select_calls();
	plumb_cgroup_retain();
	if (stacks && config.slower_ns == UINT64_MAX)
		plumb_usage_error("--stacks takes --slower");
	if (!stacks)
		tool.stacking = NULL;
	io_slow_calls_have_stacks(stacks);
}

static int prepare(struct plumb_options *o)
{
	config.n_places = places_find(places);
	if (!config.n_places)
		unseen_parts = 1U << IO_CACHE;
	return block_hooks_find(o->btf, &hooks);
}

/* Calls that are only counted: as they are reported, and their names. */
static const char *const untimed[] = {"io_submit (AIO)", "sendfile", "splice",
				      "copy_file_range", "msync",    NULL};
static const char *const untimed_calls[][3] = {
	{"io_submit"}, {"sendfile", "sendfile64"}, {"splice"}, {"copy_file_range"}, {"msync"}};

static int open_tracepoints(struct plumb_bpf *bpf, bool calibration)
{
	struct file_io_breakdown_bpf *skel = file_io_breakdown_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sys_enter", "sys_exit", "block_bio_queue", "block_bio_complete",
			    "block_split", "block_bio_remap", "block_rq_issue", "block_rq_requeue",
			    "block_rq_complete");
	bpf->no_storage = true;
	bpf->syscalls = (struct syscall_config *)&skel->rodata->syscall_config;
	memcpy((void *)&skel->rodata->block_config, &hooks.config, sizeof(hooks.config));
	memcpy((void *)&skel->rodata->io_config, &config, sizeof(config));
	skel->rodata->io_stacks = stacks;
	memcpy((void *)skel->rodata->io_places, places, sizeof(places));
	bpf_map__set_max_entries(skel->maps.io_records, PLUMB_SLOWER_BUFFER);
	if (!calibration) {
		counts = &skel->bss->io_counts;
		live = skel->obj;
		singles_use(&skel->bss->io_so_far);
		for (size_t i = 0; untimed[i]; i++)
			plumb_syscalls_are((uint8_t *)skel->rodata->io_untimed, untimed_calls[i],
					   i);
		plumb_untimed_use(skel->obj, untimed);
	}
	if (plumb_hook_if_possible(skel->progs.bio_throttled, hooks.throttles)) {
		strcpy(bpf->hooks[9], hooks.throttles);
		skel->rodata->io_config.sees_limits = 1;
	}
	return programs_choose(skel->obj, hooks.preemptible);
}

/*
 * What ends is attached before what begins; a copy after those before it, which then run before it.
 */
#define BLOCK_PROGRAMS                                                                             \
	PLUMB_COPIES_OF("request_completed"), "request_completed_inlined",                         \
		PLUMB_COPIES_OF("request_requeued"), PLUMB_COPIES_OF("request_issued"),            \
		PLUMB_COPIES_OF("bio_completed"), PLUMB_COPIES_OF("bio_split_off"),                \
		PLUMB_COPIES_OF("bio_mapped"), PLUMB_COPIES_OF("bio_queued"), "bio_throttled",     \
		"sleeper_woken"

static const char *const tp_programs[] = {BLOCK_PROGRAMS, "tp_exit", "tp_enter", NULL};
static const char *const raw_programs[] = {BLOCK_PROGRAMS, "raw_exit", "raw_enter", NULL};
static const char *const run_programs[] = {"call_so_far", NULL};
/* Without the others the parts of a call can be wrong, but none is lost. */
static const char *const vital[] = {"tp_exit", "tp_enter", "raw_exit", "raw_enter", NULL};

#define STABILITY "stable-ish: arguments of scheduler and block tracepoints"

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "tracepoint",
		.stability = STABILITY,
		.preemptible = PLUMB_AS_TRACEPOINTS,
		.open = open_tracepoints,
		.programs = tp_programs,
		.vital = vital,
		.test_runs = run_programs,
	},
	{
		.name = "raw_tracepoint",
		.stability = STABILITY,
		.open = open_tracepoints,
		.remembers_rejected = true,
		.preemptible = PLUMB_AS_RAW,
		.programs = raw_programs,
		.vital = vital,
		.test_runs = run_programs,
	},
};

static const struct {
	const char *json, *text;
	size_t at;
} counters[] = {
	{"bios", "bios", offsetof(struct io_counts, bios)},
	{"requests", "requests in devices", offsetof(struct io_counts, requests)},
	{"io_outside", "of others than these calls", offsetof(struct io_counts, outside)},
	{"io_lost", "not followed", offsetof(struct io_counts, lost)},
	{"io_replaced", "without a seen end", offsetof(struct io_counts, replaced)},
	{"exceeded", "sleeps shorter than their I/O", offsetof(struct io_counts, exceeded)},
	{"records_dropped", "records dropped", offsetof(struct io_counts, dropped)},
};

#define USUAL 3 /* the first ones, which say nothing bad */

static uint64_t value_of(size_t counter)
{
	return *(const uint64_t *)((const char *)counts + counters[counter].at);
}

/* Without -v, what parts of calls can be wrong with. */
static void print_counts(FILE *out)
{
	const uint64_t unseen = programs_unseen(live);
	char text[512];
	const char *between = "I/O:";
	size_t n = 0;

	for (size_t i = plumb_verbosity ? 0 : USUAL;
	     i < sizeof(counters) / sizeof(counters[0]) && n < sizeof(text); i++) {
		if (!plumb_verbosity && !value_of(i))
			continue;
		n += snprintf(text + n, sizeof(text) - n, "%s %" PRIu64 " %s", between, value_of(i),
			      counters[i].text);
		between = ",";
	}
	if (unseen && unseen < UINT64_MAX && n < sizeof(text))
		n += snprintf(text + n, sizeof(text) - n,
			      "%s up to %" PRIu64 " changes not seen, with which parts are wrong",
			      between, unseen);
	if (n)
		plumb_print_wrapped(text, out);
	plumb_untimed_print(out);
	if (plumb_verbosity)
		plumb_print_wrapped(
			"parts: CPU, PREE, RUNQ, WAKE (the CPU was idle), DEV and QUEUE are "
			"measured; ODEV and OQUE are I/O of others on the file's disk while "
			"the call waited for the page "
			"cache, a journal or I/O; LIMIT is a limit of the cgroup or, where "
			"throttling cannot be seen, any wait for I/O under one; CACHE is told by "
			"the kernel function that "
			"waits, FS is any other wait in a file system, RET any on the "
			"way out, after the call",
			out);
	if (unseen_parts)
		plumb_print_wrapped("CACHE is not seen, and waits for locks and journals are not "
				    "told apart: the kernel hides its addresses (CAP_SYSLOG, "
				    "kernel.kptr_restrict)",
				    out);
}

static void counts_json(json_t *json, const struct plumb_report *r)
{
	const uint64_t unseen = programs_unseen(live);

	json_object_set_new(json, "io_unseen",
			    unseen < UINT64_MAX ? plumb_json_u64(unseen) : json_null());
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		json_object_set_new(json, counters[i].json, plumb_json_u64(value_of(i)));
	plumb_untimed_json(json);
}

static const struct plumb_inflight inflight = {
	PLUMB_SYSCALLS_INFLIGHT,
	.describe = flights_describe,
	.print = flights_print,
	.add_json = flights_json,
};

static const struct plumb_ring rings[] = {
	{"io_records", &plumb_in_order, &io_slow_calls},
	{},
};

static struct plumb_tool tool = {
	.card.name = "file-io-breakdown",
	.card.summary = "Divide the time of reads, writes and fsyncs among CPU, run queue, "
			"page cache, file system, block queue and device.",
	.card.about = "hooks:     raw tracepoints sys_enter, sys_exit (stable), or from 7.0 on\n"
		      "           tracepoints (stable); raw tracepoints sched_switch,\n"
		      "           sched_waking (stable-ish), block_bio_queue,\n"
		      "           block_bio_complete, block_split, block_bio_remap,\n"
		      "           block_rq_issue, block_rq_requeue, block_rq_complete\n"
		      "           (stable-ish)\n"
		      "kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
		      "fire rate: 1,000 to 1,000,000 calls a second on a busy machine\n"
		      "cost:      measured at each start, see the footer; all other system\n"
		      "           calls of the machine are slower too, by some 30 ns\n",
	.options.list = options,
	.options.complete = complete,
	.options.syscalls = &plumb_syscalls,
	.keys.n_fields = N_FIELDS,
	.keys.size = sizeof(struct io_key),
	.keys.default_by = PLUMB_BY_COMM | PLUMB_BY_SYSCALL | IO_BY_FS | IO_BY_DISK,
	.keys.max = 64,
	.keys.records_cgroup = true,
	.measure.errors = true,
	.measure.parts = io_parts,
	.measure.n_parts = IO_ALL_PARTS,
	.measure.unseen_parts = &unseen_parts,
	.measure.split_by = &plumb_splitting,
	.measure.always_split = true,
	.view.footer = print_counts,
	.view.report_json = counts_json,
	.overhead.syscalls = true,
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.lifecycle = {.reports_first = true, .prepare = prepare},
	.rings = rings,
	.inflight = &inflight,
	.stacking = &plumb_stacking_own, /* with --stacks */
};

int main(int argc, char **argv)
{
	tool.keys.fields = fields();
	return plumb_main(argc, argv, &tool);
}
