/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mechanisms: the probe mechanisms, and how each is triggered. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/functions/probe.h>
#include <plumb/user/bootstrap.h>

struct probe_cost_bpf;

/* The range of --rounds. */
#define MIN_ROUNDS 5
#define MAX_ROUNDS 1000

enum { BODIES = 3 };
extern const char *const bodies[BODIES]; /* "empty", "counter", "histogram" */

struct mechanism {
	const char *name;
	const char *section; /* its programs are named SECTION_BODY */
	enum plumb_hook hook;
	int runs;          /* of the program, per fire: 2 if it runs at entry and exit */
	const char *since; /* required kernel, for a message; NULL: all have it */
	void (*trigger)(void);
	/* Makes the program run; NULL: trigger does. */
	void (*prove)(void);
	const char *tracepoint; /* NULL: that of the self-test */

	struct probe_cost_bpf *skel;
	char why[192];                      /* why it was refused; "": it was not */
	struct plumb_interval cost[BODIES]; /* ns added per fire */
};

/*
 * The last one (bystander) is what a tracepoint of another system call adds to every system call.
 * It has only the first body.
 */
extern struct mechanism mechanisms[];
extern const size_t n_mechanisms;
bool is_bystander(const struct mechanism *m);
int bodies_of(const struct mechanism *m);

/* Find the targets, and load the programs of all mechanisms that this kernel supports. */
void mechanisms_open(void);
/* Writes the audit record; 0, or -errno after a message. */
int mechanisms_leave_record(void);
void mechanisms_close(void);

/* 0, or -errno with the reason in M->why. */
int mechanism_attach(struct mechanism *m, int body, struct plumb_probes *probes);
/* Runs of its program, counted only while run-time statistics are enabled. */
uint64_t mechanism_runs(const struct mechanism *m, int body, const struct plumb_probes *probes);
/* Check that the attached program runs on every fire.  0, or -errno as above. */
int mechanism_prove(struct mechanism *m, int body, const struct plumb_probes *probes);

/*
 * measure.c: measure all mechanisms that are not refused and set their cost; false: all, apart from
 * the bystander, are refused.  *SLOWED is the number of measurements during which another process
 * had BPF run-time statistics enabled, which makes every program slower.  When *OVER is set, it
 * ends early; *ROUNDS is then the number of whole rounds.
 */
bool measure_all(unsigned int *rounds, unsigned int *slowed, const volatile sig_atomic_t *over);
