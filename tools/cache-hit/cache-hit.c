/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <plumb/core/tracer.h>
#include <plumb/cost/calibrate.h>
#include <plumb/syscalls/syscall-options.h>

#include <bpf/libbpf.h>

#include "cache-hit.h"
#include "cache-hit.skel.h"

static const struct {
	const char *name;
	uint8_t kind;
} calls[] = {
	{"read", 0},
	{"pread64", CACHE_POSITION},
	{"readv", CACHE_VECTOR},
	{"preadv", CACHE_POSITION | CACHE_VECTOR},
	{"preadv2", CACHE_POSITION | CACHE_VECTOR},
	{"write", CACHE_WRITE},
	{"pwrite64", CACHE_WRITE | CACHE_POSITION},
	{"writev", CACHE_WRITE | CACHE_VECTOR},
	{"pwritev", CACHE_WRITE | CACHE_POSITION | CACHE_VECTOR},
	{"pwritev2", CACHE_WRITE | CACHE_POSITION | CACHE_VECTOR},
};
#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

static int open_tracepoints(struct plumb_bpf *bpf, bool calibration)
{
	struct cache_hit_bpf *skel = cache_hit_bpf__open_opts(plumb_open_opts());
	uint8_t *kinds;
	int nr;

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sys_enter", "sys_exit", "mm_filemap_add_to_page_cache");
	plumb_fds_configure(bpf, (uint8_t *)skel->rodata->fd_arguments,
			    (int32_t *)skel->rodata->fd_connects, calibration);
	skel->rodata->page_bits = __builtin_ctzl(sysconf(_SC_PAGESIZE));
	kinds = (uint8_t *)skel->rodata->cache_calls;
	for (size_t i = 0; i < N_CALLS; i++) {
		nr = plumb_syscall_number(calls[i].name, PLUMB_ABI_NATIVE);
		if (nr >= 0)
			kinds[nr] = 1 + calls[i].kind;
	}
	return 0;
}

static double hit_percent(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	const uint64_t all = row->counters[CACHE_HITS] + row->counters[CACHE_MISSES];

	return all ? 100.0 * row->counters[CACHE_HITS] / all : NAN;
}

static const struct plumb_column columns[] = {
	{"hit", PLUMB_COLUMN_PERCENT,
	 "The pages that were in the page cache, of hits and misses. Missing: there are neither.",
	 .value = hit_percent},
	{"hits", PLUMB_COLUMN_COUNT,
	 "The pages that the calls read or wrote and that were in the page cache.",
	 .id = CACHE_HITS},
	{"misses", PLUMB_COLUMN_COUNT,
	 "The pages that the calls read or wrote and that they had to add to the page cache.",
	 .id = CACHE_MISSES},
	{"ahead", PLUMB_COLUMN_COUNT,
	 "The pages that the calls added to the page cache besides: read-ahead.",
	 .id = CACHE_AHEAD},
	{},
};

/* What ends is attached before what begins. */
static const char *const raw_programs[] = {"raw_exit", "page_added", "raw_enter", NULL};
static const char *const tp_programs[] = {"tp_exit", "page_added", "tp_enter", NULL};

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "tracepoint",
		.stability = "stable-ish: the page cache's tracepoint",
		.preemptible = PLUMB_AS_TRACEPOINTS,
		.open = open_tracepoints,
		.programs = tp_programs,
	},
	{
		.name = "raw_tracepoint",
		.stability = "stable-ish: the page cache's tracepoint",
		.preemptible = PLUMB_AS_RAW,
		.open = open_tracepoints,
		.remembers_rejected = true,
		.programs = raw_programs,
	},
};

/* ---- cost ---- */

static int scratch = -1;

/* A page that is in memory. */
static void read_byte(void)
{
	char byte;

	if (pread(scratch, &byte, 1, 0) != 1)
		abort();
}

static void calibrate(struct plumb_run *run)
{
	scratch = memfd_create("cache-hit", MFD_CLOEXEC);
	if (scratch < 0)
		return;
	if (write(scratch, "", 1) == 1)
		plumb_calibrate(run, read_byte);
	close(scratch);
}

int main(int argc, char **argv)
{
	struct plumb_tool tool = {
		.card.name = "cache-hit",
		.card.summary = "Count the pages that reads and writes found in the page cache, by "
				"file, call and process, and the pages read ahead.",
		.card.about =
			"hooks:     raw tracepoints sys_enter, sys_exit (stable),\n"
			"           mm_filemap_add_to_page_cache (stable-ish), or from 7.0 on\n"
			"           tracepoints sys_enter, sys_exit\n"
			"kernels:   6.18 locked down; x86_64\n"
			"fire rate: 1,000 to 1,000,000 calls a second\n"
			"cost:      measured at each start, see the footer\n",
		.keys.fields = plumb_syscall_fields,
		.keys.n_fields = plumb_n_syscall_fields,
		.keys.size = sizeof(struct syscall_key),
		.keys.paths = PLUMB_BY_FD,
		.keys.default_by = PLUMB_BY_COMM | PLUMB_BY_SYSCALL | PLUMB_BY_FD,
		.measure.kind = PLUMB_COUNTS,
		.measure.errors = true,
		.measure.columns = columns,
		.overhead.calibrate = calibrate,
		.mechanisms.list = mechanisms,
		.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
		.lifecycle.prepare = plumb_fds_prepare,
	};

	return plumb_main(argc, argv, &tool);
}
