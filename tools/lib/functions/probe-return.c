/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * probe: kretprobes for many calls in flight.
 *
 * The kretprobe of a perf event is for 10 calls in flight, or twice the number of CPUs.  Another
 * number (maxactive) can only be set for an event in tracefs, which has a name and stays until it
 * is removed.  The name contains the pid and start time of the process that made it; the next
 * process that makes one removes the events of processes that are gone.  The kernel refuses to
 * remove an event in use.
 */
#include <plumb/functions/probing.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/reasons.h>
#include <plumb/functions/functions.h>
#include <plumb/functions/tracepoints.h>
#include <plumb/kernel/thread.h>

#define GROUP "plumb"

/* The kernel's limit of maxactive, and the limit of its sum over a tool's functions. */
#define MOST_CALLS 4096
#define ALL_CALLS  (64 * 1024)

/* Opened before the tool gives up what opening them takes. */
static int tracefs = -1, events = -1, profile = -1;
static unsigned long long started; /* start of this process, in clock ticks since boot */

/* The start of the process, in clock ticks since boot; 0: there is no such process. */
static unsigned long long start_of(int pid)
{
	struct plumb_thread_stat stat;

	return plumb_thread_stat(pid, pid, &stat) ? 0 : stat.begun / 10000000;
}

/* Writes a line to kprobe_events; 0 or -errno. */
static int command(const char *line)
{
	if (events < 0)
		events = openat(tracefs, "kprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);
	return events < 0 || write(events, line, strlen(line)) < 0 ? -errno : 0;
}

static int remove_event(int pid, unsigned long long start, uint32_t number)
{
	char line[128];

	snprintf(line, sizeof(line), "-:" GROUP "/return_%d_%llu_%u\n", pid, start, number);
	return command(line);
}

static void remove_orphans(void)
{
	int fd = openat(tracefs, "kprobe_events", O_RDONLY | O_CLOEXEC), pid;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	unsigned long long start;
	char line[512], *name;
	uint32_t number;

	while (f && fgets(line, sizeof(line), f)) {
		name = strstr(line, ":" GROUP "/return_");
		if (name &&
		    sscanf(name, ":" GROUP "/return_%d_%llu_%u", &pid, &start, &number) == 3 &&
		    start_of(pid) != start && !remove_event(pid, start, number))
			plumb_info("removed a kretprobe that process %d left behind", pid);
	}
	if (f)
		fclose(f);
}

/* Opens tracefs and removes the events of dead processes, once per process; 0 or -errno. */
static int prepare(void)
{
	if (tracefs >= 0)
		return 0;
	tracefs = plumb_tracefs_try();
	if (tracefs < 0)
		return tracefs;
	profile = openat(tracefs, "kprobe_profile", O_RDONLY | O_CLOEXEC);
	started = start_of(getpid());
	remove_orphans();
	return 0;
}

static int open_event(uint32_t number)
{
	char path[128];
	uint32_t id;
	FILE *f;
	int fd, n;

	snprintf(path, sizeof(path), "events/" GROUP "/return_%d_%llu_%u/id", getpid(), started,
		 number);
	fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f)
		return -errno;
	n = fscanf(f, "%u", &id);
	fclose(f);
	if (n != 1)
		return -EIO;
	return plumb_probe_open_tracepoint(id);
}

int plumb_return_open(const struct plumb_function *function, size_t n, uint32_t *number)
{
	static uint32_t last;
	uint32_t calls = n > ALL_CALLS / MOST_CALLS ? ALL_CALLS / n : MOST_CALLS;
	char line[512], where[256];
	int err = prepare(), event;

	if (err)
		return err;
	if (function->address)
		snprintf(where, sizeof(where), "0x%llx", (unsigned long long)function->address);
	else
		snprintf(where, sizeof(where), "%s%s%s", function->module ?: "",
			 function->module ? ":" : "", function->name);
	*number = ++last;
	snprintf(line, sizeof(line), "r%u:" GROUP "/return_%d_%llu_%u %s\n", calls, getpid(),
		 started, *number, where);
	err = command(line);
	if (err) {
		*number = 0;
		return err;
	}
	event = open_event(*number);
	if (event < 0)
		plumb_return_remove(number);
	return event;
}

/* Links report misses only from 6.7 on, kprobe_profile in all kernels. */
void plumb_return_missed(uint32_t number, uint64_t *missed)
{
	int fd = lseek(profile, 0, SEEK_SET) ? -1 : fcntl(profile, F_DUPFD_CLOEXEC, 0);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	unsigned long long n;
	char line[512], name[128];

	snprintf(name, sizeof(name), " return_%d_%llu_%u ", getpid(), started, number);
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, name) && sscanf(strstr(line, name), "%*s %*s %llu", &n) == 1)
			*missed += n;
	if (f)
		fclose(f);
}

/* Its users are closed, but the kernel may release a link a moment later. */
void plumb_return_remove(uint32_t *number)
{
	int err = *number ? -EBUSY : 0;

	for (int i = 0; err == -EBUSY && i < 100; i++) {
		err = remove_event(getpid(), started, *number);
		if (err == -EBUSY)
			usleep(10000);
	}
	if (err)
		plumb_warn("cannot remove the kretprobe " GROUP "/return_%d_%llu_%u: %s", getpid(),
			   started, *number, plumb_errno_name(err));
	*number = 0;
}
