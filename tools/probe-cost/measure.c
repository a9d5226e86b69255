/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Only one probe is attached at a time, since others on the same hook would make it slower.  The
 * loop is timed without a probe just before it is attached and just after it is detached, and the
 * mean of both is subtracted.  Each round attaches anew, with a new copy of the program, since its
 * address in memory affects its cost.
 */
#include "mechanisms.h"

#include <sched.h>
#include <stdlib.h>
#include <plumb/core/log.h>
#include <plumb/user/self-test.h>

#define BUDGET_NS 1000000 /* for each timing of a loop */

struct row {
	struct mechanism *m;
	int body;
	double *added; /* ns, of each round */
};

/* So caches stay warm, and CPUs that differ do not matter. */
static void stay_on_this_cpu(void)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	CPU_ZERO(&one);
	if (cpu >= 0)
		CPU_SET(cpu, &one);
	if (cpu < 0 || sched_setaffinity(0, sizeof(one), &one))
		plumb_warn("cannot pin to a CPU: less exact");
}

/*
 * Measure a row once.  If that fails, the reason is in the mechanism.  Return whether run-time
 * statistics slowed it.
 */
static bool measure(const struct row *row, unsigned int round)
{
	struct mechanism *m = row->m;
	struct plumb_probes probes;
	double before, during;
	uint64_t runs;
	bool slowed;
	int err;

	before = plumb_self_test_ns(m->trigger, BUDGET_NS);
	if (mechanism_attach(m, row->body, &probes))
		return false;
	err = mechanism_prove(m, row->body, &probes);
	runs = mechanism_runs(m, row->body, &probes);
	during = plumb_self_test_ns(m->trigger, BUDGET_NS);
	slowed = mechanism_runs(m, row->body, &probes) != runs;
	plumb_probe_detach(&probes);
	plumb_probe_close(&probes);
	if (!err)
		row->added[round] =
			during - (before + plumb_self_test_ns(m->trigger, BUDGET_NS)) / 2;
	return slowed;
}

/* Fisher-Yates shuffle, not seeded: the same order in each run. */
static void shuffle(struct row *rows, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = random() % i;
		struct row last = rows[i - 1];

		rows[i - 1] = rows[j];
		rows[j] = last;
	}
}

static size_t list_rows(struct row **rows, unsigned int rounds, double **added)
{
	size_t n = 0;

	*rows = calloc(n_mechanisms * BODIES, sizeof(**rows));
	*added = calloc(n_mechanisms * BODIES * rounds, sizeof(**added));
	if (!*rows || !*added)
		abort();
	for (struct mechanism *m = mechanisms; m < mechanisms + n_mechanisms; m++)
		for (int body = 0; body < bodies_of(m); body++, n++)
			(*rows)[n] = (struct row){m, body, *added + n * rounds};
	return n;
}

bool measure_all(unsigned int *rounds, unsigned int *slowed, const volatile sig_atomic_t *over)
{
	int verbosity = plumb_verbosity;
	struct row *rows;
	double *added;
	size_t n = list_rows(&rows, *rounds, &added), i;
	unsigned int done = 0;
	bool any = false;

	*slowed = 0;
	stay_on_this_cpu();
	if (verbosity == 1)
		plumb_verbosity = 0; /* no messages about hundreds of probes */
	while (done < *rounds && !*over) {
		shuffle(rows, n);
		for (i = 0; i < n && !*over; i++)
			if (!*rows[i].m->why)
				*slowed += measure(&rows[i], done);
		done += i == n;
	}
	plumb_verbosity = verbosity;
	for (i = 0; i < n && done; i++) {
		struct mechanism *m = rows[i].m;

		if (*m->why)
			continue;
		m->cost[rows[i].body] = plumb_bootstrap(rows[i].added, done, 1);
		any |= !is_bystander(m);
	}
	free(added);
	free(rows);
	*rounds = done;
	return any;
}
