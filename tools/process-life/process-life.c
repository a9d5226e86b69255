/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <plumb/core/tracer.h>
#include <plumb/guard/allowed.h>
#include <plumb/kernel/map.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "process-life.h"
#include "process-life.skel.h"

static struct process_life_bpf *programs;

/* --- rows --- */

static void format_status(const void *key, char *text, size_t size)
{
	const int status = ((const struct life_key *)key)->status;
	const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;

	if (WIFEXITED(status))
		snprintf(text, size, "%d", WEXITSTATUS(status));
	else if (name)
		snprintf(text, size, "SIG%s%s", name, WCOREDUMP(status) ? ",core" : "");
	else
		snprintf(text, size, "signal-%d", WTERMSIG(status));
}

/* Adds to TEXT, of which USED bytes are used; returns how many then are. */
static size_t add_argument(const char *one, char *text, size_t used, size_t size)
{
	char escaped[4 * LIFE_ARGUMENTS + 1];

	plumb_escape(escaped, one, sizeof(escaped));
	for (const char *c = escaped; *c && used < size; c++)
		used += *c == ' ' ? snprintf(text + used, size - used, "\\x20")
				  : snprintf(text + used, size - used, "%c", *c);
	return used;
}

/* "ls -l a\x20file": so an argument with a blank differs from two. */
static void format_arguments(const void *key, char *text, size_t size)
{
	const struct life_key *k = key;
	const int map = bpf_map__fd(programs->maps.life_texts);
	char one[LIFE_ARGUMENTS + 1];
	struct life_text kept;
	size_t n, used = 0;

	snprintf(text, size, "-");
	if (!k->arguments || plumb_map_lookup(map, &k->arguments, &kept))
		return;
	n = kept.size < LIFE_ARGUMENTS ? kept.size : LIFE_ARGUMENTS;
	for (size_t at = 0; at < n && used < size; at += strlen(one) + 1) {
		snprintf(one, sizeof(one), "%.*s", (int)(n - at), kept.bytes + at);
		if (at)
			used += snprintf(text + used, size - used, " ");
		if (used < size)
			used = add_argument(one, text, used, size);
	}
	if (kept.size > LIFE_ARGUMENTS && used < size)
		snprintf(text + used, size - used, "...");
}

static const struct plumb_field fields[] = {
	{"status", LIFE_BY_STATUS, .format = format_status},
	{PLUMB_FIELD("parent", LIFE_BY_PARENT, PLUMB_WORD, life_key, parent)},
	{"arguments", LIFE_BY_ARGUMENTS, .format = format_arguments},
};

static bool arguments;

/* clang-format off: one option per line */
static const struct plumb_option options[] = {
	{"arguments", 0, NULL,
	 "also group by the arguments of the programs, which are not read otherwise", 30,
	 .given = &arguments},
	{0},
};
/* clang-format on */

static void complete(struct plumb_options *o)
{
	if (arguments)
		o->by |= LIFE_BY_ARGUMENTS;
	arguments = o->by & LIFE_BY_ARGUMENTS;
}

/* The kernel samples which mode a CPU is in, unless it accounts for it, and measures their sum. */
static double time_of_mode(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	const double sum = (double)row->counters[LIFE_USER] + row->counters[LIFE_SYSTEM];

	return sum ? row->counters[id] / sum * row->counters[LIFE_CPU] : NAN;
}

static const struct plumb_column columns[] = {
	{"cputime", PLUMB_COLUMN_TIME,
	 "CPU time of the processes, ns. Missing: it is known of none of them.", .id = LIFE_CPU,
	 .zero_is_unknown = true},
	{"user", PLUMB_COLUMN_TIME,
	 "The part of it in user mode, as the kernel estimates it. Null: it has no sample.",
	 .id = LIFE_USER, .value = time_of_mode},
	{"system", PLUMB_COLUMN_TIME,
	 "The part of it in the kernel, the same. Null: it has no sample.", .id = LIFE_SYSTEM,
	 .value = time_of_mode},
	{},
};

/* --- counts of the whole trace --- */

static struct life_counts counts(void)
{
	struct life_counts sum = {};

	for (int i = 0; i < PLUMB_LEDGERS; i++) {
		const struct life_counts *c = &programs->bss->life_counts[i];

		sum.began += c->began;
		sum.executed += c->executed;
		sum.threads += c->threads;
		sum.before += c->before;
		sum.kept += c->kept;
		sum.known += c->known;
		sum.unread += c->unread;
		sum.unkept += c->unkept;
	}
	return sum;
}

static uint64_t without_cpu(const struct life_counts *c)
{
	return c->kept - c->known + c->unkept;
}

static void print_footer(FILE *out)
{
	const struct life_counts c = counts();

	fprintf(out,
		"processes: %" PRIu64 " began, %" PRIu64 " programs executed, %" PRIu64
		" threads began\n",
		(uint64_t)c.began, (uint64_t)c.executed, (uint64_t)c.threads);
	if (c.before || without_cpu(&c))
		fprintf(out,
			"    of those that ended %" PRIu64 " had begun before the trace, %" PRIu64
			" lack their CPU time\n",
			(uint64_t)c.before, without_cpu(&c));
	if (programs->bss->life_unkept_arguments)
		fprintf(out, "    there was no room for the arguments of %" PRIu64 "\n",
			(uint64_t)programs->bss->life_unkept_arguments);
}

static void add_json(json_t *json, const struct plumb_report *r)
{
	const struct life_counts c = counts();

	json_object_set_new(json, "began", plumb_json_u64(c.began));
	json_object_set_new(json, "executed", plumb_json_u64(c.executed));
	json_object_set_new(json, "threads_began", plumb_json_u64(c.threads));
	json_object_set_new(json, "began_before", plumb_json_u64(c.before));
	json_object_set_new(json, "without_cpu", plumb_json_u64(without_cpu(&c)));
	json_object_set_new(json, "without_arguments",
			    plumb_json_u64(programs->bss->life_unkept_arguments));
}

/* --- the run --- */

/* The policy forbids to look at arguments as it forbids the calls that have them. */
static int check_allowed(void)
{
	char what[64];
	int err = arguments ? plumb_allowed_name("s", "execve", what, sizeof(what)) : 0;

	return err || !arguments ? err : plumb_allowed_name("s", "execveat", what, sizeof(what));
}

static int open_raw_tracepoint(struct plumb_bpf *bpf, bool calibration)
{
	struct process_life_bpf *skel;
	int err = check_allowed();

	if (err)
		return err;
	skel = process_life_bpf__open_opts(plumb_open_opts());
	if (!skel)
		return -errno;
	if (!calibration)
		programs = skel;
	if (arguments) {
		bpf_map__set_max_entries(skel->maps.life_texts, LIFE_TEXTS);
		bpf_map__set_max_entries(skel->maps.life_executed, LIFE_ENDED);
	}
	*bpf = PLUMB_BPF_OF(skel, "sched_process_fork", "sched_process_exec", "sched_process_exit",
			    "sched_process_free");
	return 0;
}

/* Adds the CPU time of processes that the kernel has not freed, such as zombies. */
static void add_times(void)
{
	const int program = bpf_program__fd(programs->progs.on_report);
	LIBBPF_OPTS(bpf_test_run_opts, one, .ctx_size_in = sizeof(uint64_t));
	static struct plumb_elements ended;

	plumb_map_read(bpf_map__fd(programs->maps.life_ended), &ended);
	for (size_t i = 0; i < ended.n; i++) {
		one.ctx_in = (uint64_t *)ended.keys + i;
		bpf_prog_test_run_opts(program, &one);
	}
}

#define PATIENCE (PLUMB_SECOND * 3 / 10)

static uint64_t settled(void)
{
	const struct life_counts c = counts();

	return c.known + c.unread;
}

/* The last thread of a process runs for a while after its exit is seen. */
static void settle(const struct plumb_run *run)
{
	const uint64_t until = plumb_now() + PATIENCE, kept = counts().kept;

	if (!programs->bss->life_began)
		programs->bss->life_began = plumb_now();
	while (settled() < kept) {
		add_times();
		if (settled() >= kept || plumb_now() >= until)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
}

static const char *const attached[] = {"process_ends", "process_exits", "process_executes",
				       "process_begins", NULL};
static const char *const vital[] = {"process_exits", NULL};
static const char *const run_here[] = {"on_report", NULL};

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "raw_tracepoint",
		.stability = PLUMB_SCHED_STABILITY,
		.open = open_raw_tracepoint,
		.misses_are_calls = true,
		.vital = vital,
		.programs = attached,
		.test_runs = run_here,
	},
};

int main(int argc, char **argv)
{
	struct plumb_tool tool = {
		.card.name = "process-life",
		.card.summary = "Summarize the processes that end, by program and exit status: how "
				"long they lived, and their CPU time.",
		.card.about =
			"hooks:     raw tracepoints sched_process_fork, sched_process_exec,\n"
			"           sched_process_exit, sched_process_free (stable-ish)\n"
			"kernels:   5.10, 6.1-rt, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
			"fire rate: four per process, two per thread: 10 to 50,000 a second\n"
			"cost:      see the footer\n",
		.options.list = options,
		.options.complete = complete,
		.keys.fields = fields,
		.keys.n_fields = sizeof(fields) / sizeof(fields[0]),
		.keys.size = sizeof(struct life_key),
		.keys.default_by = PLUMB_BY_PROCESS | LIFE_BY_STATUS,
		.measure.counted = "processes",
		.measure.errors = true,
		.measure.rate = true,
		.measure.columns = columns,
		.view.footer = print_footer,
		.view.report_json = add_json,
		.overhead.traced = "a process",
		.mechanisms.list = mechanisms,
		.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
		.lifecycle.settle = settle,
	};

	return plumb_main(argc, argv, &tool);
}
