/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * counters: what the kernel itself counts in a network namespace: that of the first process of -p,
 * else the tool's own.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/options.h>

struct net_counter {
	const char *file, *group, *name; /* "snmp", "Tcp:", "RetransSegs" */
	FILE *in;                        /* stays open, also when the process is gone; NULL: none */
	int64_t before;
};

/* The number below NAME in the two lines of GROUP; -1: there is none. */
static inline int64_t net_counter_read(const struct net_counter *c)
{
	char *names = NULL, *values = NULL, *n, *v, *rest_n, *rest_v;
	size_t size_n = 0, size_v = 0;
	int64_t found = -1;

	if (c->in)
		rewind(c->in);
	while (c->in && found < 0 && getline(&names, &size_n, c->in) > 0 &&
	       getline(&values, &size_v, c->in) > 0) {
		n = strtok_r(names, " \n", &rest_n);
		v = strtok_r(values, " \n", &rest_v);
		if (!n || strcmp(n, c->group) != 0)
			continue;
		for (; n && v && strcmp(n, c->name) != 0; v = strtok_r(NULL, " \n", &rest_v))
			n = strtok_r(NULL, " \n", &rest_n);
		if (n && v)
			found = strtoll(v, NULL, 10);
	}
	free(names);
	free(values);
	return found;
}

static inline void net_counter_begin(struct net_counter *c, const struct plumb_options *o)
{
	char path[64];

	if (o->n_pids)
		snprintf(path, sizeof(path), "/proc/%u/net/%s", o->pids[0], c->file);
	else
		snprintf(path, sizeof(path), "/proc/self/net/%s", c->file);
	c->in = fopen(path, "re");
	c->before = net_counter_read(c);
}

/* By how much it has grown; -1: it cannot be read. */
static inline int64_t net_counter_grown(const struct net_counter *c)
{
	const int64_t now = c->before < 0 ? -1 : net_counter_read(c);

	return now < 0 ? -1 : now - c->before;
}

static inline json_t *net_counter_json(const struct net_counter *c)
{
	const int64_t grown = net_counter_grown(c);

	return grown < 0 ? json_null() : json_integer(grown);
}
