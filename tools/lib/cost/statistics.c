/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "statistics.h"

#include <unistd.h>
#include <plumb/cost/calibrate.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* Fewer runs of a program are not evaluated, since they ran with cold caches. */
#define ENOUGH_RUNS 100

int statistics_begin(struct plumb_run *run)
{
	run->statistics = -1;
	if (run->options.calibrate && !run->overhead.known && !run->tool->overhead.switches)
		run->statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return 0;
}

void plumb_run_times_add(struct plumb_run_times *t, uint64_t ns, uint64_t runs)
{
	t->ns += ns;
	t->all += runs;
	t->most = runs > t->most ? runs : t->most;
}

double plumb_run_times_mean(const struct plumb_run_times *t, bool stages)
{
	const uint64_t events = stages ? t->most : t->all;

	return events < ENOUGH_RUNS ? 0 : (double)t->ns / events;
}

/* Whether programs keep states of calls, which they then see several times. */
static bool programs_are_stages(const struct plumb_instance *in)
{
	for (size_t i = 0; i < PLUMB_LEDGERS; i++)
		if (in->bpf.ledgers[i].began)
			return true;
	return false;
}

/* Adds the program NAME, if it is loaded. */
static void add_run_time(const struct plumb_instance *in, const char *name,
			 struct plumb_run_times *t)
{
	const struct bpf_program *p = bpf_object__find_program_by_name(in->bpf.object, name);
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	if (bpf_program__autoload(p) && !bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size))
		plumb_run_times_add(t, info.run_time_ns, info.run_cnt);
}

void statistics_end(struct plumb_run *run)
{
	const struct plumb_instance *in = &run->instance;
	const char *const *programs = in->mechanism->programs;
	const bool sampled = run->tool->measure.sampled;
	struct plumb_run_times times = {};
	size_t i;
	double ns;

	if (run->statistics < 0)
		return;
	close(run->statistics);
	run->statistics = -1;
	/* Programs that follow threads are not part of a call's cost. */
	for (i = 0; programs && programs[i]; i++)
		add_run_time(in, programs[i], &times);
	for (i = 0; sampled && in->bpf.copied[i]; i++)
		add_run_time(in, in->bpf.copied[i], &times);
	/*
	 * Programs of functions are not listed; for these OVERHEAD.how says why calibration failed.
	 */
	if (!programs && !sampled)
		return;
	ns = plumb_run_times_mean(&times, programs_are_stages(in));
	if (ns > 0)
		run->overhead = (struct plumb_overhead){
			.known = true,
			.traced.median = ns,
			.how = "the kernel's run-time statistics",
		};
	else
		run->overhead.how =
			sampled ? "fewer than 100 runs" : "fewer than 100 runs in the first 0.1 s";
}

bool statistics_are_had_early(const struct plumb_run *run)
{
	return run->statistics >= 0 && !run->tool->measure.sampled;
}
