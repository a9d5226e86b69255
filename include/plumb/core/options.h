/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* options: the parsed command line, checked for form but not against the running system. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <plumb/bpf/core/config.h>
#include <plumb/core/text.h>

struct plumb_tool;

#define PLUMB_MAX_PERCENTILES 16
#define PLUMB_MAX_TRIGGERS    8

struct plumb_options {
	uint64_t interval; /* ns; 0: one report, at the end */
	uint64_t sample;   /* ns; without INTERVAL, how often outputs beside the report take rows */
	uint64_t count;    /* reports; 0: no limit */
	__u64 duration;    /* ns; 0: no limit */
	bool until;        /* the run ends at a time of the clock */

	/* The flight recorder. */
	struct {
		bool on;
		uint64_t time, interval; /* ns; TIME 0: records are kept */
		uint64_t records;
		const char *out; /* NULL: stdout */
		uint64_t max_dumps;
		const char *triggers[PLUMB_MAX_TRIGGERS]; /* not parsed yet */
		size_t n_triggers;
		const char *key;
		uint64_t after, cool_down; /* ns */
		bool cool_down_given;
		bool exit_on_dump;
	} keep;

	/* Filters.  An empty list does not filter. */
	uint32_t pids[PLUMB_MAX_LIST], n_pids;
	bool follow; /* and the descendants of PIDS, from now on */
	uint32_t tids[PLUMB_MAX_LIST], n_tids;
	char comms[PLUMB_MAX_LIST][PLUMB_COMM_LEN];
	uint32_t n_comms;
	struct plumb_globs globs;              /* globs of --comm */
	char *comms_typed[2 * PLUMB_MAX_LIST]; /* both */
	uint32_t n_comms_typed;
	char *cgroups[PLUMB_MAX_LIST];
	uint32_t n_cgroups;
	char **command; /* after "--", ended by NULL; NULL: none */

	uint32_t by;   /* PLUMB_BY_* and the tool's own */
	bool by_given; /* else BY is the tool's default */
	__u64 min_count;
	struct {
		uint64_t p;    /* as percentile.h takes it */
		char name[16]; /* as typed: "99.9" */
	} percentiles[PLUMB_MAX_PERCENTILES];
	size_t n_percentiles;
	enum plumb_unit unit;
	bool histogram, json;
	__u64 top; /* rows in the table; 0: all, or if not TOP_GIVEN as the tool likes */
	bool top_given;
	const char *sort, *columns; /* NULL: those that the tool chooses */

	bool no_return; /* waits on the way out of a call are not sought (sched/return.h) */
	bool split;     /* rows have the parts of their time (split.h); an option of the tool */
	__u64 max_keys, precision;
	bool max_keys_given;   /* else the tool may raise it */
	const char *mechanism; /* NULL: the first mechanism that works */
	const char *btf;       /* a file; NULL: the running kernel's */
	bool calibrate;
	bool check_only;            /* nothing but these options is to be checked */
	void (*instead)(FILE *out); /* the tool prints this, if the policy allows it, and exits */
	bool strict;
	uint64_t strict_percent; /* as percentile.h's p */
};

/*
 * Parses the command line of TOOL.  Wrong usage ends the process with status 2,
 * --help, --version, --about and -h with 0.
 */
void plumb_options_parse(struct plumb_options *options, int argc, char **argv,
			 struct plumb_tool *tool);

/* Options of tools that time calls, whatever they call a call. */
#define PLUMB_OPTION_SPLIT                                                                         \
	{                                                                                          \
		"split", 0, NULL, "split the time into on-cpu, preempted, blocked, runq, return",  \
			40, .shared = offsetof(struct plumb_options, split)                        \
	}
#define PLUMB_OPTION_NO_RETURN(call)                                                               \
	{                                                                                          \
		"no-return", 0, NULL, "leave out waits on the way out, after the " call, 40,       \
			.shared = offsetof(struct plumb_options, no_return)                        \
	}

/* Options of tables, also of programs that do not trace. */
void plumb_option_percentile(const char *option, const char *item, struct plumb_options *o);
void plumb_option_unit(const char *option, const char *text, struct plumb_options *o);
/* The default ones, if none were given. */
void plumb_options_complete_percentiles(struct plumb_options *o);

/* Whether the mechanism that OPTIONS name can do what they ask of it; if not, as wrong usage. */
void plumb_options_check_mechanism(const struct plumb_options *options,
				   const struct plumb_tool *tool);
