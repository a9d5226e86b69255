/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * costs: what probe-cost has measured on this host, kept for tools that foretell what
 * a probe will cost.
 *
 * It is a file, PLUMB_CACHE/probe-cost.json, with the JSON line that probe-cost
 * prints.  PLUMB_CACHE is a variable of the environment, /var/cache/plumb unless it
 * is set; set to nothing it means that nothing is kept.
 */
#ifndef PLUMB_COSTS_H
#define PLUMB_COSTS_H

#include <jansson.h>
#include <stddef.h>

/* Adds what figures depend on: the kernel's version (its release is there), the CPU model. */
void plumb_costs_describe(json_t *line);

/* 0, or -errno after saying why it is not kept. */
int plumb_costs_save(const json_t *line);

/*
 * What was kept, the caller's; NULL where there is none of this kernel and this CPU
 * model that root alone could have written.
 */
json_t *plumb_costs_load(void);

/* ns that a fire adds; 0: it does not say. */
double plumb_costs_of(const json_t *costs, const char *mechanism, const char *body);
/* "2026-11-20" */
const char *plumb_costs_date(const json_t *costs, char *text, size_t size);

/* How much of one CPU, in percent, RATE fires a second take. */
double plumb_cost_percent(double ns, double rate);
const char *plumb_format_percent(double percent, char *text, size_t size);

#endif
