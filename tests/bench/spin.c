/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * spin: the load that the benchmark measures.
 *
 * spin [WHAT BATCH] prints `ready PID`, then for each line `THREADS MILLISECONDS` on
 * stdin it does WHAT (system call getppid unless told) in THREADS threads, each on a
 * CPU of its own, and answers
 *
 *	MEDIAN MINIMUM CALLS
 *
 * ns per call over the batches of all threads, and how many calls they made, so
 * that a tracer's count can be held against it.  One process serves a whole
 * benchmark: a tracer can be told its pid before the load begins.
 *
 * WHAT is the number of a system call; `rename`, a thread gives itself the name that
 * it has; `call`, it calls the function spin_call; or on x86-64 `ret`, `push`, `sub`, `nop`,
 * `nop5`, `endbr64` or `endbr64-nop5`, it calls the function spin_ret, …, which begins so.
 *
 * Time is the thread's CPU time: what others do on the machine counts only as
 * far as it slows the processor itself.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 64
#define MAX_BATCHES 16384

struct spinner {
	pthread_t thread;
	int cpu;
	double deadline;
	unsigned int batches;
	unsigned long calls;
	double ns[MAX_BATCHES];
};

static pthread_barrier_t together;
static long nr = SYS_getppid;

static void make_call(void)
{
	syscall(nr, 0);
}

static void rename_thread(void)
{
	prctl(PR_SET_NAME, "spin");
}

__attribute__((noinline)) void spin_call(void)
{
	asm volatile("" : : : "memory");
}

#ifdef __x86_64__
/*
 * What a user probe costs depends on the instruction that it replaces.  In assembler, because
 * compilers choose the first instruction by themselves.
 */
#define FUNCTION(name, instructions)                                                               \
	void name(void);                                                                           \
	asm(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name              \
	    ":\n" instructions "\nret\n.size " #name ", . - " #name "\n")

FUNCTION(spin_ret, "");
FUNCTION(spin_push, "push %rbp\npop %rbp");
FUNCTION(spin_sub, "sub $24, %rsp\nadd $24, %rsp");
FUNCTION(spin_nop, "nop");
FUNCTION(spin_nop5, ".byte 0x0f, 0x1f, 0x44, 0, 0\npush %rbp\npop %rbp");
FUNCTION(spin_endbr64, "endbr64\npush %rbp\npop %rbp");
FUNCTION(spin_endbr64_nop5, "endbr64\n.byte 0x0f, 0x1f, 0x44, 0, 0");
#endif

static const struct {
	const char *name;
	void (*call)(void);
} choices[] = {
	{"rename", rename_thread},
	{"call", spin_call},
#ifdef __x86_64__
	{"ret", spin_ret},
	{"push", spin_push},
	{"sub", spin_sub},
	{"nop", spin_nop},
	{"nop5", spin_nop5},
	{"endbr64", spin_endbr64},
	{"endbr64-nop5", spin_endbr64_nop5},
#endif
};

static void (*what)(void) = make_call;
/* About a millisecond without a tracer, so that two reads of the clock weigh nothing. */
static int batch = 10000;

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "spin: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *spin(void *arg)
{
	struct spinner *s = arg;
	cpu_set_t cpus;
	double began;
	int i, first = 1;

	CPU_ZERO(&cpus);
	CPU_SET(s->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("sched_setaffinity");
	pthread_barrier_wait(&together);
	while (!s->batches || (s->batches < MAX_BATCHES && now(CLOCK_MONOTONIC) < s->deadline)) {
		began = now(CLOCK_THREAD_CPUTIME_ID);
		for (i = 0; i < batch; i++)
			what();
		s->ns[s->batches] = (now(CLOCK_THREAD_CPUTIME_ID) - began) / batch;
		s->calls += batch;
		/* The first batch warms the caches and makes the tracer's state. */
		if (first)
			first = 0;
		else
			s->batches++;
	}
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The last of the CPUs that we may use first: interrupts favour the low ones. */
static int choose_cpus(int *cpus)
{
	cpu_set_t allowed;
	int cpu, n = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		die("sched_getaffinity");
	for (cpu = CPU_SETSIZE - 1; cpu >= 0 && n < MAX_THREADS; cpu--)
		if (CPU_ISSET(cpu, &allowed))
			cpus[n++] = cpu;
	return n;
}

static int choose(const char *word)
{
	size_t i;
	char rest;

	for (i = 0; i < sizeof(choices) / sizeof(*choices); i++)
		if (!strcmp(choices[i].name, word)) {
			what = choices[i].call;
			return 1;
		}
	return sscanf(word, "%ld%c", &nr, &rest) == 1;
}

static void run(int threads, double ms, const int *cpus)
{
	static struct spinner spinners[MAX_THREADS];
	static double all[MAX_THREADS * MAX_BATCHES];
	unsigned long calls = 0;
	size_t n = 0;
	int i;

	pthread_barrier_init(&together, NULL, threads);
	for (i = 0; i < threads; i++) {
		spinners[i].cpu = cpus[i];
		spinners[i].batches = 0;
		spinners[i].calls = 0;
		/* By the clock and not by number, so that all threads run to the end together. */
		spinners[i].deadline = now(CLOCK_MONOTONIC) + ms * 1e6;
		errno = pthread_create(&spinners[i].thread, NULL, spin, &spinners[i]);
		if (errno)
			die("pthread_create");
	}
	for (i = 0; i < threads; i++) {
		pthread_join(spinners[i].thread, NULL);
		memcpy(all + n, spinners[i].ns, spinners[i].batches * sizeof(*all));
		n += spinners[i].batches;
		calls += spinners[i].calls;
	}
	pthread_barrier_destroy(&together);
	qsort(all, n, sizeof(*all), by_value);
	printf("%.2f %.2f %lu\n", all[n / 2], all[0], calls);
}

int main(int argc, char **argv)
{
	int cpus[MAX_THREADS], ncpus = choose_cpus(cpus), threads;
	char line[64], rest;
	double ms;

	if (argc != 1 && (argc != 3 || !choose(argv[1]) ||
			  sscanf(argv[2], "%d%c", &batch, &rest) != 1 || batch < 1)) {
		fprintf(stderr, "usage: spin [NR|rename|call|… BATCH]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", getpid());
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%d %lf", &threads, &ms) != 2 || threads < 1 || threads > ncpus) {
			fprintf(stderr, "spin: expected 1 to %d threads and milliseconds\n", ncpus);
			return 2;
		}
		run(threads, ms, cpus);
	}
	return 0;
}
