/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * counters: what the kernel itself counts in a network namespace: that of the first process of -p,
 * else the tool's own.
 */
#pragma once

#include <fcntl.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/options.h>

struct net_counter {
	const char *file, *group, *name; /* "snmp", "Tcp:", "RetransSegs" */
	int fd;                          /* stays open, also when the process is gone */
	int64_t before, now;
	uint32_t pid; /* in whose namespace; 0: the tool's own */
};

/* The number below NAME in the two lines of GROUP; -1: there is none. */
static inline int64_t net_counter_read(const struct net_counter *c)
{
	char text[32768], *names, *values, *n, *v, *rest, *rest_n, *rest_v;
	size_t length = 0;
	ssize_t some;

	while ((some = pread(c->fd, text + length, sizeof(text) - 1 - length, length)) > 0)
		length += some;
	text[length] = 0;
	for (names = strtok_r(text, "\n", &rest); names; names = strtok_r(NULL, "\n", &rest)) {
		values = strtok_r(NULL, "\n", &rest);
		n = strtok_r(names, " ", &rest_n);
		v = values ? strtok_r(values, " ", &rest_v) : NULL;
		if (!n || strcmp(n, c->group) != 0)
			continue;
		for (; n && v && strcmp(n, c->name) != 0; v = strtok_r(NULL, " ", &rest_v))
			n = strtok_r(NULL, " ", &rest_n);
		return n && v ? strtoll(v, NULL, 10) : -1;
	}
	return -1;
}

static inline void net_counter_begin(struct net_counter *c, const struct plumb_options *o)
{
	char path[64];

	c->pid = o->n_pids ? o->pids[0] : 0;
	if (c->pid)
		snprintf(path, sizeof(path), "/proc/%u/net/%s", c->pid, c->file);
	else
		snprintf(path, sizeof(path), "/proc/self/net/%s", c->file);
	c->fd = open(path, O_RDONLY | O_CLOEXEC);
	c->before = net_counter_read(c);
}

/* At the time of a report, from plumb_lifecycle.settle: its rows are read then. */
static inline void net_counter_settle(struct net_counter *c)
{
	c->now = c->before < 0 ? -1 : net_counter_read(c);
}

/* By how much it has grown; -1: it cannot be read. */
static inline int64_t net_counter_grown(const struct net_counter *c)
{
	return c->now < 0 ? -1 : c->now - c->before;
}

/* "the network namespace of process 12"; returns TEXT. */
static inline const char *net_counter_whose(const struct net_counter *c, char *text, size_t size)
{
	if (c->pid)
		snprintf(text, size, "the network namespace of process %u", c->pid);
	else
		snprintf(text, size, "this tool's own network namespace");
	return text;
}

static inline json_t *net_counter_json(const struct net_counter *c)
{
	const int64_t grown = net_counter_grown(c);

	return grown < 0 ? json_null() : json_integer(grown);
}
