/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* causes: threads that say by their own clocks, and by the kernel's account, where their time went.
 */
#pragma once

#include "workload.h"

/* Of the calling thread, ns.  DELAY: runnable without a CPU, by /proc/PID/schedstat. */
struct clocks {
	uint64_t wall, cpu, delay;
};

#define MS       1000000ULL
#define TOGETHER 50000 /* ns */

struct worker {
	const char *comm;
	void (*work)(struct worker *w);
	uint64_t until; /* when the work is over */
	/* What the thread measured: */
	pthread_t thread;
	pid_t tid;
	struct clocks whole;
	uint64_t delay_of_life;
	uint64_t count;
	int64_t low, high; /* bounds of the time that is due to the cause, ns */
	bool slept;        /* it is that of sleeps */
};

static _Thread_local int schedstat = -1;

static inline uint64_t cpu_of(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		die("clock_gettime: %s", strerror(errno));
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static inline uint64_t delay_so_far(void)
{
	unsigned long long delay;
	char text[128];
	ssize_t n;

	if (schedstat < 0)
		schedstat = open_of_thread(getpid(), own_tid(), "schedstat");
	n = syscall(SYS_pread64, schedstat, text, sizeof(text) - 1, (off_t)0);
	text[n > 0 ? n : 0] = 0;
	if (sscanf(text, "%*u %llu", &delay) != 1)
		die("schedstat is not as expected: %s", text);
	return delay;
}

/* All three at the same time: again, if the thread lost its CPU between them. */
static inline struct clocks clocks_now(void)
{
	uint64_t after;
	struct clocks c;
	int tries = 0;

	do {
		c.wall = now_ns();
		c.cpu = cpu_of(CLOCK_THREAD_CPUTIME_ID);
		c.delay = delay_so_far();
		after = now_ns();
	} while (after - c.wall > TOGETHER && ++tries < 10);
	return c;
}

/* What has passed since BEGAN. */
static inline struct clocks clocks_since(const struct clocks *began)
{
	struct clocks c = clocks_now();

	c.wall -= began->wall;
	c.cpu -= began->cpu;
	c.delay -= began->delay;
	return c;
}

/* The thread slept since BEGAN because of the cause, but for its time on the CPU and without it. */
static inline void add_sleep(struct worker *w, const struct clocks *began)
{
	const struct clocks c = clocks_since(began);
	const int64_t asleep = c.wall - c.cpu - c.delay;

	w->low += asleep;
	w->high += asleep;
	w->count++;
	w->slept = true;
}

/* ns that a hypervisor had the CPUs: time on the CPU that the kernel's account of a thread lacks.
 */
static inline uint64_t stolen_so_far(void)
{
	unsigned long long ticks = 0;
	FILE *f = fopen("/proc/stat", "re");

	if (!f || fscanf(f, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks) != 1)
		die("/proc/stat is not as expected");
	fclose(f);
	return ticks * (1000000000ULL / sysconf(_SC_CLK_TCK));
}

/* The thread had a CPU since BEGAN.  A hypervisor's use of that is in the second, not in the first.
 */
static inline void add_busy(struct worker *w, const struct clocks *began)
{
	const struct clocks c = clocks_since(began);

	w->low += c.cpu;
	w->high += c.wall - c.delay;
	w->count++;
}

/* The thread, which is always busy, had no CPU at times. */
static inline void add_delay(struct worker *w, const struct clocks *began)
{
	const struct clocks c = clocks_since(began);

	w->low += c.delay;
	w->high += c.wall - c.cpu;
	w->count++;
}

/* The process beside the threads. */
static struct {
	pid_t pid;
	const char *comm;
	uint64_t cpu;
} other;

static void start_other(const char *comm, void (*work)(void))
{
	other.comm = comm;
	other.pid = fork_or_die();
	if (other.pid)
		return;
	rename_self(comm);
	work();
	_exit(0);
}

static uint64_t other_cpu(void)
{
	clockid_t clock;

	if (clock_getcpuclockid(other.pid, &clock))
		die("clock_getcpuclockid");
	return cpu_of(clock);
}

static inline char *fresh_memory(size_t size)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	madvise(at, size, MADV_NOHUGEPAGE);
	return at;
}
