/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * costs: the results of probe-cost on this host, kept for tools that estimate what a probe costs.
 *
 * The file $PLUMB_CACHE/probe-cost.json has the JSON line that probe-cost prints.  The environment
 * variable PLUMB_CACHE defaults to /var/cache/plumb; if it is empty, nothing is kept.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Adds what costs depend on: the CPU model and the kernel's version (LINE has its release). */
void plumb_costs_describe(json_t *line);

/*
 * Opens the file, before the tool gives up what that takes; 0, also if nothing is to be kept, or
 * -errno after a message.
 */
int plumb_costs_begin(void);
/* Writes it, or with NULL leaves it as it was; 0, or -errno after a message. */
int plumb_costs_end(const json_t *line);

struct plumb_kept_cost {
	const char *mechanism, *body; /* as probe-cost names them; NULL: none */
	double ns;                    /* that a fire adds; 0: not known */
};

/*
 * Sets the NS of N costs, and DATE to that of their measurement ("2026-11-20").  False if the file
 * is of another kernel or CPU model, or if a user other than root could have written it.
 */
bool plumb_costs_load(struct plumb_kept_cost *costs, size_t n, char *date, size_t size);

/* Returns the share of one CPU, in percent, of RATE fires per second of NS each. */
double plumb_cost_percent(double ns, double rate);
