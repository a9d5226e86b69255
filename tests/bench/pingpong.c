/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pingpong: context switches for the benchmark.
 *
 * For each line "MS" on stdin two threads, on one CPU, wake each other for MS
 * milliseconds by a byte in a pipe, with the argument futex by futex words, and it answers
 *
 *	MEDIAN MINIMUM SWITCHES
 *
 * ns per switch over batches of them.  The time is that which the two were on the
 * CPU, the switch itself with it: what others do there meanwhile does not count.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAIRS       100 /* a batch */
#define MAX_BATCHES 65536

static int to[2], back[2];
static _Atomic uint32_t word_to, word_back;
static bool by_futex;

static void die(const char *what)
{
	fprintf(stderr, "pingpong: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* One wait of each thread, and one wakeup. */
static void give(_Atomic uint32_t *word)
{
	*word = 1;
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
}

static void take(_Atomic uint32_t *word)
{
	while (!atomic_exchange(word, 0))
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL);
}

static void *partner(void *unused)
{
	char byte;

	while (by_futex) {
		take(&word_to);
		give(&word_back);
	}
	while (read(to[0], &byte, 1) == 1)
		if (write(back[1], &byte, 1) != 1)
			die("write");
	return unused;
}

static void make_pair(void)
{
	char byte = 0;

	if (by_futex) {
		give(&word_to);
		take(&word_back);
		return;
	}
	if (write(to[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
		die("pipe");
}

/* The last CPU that we may use: interrupts favour the low ones. */
static void pin(void)
{
	cpu_set_t allowed, one;
	int cpu = CPU_SETSIZE - 1;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		die("sched_getaffinity");
	while (cpu > 0 && !CPU_ISSET(cpu, &allowed))
		cpu--;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		die("sched_setaffinity");
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void run(double ms)
{
	static double all[MAX_BATCHES];
	double deadline = now(CLOCK_MONOTONIC) + ms * 1e6, began;
	size_t n = 0;

	while (!n || (n < MAX_BATCHES && now(CLOCK_MONOTONIC) < deadline)) {
		began = now(CLOCK_PROCESS_CPUTIME_ID);
		for (int i = 0; i < PAIRS; i++)
			make_pair();
		all[n++] = (now(CLOCK_PROCESS_CPUTIME_ID) - began) / (2 * PAIRS);
	}
	qsort(all, n, sizeof(*all), by_value);
	printf("%.2f %.2f %zu\n", all[n / 2], all[0], 2 * PAIRS * n);
}

int main(int argc, char **argv)
{
	char line[64];
	pthread_t thread;
	double ms;

	by_futex = argc == 2 && !strcmp(argv[1], "futex");
	pin();
	if (pipe(to) || pipe(back))
		die("pipe");
	errno = pthread_create(&thread, NULL, partner, NULL);
	if (errno)
		die("pthread_create");
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", getpid());
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%lf", &ms) != 1) {
			fprintf(stderr, "pingpong: expected milliseconds\n");
			return 2;
		}
		run(ms);
	}
	return 0;
}
