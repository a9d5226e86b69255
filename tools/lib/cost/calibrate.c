/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * calibrate: the time that tracing adds to a call, on this host, in this configuration.
 *
 * Loops of a short system call are timed in four states: with nothing attached; under a calibration
 * instance, which takes only this thread's calls; with nothing attached again; and under the tool's
 * own programs, which reject these calls.  The calibration instance has the tool's configuration
 * and its own maps, so its calls do not reach a report.  Where programs are on kernel functions,
 * the calibration instance is on the function of that system call, and another one there rejects.
 * Tools of context switches have them on switches between two threads.
 *
 * The tool's own programs are loaded when the calibration instance is gone: attaching them at once
 * would wait until no CPU uses the latter's any more (on 6.18, for an RCU grace period).
 *
 * Attaching waits for the kernel, so the states cannot alternate quickly.  Instead, each loop is
 * compared with an arithmetic loop next to it, and each state with the states before and after it,
 * in which nothing is attached; the less favourable of the two counts for the interval.
 */
#include "statistics.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <plumb/core/collect.h>
#include <plumb/core/filter.h>
#include <plumb/core/part.h>
#include <plumb/core/snapshot.h>
#include <plumb/cost/calibrate.h>
#include <plumb/syscalls/syscalls.h>
#include <plumb/user/self-test.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define STACK_SIZE (64 << 10) /* of a process that makes calls */
#define BUDGET_NS  4000000    /* for each state, of which there are at most five */

static double unit; /* ns of an arithmetic loop in the first measurement */

/* Times with nothing attached: the first and the latest. */
static struct plumb_interval first, latest;

/* The median that the latest calibration instance recorded of its calls. */
static uint64_t latency;

static struct plumb_interval measure(void (*trigger)(void))
{
	struct plumb_self_test self_test;

	plumb_self_test_run(&self_test, trigger, BUDGET_NS);
	if (!unit)
		unit = plumb_self_test_unit(&self_test);
	return plumb_self_test_interval(&self_test, unit);
}

static struct plumb_interval added_by(const struct plumb_interval *during)
{
	return plumb_interval_added(during, &first, &latest);
}

/* The median of the latencies that the calibration instance has recorded; 0: none. */
static uint64_t recorded_median(const struct plumb_run *run, const struct plumb_instance *in)
{
	struct plumb_run with = *run;
	struct plumb_snapshot snap;
	uint64_t median = 0;

	with.instance = *in;
	with.options.max_keys = 1;
	if (!plumb_has_histogram(run->tool->measure.kind) || plumb_collect(&with, &snap))
		return 0;
	for (size_t i = 0; i < snap.n; i++)
		if (snap.rows[i].count)
			median = plumb_percentile(&snap.rows[i].dist, 50 * PLUMB_PERCENT);
	plumb_snapshot_free(&snap);
	return median;
}

/* Measures what a calibration instance adds to a call; false if it cannot be loaded or attached. */
static bool measure_under(const struct plumb_run *run, enum plumb_calibration kind,
			  void (*trigger)(void), struct plumb_interval *added)
{
	struct plumb_interval during;
	struct plumb_instance calibration;
	char why[192];
	bool attached;

	if (plumb_instance_load_calibration(run, &calibration, kind))
		return false;
	calibration.bpf.trigger = trigger;
	attached = !plumb_instance_attach(&calibration, why, sizeof(why));
	*calibration.bpf.live = attached;
	if (attached)
		during = measure(trigger);
	if (attached && kind == PLUMB_CALIBRATION_TAKES)
		latency = recorded_median(run, &calibration);
	plumb_instance_close(&calibration);
	if (!attached)
		return false;
	latest = measure(trigger);
	*added = added_by(&during);
	return true;
}

/*
 * Finds the function of the calibration's system call, on which tools of kernel functions are
 * measured.
 */
static bool find_function(struct plumb_run *run)
{
	if (!run->calibrated.n)
		plumb_self_test_find_function(run->options.btf, &run->calibrated);
	return run->calibrated.n == 1;
}

static void clamp(struct plumb_interval *i)
{
	i->low = i->low > 0 ? i->low : 0;
	i->median = i->median > 0 ? i->median : 0;
	i->high = i->high > 0 ? i->high : 0;
}

void plumb_overhead_judge(struct plumb_overhead *o)
{
	/* A traced call costs what a rejected one does, and more. */
	o->known = o->traced.median > 0 && !(o->filtered_known && o->traced.high < o->filtered.low);
	o->how = !o->known ? "disturbed"
		 : o->filtered_known && o->traced.median < o->filtered.median
			 ? "calibrated, but too disturbed to distinguish the two"
			 : "calibrated";
	clamp(&o->traced);
	clamp(&o->filtered);
}

/*
 * In each pair of switches, one is this thread's, which the calibration instance takes, and one its
 * partner's.
 */
static void calibrate_switches(struct plumb_run *run)
{
	const struct plumb_switches *switches = run->tool->overhead.switches;
	struct plumb_overhead *o = &run->overhead;
	struct plumb_interval takes = {}, rejects = {};

	if (!switches->begin())
		return;
	first = measure(switches->make);
	o->known = measure_under(run, PLUMB_CALIBRATION_TAKES, switches->make, &takes) &&
		   measure_under(run, PLUMB_CALIBRATION_REJECTS, switches->make, &rejects);
	switches->end();
	o->filtered_known = o->known;
	o->filtered =
		(struct plumb_interval){rejects.low / 2, rejects.median / 2, rejects.high / 2};
	o->traced = (struct plumb_interval){takes.low - o->filtered.high,
					    takes.median - o->filtered.median,
					    takes.high - o->filtered.low};
	plumb_overhead_judge(o);
}

/* Whether the tool's own programs do not even run at the calibration's call. */
static bool rejects_elsewhere(const struct plumb_run *run)
{
	return run->instance.mechanism->attach_targets || run->instance.mechanism->selective;
}

static void calibrate_traced(struct plumb_run *run)
{
	struct plumb_overhead *o = &run->overhead;
	bool function = run->instance.mechanism->attach_targets;

	*o = (struct plumb_overhead){
		.how = run->options.calibrate ? "nothing to trigger" : "off",
	};
	if (run->options.calibrate && run->tool->overhead.switches)
		calibrate_switches(run);
	if (!run->options.calibrate ||
	    !(function ? find_function(run) : run->tool->overhead.syscalls))
		return;
	first = measure(plumb_self_test_syscall);
	measure_under(run, PLUMB_CALIBRATION_TAKES, plumb_self_test_syscall, &o->traced);
	if (rejects_elsewhere(run))
		o->filtered_known = measure_under(run, PLUMB_CALIBRATION_REJECTS,
						  plumb_self_test_syscall, &o->filtered);
	plumb_overhead_judge(o);
}

bool plumb_calibrate_mechanism(struct plumb_run *run, const struct plumb_mechanism *mechanism,
			       enum plumb_calibration kind, void (*trigger)(void),
			       struct plumb_interval *added)
{
	struct plumb_run with = *run;

	if (mechanism->attach_targets && !find_function(run))
		return false;
	with.calibrated = run->calibrated;
	with.instance.mechanism = mechanism;
	if (!trigger)
		trigger = plumb_self_test_syscall;
	first = measure(trigger);
	return measure_under(&with, kind, trigger, added);
}

bool plumb_calibrate(struct plumb_run *run, void (*trigger)(void))
{
	const struct plumb_mechanism *m = run->instance.mechanism;
	struct plumb_overhead o = {};

	if (!plumb_calibrate_mechanism(run, m, PLUMB_CALIBRATION_TAKES, trigger, &o.traced))
		return false;
	o.filtered_known =
		plumb_calibrate_mechanism(run, m, PLUMB_CALIBRATION_REJECTS, trigger, &o.filtered);
	plumb_overhead_judge(&o);
	run->overhead = o;
	return true;
}

void plumb_calibrate_userfuncs(struct plumb_run *run, bool is_stepped)
{
	void (*const triggers[])(void) = {plumb_self_test_call, plumb_self_test_call_stepped};
	struct plumb_interval added;
	uint64_t empty[2] = {};

	if (plumb_calibrate_mechanism(run, run->instance.mechanism, PLUMB_CALIBRATION_TAKES,
				      triggers[!is_stepped], &added))
		empty[!is_stepped] = latency;
	if (!plumb_calibrate(run, triggers[is_stepped]))
		return;
	empty[is_stepped] = latency;
	run->overhead.empty = empty[false];
	run->overhead.empty_stepped = empty[true];
}

/*
 * Calls that the tool's programs reject, to measure what a rejection costs.
 *
 * The programs reject the tool's own calls first, at a lower cost than the calls of other
 * processes.  If the filters reject every new process, a new process therefore makes the calls of
 * the self-test; otherwise the tool makes them itself.
 */
struct work {
	struct plumb_self_test *self_test;
	uint64_t budget;
};

/* Whether a filter rejects a new process that has the tool's name. */
static bool is_rejected(const struct plumb_run *run)
{
	const struct plumb_options *o = &run->options;
	const struct plumb_tool_syscalls *syscalls = run->tool->options.syscalls;

	return o->n_pids || o->n_tids || run->child ||
	       (syscalls && syscalls->selection->selected &&
		!plumb_syscall_is_selected(syscalls->selection, PLUMB_CALIBRATION_NR,
					   PLUMB_ABI_NATIVE)) ||
	       ((o->n_comms || o->globs.n) && !plumb_filter_takes_own_name(o));
}

static int make_calls(void *context)
{
	const struct work *work = context;

	plumb_self_test_run(work->self_test, plumb_self_test_syscall, work->budget);
	return 0;
}

static void make_rejected_calls(const struct plumb_run *run, struct plumb_self_test *self_test,
				uint64_t budget)
{
	struct work work = {self_test, budget};
	char *stack = MAP_FAILED;
	pid_t pid = -1;

	if (is_rejected(run))
		stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	/*
	 * It shares the tool's memory, the tool waits until it has exited, and no signal reports
	 * that.
	 */
	if (stack != MAP_FAILED)
		pid = clone(make_calls, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK, &work);
	if (pid < 0)
		plumb_self_test_run(self_test, plumb_self_test_syscall, budget);
	else
		while (waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
			;
	if (stack != MAP_FAILED)
		munmap(stack, STACK_SIZE);
}

static void calibrate_filtered(struct plumb_run *run)
{
	struct plumb_overhead *o = &run->overhead;
	struct plumb_self_test self_test;
	struct plumb_interval during;

	if (!o->known || !run->tool->overhead.syscalls || rejects_elsewhere(run))
		return;
	make_rejected_calls(run, &self_test, BUDGET_NS);
	during = plumb_self_test_interval(&self_test, unit);
	o->filtered = added_by(&during);
	o->filtered_known = true;
	plumb_overhead_judge(o);
}

/* A tool that seeks functions seeks that of the calibration's call, too. */
static void check(const struct plumb_options *o, const struct plumb_tool *tool)
{
	if (o->calibrate)
		plumb_self_test_keep_function();
}

const struct plumb_part plumb_cost_part = {
	.name = "cost",
	.check = check,
	.try = calibrate_traced,
	.attached = calibrate_filtered,
	.open = statistics_begin,
	.early_ns = STATISTICS_NS,
	.wants_early = statistics_are_had_early,
	.early = statistics_end,
	.detached = statistics_end,
};
