/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "notes.h"
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define CPUFREQ "/sys/devices/system/cpu/cpufreq"

static const char clock_source[] =
	"/sys/devices/system/clocksource/clocksource0/current_clocksource";

/* Read the first line of a file, without its newline; false: there is none. */
static bool read_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");
	bool is_there = f && fgets(line, size, f);

	if (f)
		fclose(f);
	if (is_there)
		line[strcspn(line, "\n")] = 0;
	return is_there;
}

static bool read_below(const struct notes *n, const char *path, char *line, int size)
{
	char whole[PATH_MAX];

	snprintf(whole, sizeof(whole), "%s%s", n->root, path);
	return read_line(whole, line, size);
}

/* Find FILE of each cpufreq policy, a group of CPUs that change their frequency together. */
static void glob_policies(const struct notes *n, const char *file, glob_t *found)
{
	char pattern[PATH_MAX];

	snprintf(pattern, sizeof(pattern), "%s" CPUFREQ "/policy*/%s", n->root, file);
	if (glob(pattern, 0, NULL, found))
		found->gl_pathc = 0;
}

static void read_ticks(const struct notes *n, uint64_t *ticks, uint64_t *stolen)
{
	uint64_t t[8] = {0}; /* user nice system idle iowait irq softirq steal */
	char line[256];

	*ticks = *stolen = 0;
	if (!read_below(n, "/proc/stat", line, sizeof(line)) ||
	    sscanf(line,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != 8)
		return;
	for (int i = 0; i < 8; i++)
		*ticks += t[i];
	*stolen = t[7];
}

void notes_begin(struct notes *n, const char *root)
{
	*n = (struct notes){.root = root};
	read_ticks(n, &n->ticks, &n->stolen);
}

void notes_run_begins(struct notes *n)
{
	unsigned int running;
	char line[128];

	n->runs++;
	/* "0.00 0.01 0.05 2/164 4711": the running threads include this one. */
	if (read_below(n, "/proc/loadavg", line, sizeof(line)) &&
	    sscanf(line, "%*s %*s %*s %u/", &running) == 1 && running > 1)
		n->crowded++;
}

void notes_run_ended(struct notes *n)
{
	char line[64];
	uint64_t khz;
	glob_t found;

	glob_policies(n, "scaling_cur_freq", &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (!read_line(found.gl_pathv[i], line, sizeof(line)) ||
		    sscanf(line, "%" SCNu64, &khz) != 1)
			continue;
		if (!n->khz_least || khz < n->khz_least)
			n->khz_least = khz;
		if (khz > n->khz_most)
			n->khz_most = khz;
	}
	globfree(&found);
}

static void add(json_t *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(json_t *list, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	json_array_append_new(list, json_vsprintf(format, args));
	va_end(args);
}

static void add_frequency(const struct notes *n, json_t *list)
{
	char governor[64] = "";
	glob_t found;

	glob_policies(n, "scaling_governor", &found);
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (read_line(found.gl_pathv[i], governor, sizeof(governor)) &&
		    strcmp(governor, "performance"))
			break;
	globfree(&found);
	if (*governor && strcmp(governor, "performance"))
		add(list, "frequency scaling: the governor is %s, not performance", governor);
	/* Up to a tenth is jitter of the kernel's measurement. */
	if (n->khz_most > n->khz_least + n->khz_least / 10)
		add(list, "frequency: CPUs were at %" PRIu64 " to %" PRIu64 " MHz as runs ended",
		    n->khz_least / 1000, n->khz_most / 1000);
}

static void add_turbo(const struct notes *n, json_t *list)
{
	char line[16];

	if ((read_below(n, "/sys/devices/system/cpu/intel_pstate/no_turbo", line, sizeof(line)) &&
	     !strcmp(line, "0")) ||
	    (read_below(n, CPUFREQ "/boost", line, sizeof(line)) && !strcmp(line, "1")))
		add(list, "turbo is on: the frequency depends on load and heat");
}

static void add_steal(const struct notes *n, json_t *list)
{
	uint64_t ticks, stolen;
	double percent;

	read_ticks(n, &ticks, &stolen);
	percent = ticks > n->ticks ? 100. * (stolen - n->stolen) / (ticks - n->ticks) : 0;
	if (percent >= 0.1)
		add(list, "steal: the hypervisor kept %.1f %% of the CPUs' time", percent);
}

static void add_clock(const struct notes *n, json_t *list)
{
	char line[64];

	if (read_below(n, clock_source, line, sizeof(line)) && strcmp(line, "tsc") &&
	    strcmp(line, "arch_sys_counter"))
		add(list, "clock: %s, not the CPU's own counter: tracers read it", line);
}

json_t *notes_list(const struct notes *n)
{
	json_t *list = json_array();

	add_frequency(n, list);
	add_turbo(n, list);
	if (n->migrations[0] || n->migrations[1])
		add(list,
		    "migration: the workload changed CPUs %" PRIu64
		    " times without the tool, %" PRIu64 " with it",
		    n->migrations[0], n->migrations[1]);
	if (n->crowded)
		add(list, "load: other threads ran as %" PRIu64 " of %" PRIu64 " runs began",
		    n->crowded, n->runs);
	add_steal(n, list);
	add_clock(n, list);
	return list;
}
