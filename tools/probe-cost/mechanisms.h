/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mechanisms: those of probes, each with what it is tried on. */
#ifndef MECHANISMS_H
#define MECHANISMS_H

#include <plumb/base/bootstrap.h>
#include <plumb/attach/probe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct probe_cost_bpf;

/* The least and the most that --rounds takes. */
#define MIN_ROUNDS 5
#define MAX_ROUNDS 1000

enum { BODIES = 3 };
extern const char *const bodies[BODIES]; /* "empty", "counter", "histogram" */

struct mechanism {
	const char *name;
	const char *section; /* its programs are SECTION_BODY */
	enum plumb_hook hook;
	int runs;          /* of the program, a fire: 2 where it is at both ends of a call */
	const char *since; /* the kernel that brought it, in words for who lacks it; NULL: older */
	void (*trigger)(void);
	/* What makes the program run; NULL: trigger. */
	void (*prove)(void);
	const char *tracepoint; /* NULL: the self-test's */

	struct probe_cost_bpf *skel;
	char why[192];                      /* it was refused; "": it was not */
	struct plumb_interval cost[BODIES]; /* ns that a fire adds */
};

/* The last one is what bystanders pay: it has but the first body. */
extern struct mechanism mechanisms[];
extern const size_t n_mechanisms;
bool is_bystander(const struct mechanism *m);
int bodies_of(const struct mechanism *m);

/* Finds what is to be probed, and loads all that this kernel takes. */
void mechanisms_open(void);
void mechanisms_close(void);

/* 0, or -errno with the reason in M's why. */
int mechanism_attach(struct mechanism *m, int body, struct plumb_probes *probes);
/* How often its program has run, as far as statistics were on. */
uint64_t mechanism_runs(const struct mechanism *m, int body, const struct plumb_probes *probes);
/* Does the attached program run whenever it has to?  0, or -errno as above. */
int mechanism_prove(struct mechanism *m, int body, const struct plumb_probes *probes);

#endif
