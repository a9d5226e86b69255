/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * run: one run of the workload, with the tool or without.
 *
 * The workload is started and held, the tool is attached if the run has one, and the workload is
 * released and timed until it exits.  Without a tool the workload is held for as long as it was
 * with one: while it is held, its CPU's caches go cold, which slows its start.
 */
#pragma once

#include <linux/types.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What is compared; METRIC is a figure that the workload prints. */
enum measure { WALL, CPU, METRIC, MEASURES };

struct run {
	double values[MEASURES]; /* ns, ns, and the figure as printed */
	uint64_t migrations;     /* of its main thread, from one CPU to another */
};

struct run_plan {
	char **workload;
	const char *tool;
	const char *ready; /* regex of its ready line; NULL: it is not waited for */
	__u64 settle;      /* ns to wait after that */
	const char *metric;
	regex_t ready_regex, metric_regex;
	int signals; /* a signalfd: SIGCHLD, and signals that end trace-bias */
	/* ns that the latest run with the tool was held, for the next one without it. */
	uint64_t held;
};

/*
 * 0, or -errno after a message that names the run WHICH.  Without a message: -EINTR if a signal
 * came, -EPIPE if the reader of stdout is gone.  Nothing is left running.
 */
int run_once(struct run_plan *plan, bool traced, const char *which, struct run *run);

/* Return whether LINE matches; then TEXT is what the first group of REGEX matched. */
bool metric_find(const regex_t *regex, const char *line, char *text, size_t size);
/* 0, or -EINVAL if TEXT is not a number above 0, which ratios need. */
int metric_parse(const char *text, double *value);

/* The command line TOOL, malloc'd, with the workload's pid for each {}. */
char *run_tool_line(const char *tool, pid_t workload);
