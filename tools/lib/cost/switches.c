/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/cost/calibrate.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

/* For the calibration: two threads that wake each other on one CPU. */
static struct {
	pthread_t partner;
	int to[2], back[2];
	cpu_set_t cpus; /* allowed for this thread before pin() */
} pair;

static void *partner(void *unused)
{
	char byte;

	while (read(pair.to[0], &byte, 1) == 1)
		if (write(pair.back[1], &byte, 1) != 1)
			break;
	return unused;
}

static bool pin(void)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	if (cpu < 0 || sched_getaffinity(0, sizeof(pair.cpus), &pair.cpus))
		return false;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return !sched_setaffinity(0, sizeof(one), &one);
}

static void close_pipe(const int ends[2])
{
	close(ends[0]);
	close(ends[1]);
}

static bool begin(void)
{
	if (!pin())
		return false;
	if (pipe2(pair.to, O_CLOEXEC))
		goto unpin;
	if (pipe2(pair.back, O_CLOEXEC))
		goto close_to;
	/* The thread inherits the CPU affinity. */
	if (!pthread_create(&pair.partner, NULL, partner, NULL))
		return true;
	close_pipe(pair.back);
close_to:
	close_pipe(pair.to);
unpin:
	sched_setaffinity(0, sizeof(pair.cpus), &pair.cpus);
	return false;
}

static void make(void)
{
	char byte = 0;

	if (write(pair.to[1], &byte, 1) != 1 || read(pair.back[0], &byte, 1) != 1)
		return; /* one switch less; gcc warns of unused results */
}

static void end(void)
{
	close(pair.to[1]);
	pthread_join(pair.partner, NULL);
	close(pair.to[0]);
	close_pipe(pair.back);
	sched_setaffinity(0, sizeof(pair.cpus), &pair.cpus);
}

const struct plumb_switches plumb_switches = {begin, make, end};
