/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <plumb/core/tracer.h>
#include <plumb/cost/calibrate.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/map.h>
#include <plumb/kernel/types.h>
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
	{"sendfile", CACHE_SENDFILE},
	{"splice", CACHE_SPLICE},
	{"copy_file_range", CACHE_COPY},
};
#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

/* The programs that are attached, and whether the kernel says which pages are mapped. */
static struct cache_hit_bpf *programs;
static bool has_faults;

static bool faults;

/* clang-format off: one option per line */
static const struct plumb_option options[] = {
	{"faults", 0, NULL, "also count page faults of mapped files", 30, .given = &faults},
	{0},
};
/* clang-format on */

static int open_tracepoints(struct plumb_bpf *bpf, bool calibration)
{
	struct cache_hit_bpf *skel = cache_hit_bpf__open_opts(plumb_open_opts());
	uint8_t *kinds;
	int nr;

	if (!skel)
		return -errno;
	if (!calibration)
		programs = skel;
	*bpf = PLUMB_BPF_OF(skel, "sys_enter", "sys_exit", "mm_filemap_add_to_page_cache",
			    "mm_filemap_delete_from_page_cache");
	if (has_faults) {
		strcpy(bpf->hooks[4], "mm_filemap_map_pages");
		strcpy(bpf->hooks[5], "mm_filemap_fault");
	}
	skel->rodata->cache_faults = faults;
	bpf_program__set_autoload(skel->progs.pages_mapped, has_faults);
	bpf_program__set_autoload(skel->progs.page_faults, has_faults);
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

static int prepare(struct plumb_options *o)
{
	struct btf *btf = plumb_types_get(o->btf);

	has_faults = btf && plumb_tracepoint_prototype(btf, "mm_filemap_map_pages");
	plumb_kernel_btf_put(btf);
	if (faults && !has_faults)
		return plumb_error(EOPNOTSUPP, "page faults: this kernel has no tracepoint "
					       "mm_filemap_fault, which is there from 6.12 on");
	return plumb_fds_prepare(o);
}

/* ---- pages that were read ahead and are not used yet ---- */

/* By slot of the row. */
static uint64_t *unused;
static uint32_t n_unused;

/* Before each report. */
static void count_unused(const struct plumb_run *run)
{
	struct plumb_elements all = {};
	const struct ahead_block *blocks;
	uint32_t row;

	n_unused = programs->rodata->plumb_config.slots;
	unused = unused ?: calloc(n_unused, sizeof(*unused));
	if (!unused)
		return;
	memset(unused, 0, n_unused * sizeof(*unused));
	plumb_map_read(bpf_map__fd(programs->maps.ahead_blocks), &all);
	blocks = all.values;
	for (size_t i = 0; i < all.n * AHEAD_PAGES; i++) {
		row = blocks[i / AHEAD_PAGES].rows[i % AHEAD_PAGES];
		if (row && row <= n_unused)
			unused[row - 1]++;
	}
	plumb_elements_free(&all);
}

enum { ROW_UNUSED, ROW_PENDING };

static double of_row(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	return id == ROW_UNUSED ? row->sum : row->slot < n_unused ? unused[row->slot] : 0;
}

static uint64_t of_cpus(const __u64 *counts)
{
	uint64_t sum = 0;

	for (int i = 0; i < PLUMB_LEDGERS; i++)
		sum += counts[i];
	return sum;
}

static uint64_t elsewhere(void)
{
	return of_cpus(programs->bss->cache_elsewhere);
}

static uint64_t unseen(void)
{
	return of_cpus(programs->bss->cache_unseen);
}

static uint64_t copied(void)
{
	return of_cpus(programs->bss->cache_copied);
}

static uint64_t on_tmpfs(void)
{
	return of_cpus(programs->bss->cache_tmpfs_faults);
}

static void print_footer(FILE *out)
{
	if (faults)
		fprintf(out,
			"page faults of files of tmpfs are in no row: the kernel reports only "
			"those that find pages, %" PRIu64 " here\n",
			on_tmpfs());
	if (unseen())
		fprintf(out,
			"calls on files of overlayfs whose pages are not seen, as the kernel gives "
			"no "
			"types of it: %" PRIu64 "\n",
			unseen());
	if (copied())
		fprintf(out,
			"calls of copy_file_range whose pages are not seen, as their file system "
			"can copy by itself: %" PRIu64 "\n",
			copied());
	if (elsewhere())
		fprintf(out, "pages added to the page cache in no such call%s: %" PRIu64 "\n",
			faults ? "" : ", as by page faults", elsewhere());
	if (programs->bss->ahead_untracked)
		fprintf(out,
			"pages read ahead that were not followed, for lack of room: %" PRIu64 "\n",
			(uint64_t)programs->bss->ahead_untracked);
}

static void add_json(json_t *json, const struct plumb_report *r)
{
	json_object_set_new(json, "unseen", plumb_json_u64(unseen()));
	json_object_set_new(json, "copied", plumb_json_u64(copied()));
	json_object_set_new(json, "added_elsewhere", plumb_json_u64(elsewhere()));
	json_object_set_new(json, "tmpfs_faults",
			    faults ? plumb_json_u64(on_tmpfs()) : json_null());
	json_object_set_new(json, "ahead_untracked",
			    plumb_json_u64(programs->bss->ahead_untracked));
}

/* ---- calls that have not ended ---- */

static void describe(const struct plumb_run *run, const struct plumb_state *state,
		     struct plumb_flight *f)
{
	static int at;

	if (!at)
		at = plumb_states_offset(run->instance.bpf.object, "call_thread", "call");
	f->what = plumb_state_word(state->value, at);
}

static void name_call(const struct plumb_run *run, const struct plumb_flight *f, char *text,
		      size_t size)
{
	plumb_syscall_name(f->what, f->what >> 32, text, size);
}

static const struct plumb_inflight inflight = {
	.heading = "CALL",
	.json = "syscall",
	.state = "call_thread",
	.describe = describe,
	.name = name_call,
};

/* ---- keys ---- */

static void format_call(const void *key, char *text, size_t size)
{
	const struct syscall_key *k = key;

	if (k->nr == CACHE_FAULT)
		snprintf(text, size, "page-fault");
	else
		plumb_syscall_name(k->nr, k->abi, text, size);
}

static struct plumb_field fields[4];

/* As of system calls, of which a page fault is one more. */
static void make_fields(void)
{
	for (size_t i = 0; i < plumb_n_syscall_fields; i++) {
		fields[i] = plumb_syscall_fields[i];
		if (fields[i].bit == PLUMB_BY_SYSCALL)
			fields[i].format = format_call;
	}
}

/* ---- columns ---- */

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
	{"unused", PLUMB_COLUMN_COUNT,
	 "Of the pages read ahead, those that were removed from the page cache before a traced "
	 "thread used them.",
	 .id = ROW_UNUSED, .value = of_row},
	{"pending", PLUMB_COLUMN_COUNT,
	 "Of the pages read ahead, those that are in the page cache at the time of the report and "
	 "that no traced thread has used.",
	 .id = ROW_PENDING, .value = of_row},
	{},
};

/* What ends is attached before what begins. */
static const char *const raw_programs[] = {
	"raw_exit", "page_removed", "pages_mapped", "page_faults", "page_added", "raw_enter", NULL};
static const char *const tp_programs[] = {
	"tp_exit", "page_removed", "pages_mapped", "page_faults", "page_added", "tp_enter", NULL};

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
			"hooks:     raw tracepoints sys_enter, sys_exit (stable), or from 7.0 on\n"
			"           tracepoints; raw tracepoints mm_filemap_add_to_page_cache,\n"
			"           mm_filemap_delete_from_page_cache, mm_filemap_map_pages,\n"
			"           mm_filemap_fault (the last two: 6.12; stable-ish)\n"
			"kernels:   5.10, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
			"fire rate: 1,000 to 1,000,000 calls a second\n"
			"cost:      measured at each start, see the footer\n",
		.options.list = options,
		.options.lacks = PLUMB_NO_HISTOGRAM_OPTIONS,
		.keys.fields = fields,
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
		.view.footer = print_footer,
		.view.report_json = add_json,
		.lifecycle.prepare = prepare,
		.lifecycle.settle = count_unused,
		.inflight = &inflight,
	};

	make_fields();
	return plumb_main(argc, argv, &tool);
}
