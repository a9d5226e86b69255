/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/core/run.h>
#include <plumb/core/tool.h>
#include <plumb/cost/calibrate.h>
#include <plumb/functions/timed-functions.h>
#include <plumb/kernel/kernel.h>
#include <plumb/kernel/preemption.h>

#include <bpf/libbpf.h>

#include "fields.h"
#include "file-latency.h"
#include "hooks.h"
#include "operations.h"

#include "file-latency-raw.skel.h"
#include "file-latency-session-610.skel.h"
#include "file-latency-session-700.skel.h"
#include "file-latency.skel.h"

static uint32_t ops;
static uint32_t by, max_keys;
static __u64 min_ns;
static bool only_errors;
static struct file_hooks hooks;

static void add_op(const char *option, const char *item, struct plumb_options *o)
{
	enum file_op op = file_op_find(item);

	if (op == FILE_OPS)
		plumb_usage_error("%s: not an operation: %s", option, item);
	ops |= 1U << op;
}

/* clang-format off */
static const struct plumb_option options[] = {
	{.doc = "Only these operations:", .group = 30},
	{"op", 0, "OP[,...]", "read, write, open, fsync, sync_file_range, mmap, sendfile, splice, copy_file_range", 30, .item = add_op},
	{"errors", 0, NULL, "that failed", 30, .given = &only_errors},
	{"min", 0, "TIME", "that took at least TIME (10us, 1.5ms, 2s)", 30, .time = &min_ns},
	PLUMB_OPTION_NO_RETURN("call"),
	{0},
};
/* clang-format on */

static void complete(struct plumb_options *o)
{
	if (!ops)
		ops = (1U << FILE_OPS) - 1;
}

static int prepare(struct plumb_options *o)
{
	by = o->by;
	max_keys = o->max_keys;
	operations_use(hooks.config.targets);
	return file_hooks_find(o->btf, ops, &hooks);
}

/* ---- mechanisms ---- */

static void load_only_if(const struct plumb_bpf *bpf, const char *program, bool loaded)
{
	bpf_program__set_autoload(bpf_object__find_program_by_name(bpf->object, program), loaded);
}

static void size_map(const struct plumb_bpf *bpf, const char *name, uint32_t entries)
{
	bpf_map__set_max_entries(bpf_object__find_map_by_name(bpf->object, name), entries);
}

/* The maps and programs that both objects have, and the configuration. */
static void configure(struct plumb_bpf *bpf, struct file_config *config, bool calibration)
{
	bool uring = hooks.config.uring_end && !calibration;
	/* Kernels with such programs have these events, with the request among their fields. */
	bool events = plumb_raw_tracepoints_can_be_preempted();

	*config = hooks.config;
	if (calibration) {
		config->calls[SYS_pread64] = 1 + FILE_READ;
	} else {
		config->min_ns = min_ns;
		config->only_errors = only_errors;
		file_fields_use(bpf->object);
		operations_use_untimed(bpf->object);
	}
	/* Otherwise requests have rows and ledgers of their own (uring.bpf.h). */
	bpf->config->interleaved =
		!(by & FILE_BY_OP) || libbpf_num_possible_cpus() > PLUMB_LEDGERS / 2;
	/* The copies for several functions, none of which is called in an interrupt. */
	bpf->own_slots = !plumb_kernel_is_preemptible();
	size_map(bpf, "uring_requests", uring || hooks.has_aio ? FILE_REQUESTS : 1);
	size_map(bpf, "file_misses", by & FILE_BY_CACHE ? 16384 : 1);
	/* More than rows, since a file may be seen only in calls that are filtered at exit. */
	size_map(bpf, "file_paths", by & FILE_BY_FILE ? 4 * max_keys : 1);
	load_only_if(bpf, "page_added", by & FILE_BY_CACHE && !calibration);
	load_only_if(bpf, "uring_submitted", uring && !events);
	load_only_if(bpf, "uring_completed", uring && !events);
	load_only_if(bpf, "uring_submitted_event", uring && events);
	load_only_if(bpf, "uring_completed_event", uring && events);
}

#define AIO_PROGRAMS(hook)                                                                         \
	"aio_complete_" hook, "aio_read_end_" hook, "aio_write_end_" hook, "aio_fsync_end_" hook,  \
		"aio_read_" hook, "aio_write_" hook, "aio_fsync_" hook

#define URING_PROGRAMS                                                                             \
	"uring_completed", "uring_completed_event", "uring_submitted", "uring_submitted_event"

/* Whichever end is missed, the request is not recorded. */
static const char *const whole[] = {URING_PROGRAMS, AIO_PROGRAMS("fentry"), AIO_PROGRAMS("kprobe"),
				    NULL};

static const char *const aio_programs[] = {AIO_PROGRAMS("fentry"), AIO_PROGRAMS("kprobe")};

static void configure_functions(struct plumb_bpf *bpf, struct file_config *config, bool calibration)
{
	configure(bpf, config, calibration);
	for (size_t i = 0; i < sizeof(aio_programs) / sizeof(aio_programs[0]); i++)
		load_only_if(bpf, aio_programs[i], hooks.has_aio && !calibration);
	bpf->function->takes_args = true;
	bpf->function->last_arg = 2;
	bpf->function->nested = true;
}

PLUMB_FUNCTION_OPENS(file_latency, file_config, configure_functions)

static int open_raw(struct plumb_bpf *bpf, bool calibration)
{
	struct file_latency_raw_bpf *skel = file_latency_raw_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sys_enter", "sys_exit");
	if (hooks.config.uring_end) {
		strcpy(bpf->hooks[2], hooks.submits);
		strcpy(bpf->hooks[3], "io_uring_complete");
	}
	configure(bpf, (struct file_config *)&skel->rodata->file_config, calibration);
	bpf->config->interleaved |= plumb_raw_tracepoints_can_be_preempted();
	return 0;
}

/* Those for the ends of operations first. */
#define REQUEST_PROGRAMS(hook)                                                                     \
	{                                                                                          \
		"page_added", AIO_PROGRAMS(hook), URING_PROGRAMS, NULL,                            \
	}
static const char *const fentry_programs[] = REQUEST_PROGRAMS("fentry");
static const char *const kprobe_programs[] = REQUEST_PROGRAMS("kprobe");
static const char *const raw_programs[] = {"page_added", "call_exit", "call_enter", URING_PROGRAMS,
					   NULL};

#define ON_FUNCTIONS(name_, open_, attach_targets_, programs_)                                     \
	{                                                                                          \
		.name = (name_), .stability = "unstable: kernel functions", .open = (open_),       \
		.programs = (programs_), .attach_targets = (attach_targets_), .whole = whole,      \
	}

static const struct plumb_mechanism mechanisms[] = {
	ON_FUNCTIONS("fsession", open_700, plumb_fsession, fentry_programs),
	ON_FUNCTIONS("fentry", open_plain, plumb_fentry, fentry_programs),
	ON_FUNCTIONS("kprobe.session", open_session, plumb_kprobe_session, kprobe_programs),
	ON_FUNCTIONS("kprobe.multi", open_plain, plumb_kprobe_multi, kprobe_programs),
	ON_FUNCTIONS("kprobe", open_plain, plumb_kprobe, kprobe_programs),
	{
		.name = "raw_tracepoint",
		.stability = "stable-ish: structures of open files; times are of system calls; "
			     "AIO is not seen",
		.open = open_raw,
		.remembers_rejected = true,
		.preemptible = PLUMB_AS_RAW,
		.programs = raw_programs,
		.whole = whole,
	},
};

/* ---- cost ---- */

static int scratch = -1;

/* A read at the end of a file in memory. */
static void read_nothing(void)
{
	char byte;

	if (pread(scratch, &byte, 1, 0))
		abort();
}

static void calibrate(struct plumb_run *run)
{
	/* On functions the library has calibrated. */
	if (run->instance.mechanism->attach_targets)
		return;
	scratch = memfd_create("file-latency", MFD_CLOEXEC);
	if (scratch < 0)
		return;
	plumb_calibrate(run, read_nothing);
	close(scratch);
}

/* ---- */

static const struct plumb_inflight inflight = {
	.kind = &plumb_functions_inflight,
	.heading = "OP",
	.json = "op",
	.min_ns = &min_ns,
	.state = "file_thread",
	.describe = operations_describe,
	.read_rest = operations_read_uring,
	.name = operations_name,
};

static const struct plumb_column columns[] = {
	{"bytes", PLUMB_COLUMN_BYTES, "The bytes that the operations transferred or mapped.",
	 .id = 0},
	{},
};

static struct plumb_tool tool = {
	.card.name = "file-latency",
	.card.summary =
		"Summarize the latency of reads, writes, opens, fsyncs and mmaps of files as "
		"percentiles, by file system, file and process.",
	.card.about =
		"hooks:     fsession, fentry and fexit, kprobe.session, kprobe.multi, kprobe\n"
		"           and kretprobe on functions of the VFS and of AIO (unstable); else\n"
		"           raw tracepoints sys_enter, sys_exit (stable); without --no-return\n"
		"           also sched_switch (stable-ish); for io_uring raw tracepoints\n"
		"           io_uring_submit_req (6.4; before: io_uring_submit_sqe) and\n"
		"           io_uring_complete (stable-ish)\n"
		"kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
		"fire rate: one per operation: 1,000 to 1,000,000 a second\n"
		"cost:      measured at each start, see the footer; the tracepoints slow all\n"
		"           other system calls of the machine, too\n",
	.options.list = options,
	.options.complete = complete,
	.keys.fields = file_fields,
	.keys.n_fields = FILE_N_FIELDS,
	.keys.paths = FILE_BY_MOUNT | FILE_BY_FILE,
	.keys.size = sizeof(struct file_key),
	.keys.default_by = FILE_BY_FS | FILE_BY_OP,
	.measure.errors = true,
	.view.footer = operations_print,
	.view.report_json = operations_json,
	.measure.columns = columns,
	.overhead.calibrate = calibrate,
	.overhead.traced = "a traced operation",
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.mechanisms.functions = &hooks.functions,
	.mechanisms.attaching = &plumb_attaching,
	.lifecycle.prepare = prepare,
	.inflight = &inflight,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
