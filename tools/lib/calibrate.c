/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * calibrate: what tracing adds to a call, on this host, in this configuration.
 *
 * The cheapest system call is made in a loop: before anything is attached,
 * under a twin of the tool's programs that takes this thread's calls only, and
 * under the tool's own programs, which reject them.  The twin has its own maps:
 * nothing of this reaches a report.
 */
#include <plumb/session.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Many short loops, of which the fastest counts, because all others were
 * disturbed.  10,000 calls, 3 times, at about 0.3 us: 9 ms in all.
 */
#define LOOPS      50
#define LOOP_CALLS 200

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* ns of one call, as it is right now. */
static double cost_of_call(void)
{
	uint64_t best = UINT64_MAX, start, took;

	for (int i = 0; i < LOOPS; i++) {
		start = now();
		for (int j = 0; j < LOOP_CALLS; j++)
			syscall(PLUMB_CALIBRATION_NR, 0);
		took = now() - start;
		if (took < best)
			best = took;
	}
	return (double)best / LOOP_CALLS;
}

static double bare;

void plumb_calibrate_traced(struct plumb_session *s)
{
	struct plumb_instance twin;
	char why[192];

	s->overhead = (struct plumb_overhead){
		.how = s->options.calibrate ? "nothing to provoke" : "off",
	};
	if (!s->options.calibrate || !s->tool->sees_syscalls)
		return;
	bare = cost_of_call();
	if (plumb_instance_load_twin(s, &twin))
		return;
	if (!plumb_instance_attach(&twin, why, sizeof(why))) {
		s->overhead.traced = cost_of_call() - bare;
		/* Not so where another tracer left meanwhile, or the CPU changed its speed. */
		s->overhead.known = s->overhead.traced > 0;
		s->overhead.how = s->overhead.known ? "calibrated" : "disturbed";
	}
	plumb_instance_close(&twin);
}

void plumb_calibrate_filtered(struct plumb_session *s)
{
	double added;

	if (!s->overhead.known)
		return;
	added = cost_of_call() - bare;
	s->overhead.filtered = added > 0 ? added : 0;
}
