/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * calibrate: what tracing adds to a call, on this host, in this configuration.
 *
 * The cheapest system call is made in a loop: before anything is attached,
 * under a twin of the tool's programs that takes this thread's calls only, and
 * under the tool's own programs, which reject them.  The twin has its own maps:
 * nothing of this reaches a report.  Tools that do not see system calls but kernel
 * functions have their twin on the function of that call, and another that rejects;
 * those that see context switches, on switches between two threads.
 */
#include <plumb/session.h>
#include <plumb/switches.h>
#include <plumb/trial.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define BUDGET_NS   3000000  /* three times */
#define SWITCHES_NS 12000000 /* of pairs of context switches, which take some 5 us each */

/* Fewer runs of a program than these say little of what one costs: they were cold. */
#define ENOUGH_RUNS 100

static double bare;

static double cost_of(const struct plumb_session *s, void (*provoke)(void))
{
	const struct plumb_switches *switches = s->tool->switches;

	return plumb_trial_ns(provoke,
			      switches && provoke == switches->make ? SWITCHES_NS : BUDGET_NS);
}

/* What a twin adds to a call; negative where none can be had. */
static double cost_under_twin(const struct plumb_session *s, enum plumb_twin kind,
			      void (*provoke)(void))
{
	struct plumb_instance twin;
	double added = -1;
	char why[192];

	if (plumb_instance_load_twin(s, &twin, kind))
		return -1;
	if (!plumb_instance_attach(&twin, why, sizeof(why)))
		added = cost_of(s, provoke) - bare;
	plumb_instance_close(&twin);
	return added;
}

/* Tools of kernel functions are measured on that of the calibration's call. */
static bool find_function(struct plumb_session *s)
{
	if (!s->calibration.n)
		plumb_trial_find_function(s->options.btf, &s->calibration);
	return s->calibration.n == 1;
}

/* Of a pair, one switch is this thread's, which the twin takes, and one its partner's. */
static void calibrate_switches(struct plumb_session *s)
{
	const struct plumb_switches *switches = s->tool->switches;
	struct plumb_overhead *o = &s->overhead;
	double takes, rejects;

	if (!switches->begin())
		return;
	bare = cost_of(s, switches->make);
	takes = cost_under_twin(s, PLUMB_TWIN_TAKES, switches->make);
	rejects = cost_under_twin(s, PLUMB_TWIN_REJECTS, switches->make);
	switches->end();
	o->filtered = rejects > 0 ? rejects / 2 : 0;
	o->traced = takes - o->filtered;
	o->known = o->traced > 0;
	o->how = o->known ? "calibrated" : "disturbed";
}

void plumb_calibrate_traced(struct plumb_session *s)
{
	bool function = s->instance.rung->aims;

	s->overhead = (struct plumb_overhead){
		.how = s->options.calibrate ? "nothing to provoke" : "off",
	};
	if (s->options.calibrate && s->tool->switches)
		calibrate_switches(s);
	if (!s->options.calibrate || !(function ? find_function(s) : s->tool->sees_syscalls))
		return;
	bare = cost_of(s, plumb_trial_syscall);
	s->overhead.traced = cost_under_twin(s, PLUMB_TWIN_TAKES, plumb_trial_syscall);
	if (function)
		s->overhead.filtered = cost_under_twin(s, PLUMB_TWIN_REJECTS, plumb_trial_syscall);
	/* Not so where another tracer left meanwhile, or the CPU changed its speed. */
	s->overhead.known = s->overhead.traced > 0;
	s->overhead.how = s->overhead.known ? "calibrated" : "disturbed";
}

double plumb_calibrate_rung(struct plumb_session *s, const struct plumb_rung *rung,
			    enum plumb_twin kind, void (*provoke)(void))
{
	struct plumb_session with = *s;

	if (rung->aims && !find_function(s))
		return -1;
	with.calibration = s->calibration;
	with.instance.rung = rung;
	if (!provoke)
		provoke = plumb_trial_syscall;
	bare = cost_of(s, provoke);
	return cost_under_twin(&with, kind, provoke);
}

void plumb_calibrate_filtered(struct plumb_session *s)
{
	if (s->overhead.known && s->tool->sees_syscalls && !s->instance.rung->aims)
		s->overhead.filtered = cost_of(s, plumb_trial_syscall) - bare;
	if (s->overhead.filtered < 0)
		s->overhead.filtered = 0;
}

void plumb_calibrate_begin_statistics(struct plumb_session *s)
{
	s->statistics = -1;
	if (s->options.calibrate && !s->overhead.known && !s->tool->switches)
		s->statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
}

/* Adds the runs of a program to the sum; false: there were too few. */
static bool add_run_time(const struct plumb_instance *in, const char *name,
			 struct plumb_overhead *sum)
{
	const struct bpf_program *p = bpf_object__find_program_by_name(in->bpf.object, name);
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size) || info.run_cnt < ENOUGH_RUNS)
		return false;
	sum->traced += (double)info.run_time_ns / info.run_cnt;
	return true;
}

void plumb_calibrate_end_statistics(struct plumb_session *s)
{
	const struct plumb_instance *in = &s->instance;
	struct plumb_overhead sum = {
		.known = true,
		.filtered = -1,
		.how = "the kernel's run-time statistics",
	};
	size_t looked_at = 0;

	if (s->statistics < 0)
		return;
	close(s->statistics);
	s->statistics = -1;
	for (size_t i = 0; in->rung->programs[i] && sum.known; i++) {
		/* Those that follow threads are no part of a call. */
		if (!strncmp(in->rung->programs[i], "thread_", strlen("thread_")))
			continue;
		sum.known = add_run_time(in, in->rung->programs[i], &sum);
		looked_at++;
	}
	for (size_t i = 0; s->tool->samples && in->bpf.copied[i] && sum.known; i++) {
		sum.known = add_run_time(in, in->bpf.copied[i], &sum);
		looked_at++;
	}
	/* Programs that are aimed at functions are not listed: calibration has said why it failed.
	 */
	if (sum.known && looked_at)
		s->overhead = sum;
	else if (looked_at)
		s->overhead.how = s->tool->samples ? "fewer than 100 runs"
						   : "fewer than 100 runs in the first 0.1 s";
}
