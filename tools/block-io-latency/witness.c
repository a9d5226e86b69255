/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* witness: --verify, by the statistics of the disks that have requests. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include <plumb/core/run.h>
#include <plumb/witness/witness.h>

#include "requests.h"

#define MAX_DISKS 1024

/* Of each disk "stat": the tool may open no files later, when it is confined. */
static int stats[MAX_DISKS];
static size_t n_stats, n_names;
static DIR *names;
static bool has_changed;

static size_t count_names(void)
{
	size_t n = 0;

	rewinddir(names);
	while (readdir(names))
		n++;
	return n;
}

/* Whether the file PATH of DISK, which older kernels lack, is a 1. */
static bool is_set(const char *disk, const char *path)
{
	char text[512];
	FILE *f;
	int c;

	snprintf(text, sizeof(text), "/sys/block/%s/%s", disk, path);
	f = fopen(text, "re");
	c = f ? fgetc(f) : 0;
	if (f)
		fclose(f);
	return c == '1';
}

static const char *open_disk(const char *disk)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/mq", disk);
	if (faccessat(dirfd(names), path, F_OK, 0))
		return NULL; /* its driver takes bios */
	if (!is_set(disk, "queue/iostats"))
		return "the statistics of a disk are off (queue/iostats)";
	if (n_stats == MAX_DISKS)
		return "too many disks";
	snprintf(path, sizeof(path), "%s/stat", disk);
	stats[n_stats] = openat(dirfd(names), path, O_RDONLY | O_CLOEXEC);
	return stats[n_stats++] < 0 ? "the statistics of a disk cannot be read" : NULL;
}

static const char *open_disks(const struct plumb_run *run)
{
	const struct dirent *entry;
	const char *why = NULL;

	(void)run;
	if (block_selects)
		return "disks do not count by thread, name or cgroup";
	names = opendir("/sys/block");
	if (!names)
		return "/sys/block cannot be read";
	while (!why && (entry = readdir(names)))
		if (entry->d_name[0] != '.')
			why = open_disk(entry->d_name);
	n_names = count_names();
	return why;
}

static const char *doubt(void)
{
	return has_changed ? "disks came or went meanwhile" : NULL;
}

/* Reads, writes with flushes, and discards that have ended. */
static uint64_t count(void)
{
	uint64_t sum = 0, reads, writes, discards;
	char text[512];
	ssize_t n;

	for (size_t i = 0; i < n_stats; i++) {
		n = pread(stats[i], text, sizeof(text) - 1, 0);
		text[n > 0 ? n : 0] = 0;
		if (sscanf(text,
			   "%" SCNu64 " %*u %*u %*u %" SCNu64 " %*u %*u %*u %*u %*u %*u %" SCNu64,
			   &reads, &writes, &discards) == 3)
			sum += reads + writes + discards;
		else
			has_changed = true;
	}
	has_changed |= count_names() != n_names;
	return sum;
}

/* The tool's requests are counted by both. */
static uint64_t own(void)
{
	return 0;
}

/* Commands for drivers: some kernels count some of them (queue/iostats_passthrough). */
static uint64_t commands(void)
{
	return block_counted(offsetof(struct block_counts, driver));
}

/* What found no room when it began is unmatched when it ends. */
static uint64_t seen(const struct plumb_run *run)
{
	uint64_t n = plumb_witness_recorded(run);

	for (size_t i = 0; i < PLUMB_LEDGERS; i++)
		n -= run->instance.bpf.ledgers[i].no_state;
	return n + block_counted(offsetof(struct block_counts, own)) -
	       block_counted(offsetof(struct block_counts, passed)) - commands();
}

const struct plumb_witness block_witness = {
	.source = "the statistics of the disks",
	.counted = "requests",
	.open = open_disks,
	.count = count,
	.own = own,
	.seen = seen,
	.unsure = commands,
	.doubt = doubt,
};
