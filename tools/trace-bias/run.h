/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * run: one run of the workload, with the tool or without.
 *
 * The workload is started and held, the tool is attached, if there is to be one, the
 * workload is released and timed to its end.  Without a tool it is held as long as it
 * was with one: meanwhile its CPU's caches go cold, which the program that is then
 * started pays for.
 */
#ifndef RUN_H
#define RUN_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What is compared; METRIC is the workload's own. */
enum measure { WALL, CPU, METRIC, MEASURES };

struct run {
	double values[MEASURES]; /* ns, ns, and as it was printed */
	uint64_t migrations;     /* of its main thread, from one CPU to another */
};

struct run_plan {
	char **workload;
	const char *tool;
	const char *ready; /* what it prints when it traces; NULL: it is not waited for */
	uint64_t settle;   /* ns to wait after that */
	const char *metric;
	regex_t ready_regex, metric_regex;
	int signals; /* a signalfd: SIGCHLD, and what ends us */
	/* ns that the latest run with the tool was held, for the next one without it. */
	uint64_t held;
};

/*
 * 0, or -errno after saying why, with the run's name WHICH; -EINTR: a signal came;
 * -EPIPE, without a word: nobody reads our output.  Nothing is left running.
 */
int run_once(struct run_plan *plan, bool traced, const char *which, struct run *run);

/* TOOL's command line, malloc'd, with the workload's pid for each {}. */
char *run_tool_line(const char *tool, pid_t workload);

#endif
