// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * usdt: USDT probes of its own, each passed a known number of times: at one place or several, with
 * arguments in registers, in memory and constant, all enabled by semaphores.
 */
#define _SDT_HAS_SEMAPHORES 1
#include "workload.h"
#include <sys/sdt.h>

const char usage[] =
	"Usage: usdt THREADS\n"
	"Pass the USDT probes of provider app a known number of times: begin and end in THREADS\n"
	"threads, begin at three places; slow_begin and slow_end around sleeps; rare; and guarded, "
	"only\n"
	"if its semaphore says that it is traced; queued in one thread and taken in another, for "
	"101 "
	"jobs,\n"
	"of which 3 are queued twice, 5 never taken, and 2 more that were not queued. The "
	"semaphores have to be raised after gate go, "
	"and\n"
	"lowered again after gate leave: the row semaphores has how many are not.\n"
	"With \"exec\" instead of THREADS, only pass slow_begin, and execute itself, which passes\n"
	"slow_end.\n"
	"\n"
	"Gates: ready, go; done; leave, if there are gates.\n";

#define ROUNDS   1009 /* of each thread */
#define SLEEPS   31
#define SLEEP_NS 3000000
#define RARE     23
#define GUARDED  53
#define JOBS     101
#define AGAIN    3 /* queued twice */
#define LEFT     5 /* not taken */
#define STRANGE  2 /* taken, not queued */

/* The kernel raises them while a probe is attached. */
#define SEMAPHORE(name)                                                                            \
	volatile unsigned short app_##name##_semaphore __attribute__((section(".probes"), used))

SEMAPHORE(begin);
SEMAPHORE(end);
SEMAPHORE(slow_begin);
SEMAPHORE(slow_end);
SEMAPHORE(rare);
SEMAPHORE(guarded);
SEMAPHORE(queued);
SEMAPHORE(taken);
SEMAPHORE(twofold);
SEMAPHORE(twofold_again);

/* A second place of the probe twofold, as another object file has it: with a semaphore of its own.
 */
static void pass_twofold_again(void)
{
	asm volatile("990: nop\n"
		     ".pushsection .note.stapsdt, \"\", \"note\"\n.balign 4\n"
		     ".4byte 992f - 991f, 994f - 993f, 3\n"
		     "991: .asciz \"stapsdt\"\n992: .balign 4\n"
		     "993: .8byte 990b, _.stapsdt.base, app_twofold_again_semaphore\n"
		     ".asciz \"app\"\n.asciz \"twofold\"\n.asciz \"\"\n994: .balign 4\n"
		     ".popsection");
}

static volatile int numbers[4] = {-1, -2, -3, -4};

/* Inlined at each of its calls: a place of the probe. */
static inline __attribute__((always_inline)) void begin(int round, long constant)
{
	STAP_PROBE4(app, begin, round, constant, numbers[round & 3], (signed char)-round);
}

static void *run(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 3 == 0)
			begin(i, 1000);
		else if (i % 3 == 1)
			begin(i, -2000);
		else
			begin(i, 3000);
		STAP_PROBE1(app, end, i);
	}
	return NULL;
}

static void run_threads(unsigned int n)
{
	pthread_t threads[64];

	for (unsigned int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			die("cannot make a thread");
	for (unsigned int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void run_sleeps(struct series *sleeps)
{
	uint64_t start;

	for (int i = 0; i < SLEEPS; i++) {
		start = now_ns();
		STAP_PROBE1(app, slow_begin, i);
		pause_ns(SLEEP_NS);
		STAP_PROBE2(app, slow_end, i, i % 2);
		series_add(sleeps, now_ns() - start, false);
	}
}

static void *take(void *unused)
{
	for (long job = LEFT; job < JOBS + STRANGE; job++)
		STAP_PROBE2(app, taken, (short)(job % 3), -job);
	return NULL;
}

/* Jobs that one thread queues and another takes: by a number, as DONE's second argument. */
static void run_jobs(struct series *jobs)
{
	uint64_t start = now_ns();
	pthread_t thread;

	for (long i = 0; i < JOBS + AGAIN; i++)
		STAP_PROBE1(app, queued, -(i < JOBS ? i : i - AGAIN));
	pause_ns(SLEEP_NS);
	if (pthread_create(&thread, NULL, take, NULL))
		die("cannot make a thread");
	pthread_join(thread, NULL);
	series_add(jobs, now_ns() - start, false);
}

static void put_calls(const char *name, uint64_t count)
{
	put_row_of("function", own_tid(), "usdt", name, count, 0);
	put("}");
}

static uint64_t count_raised(void)
{
	return !!app_begin_semaphore + !!app_end_semaphore + !!app_slow_begin_semaphore +
	       !!app_slow_end_semaphore + !!app_rare_semaphore + !!app_guarded_semaphore +
	       !!app_queued_semaphore + !!app_taken_semaphore + !!app_twofold_semaphore +
	       !!app_twofold_again_semaphore;
}

/* START and DONE in one thread, but in two programs. */
static void execute_between(const char *argument)
{
	if (!strcmp(argument, "exec")) {
		STAP_PROBE1(app, slow_begin, 0);
		execl("/proc/self/exe", "usdt", "executed", NULL);
		die("cannot execute itself");
	}
	if (!strcmp(argument, "executed")) {
		STAP_PROBE2(app, slow_end, 0, 0);
		exit(0);
	}
}

int main(int argc, char **argv)
{
	uint64_t raised, guarded = 0;
	struct series sleeps, jobs;
	unsigned int threads;

	help_if_asked(argc, argv);
	if (argc != 2)
		misuse("THREADS is needed");
	execute_between(argv[1]);
	threads = parse_number(argv[1], "THREADS", 1, 64);
	series_init(&sleeps, SLEEPS);
	series_init(&jobs, 1);
	reached("ready");
	gate("go");
	raised = count_raised();
	run_threads(threads);
	run_sleeps(&sleeps);
	run_jobs(&jobs);
	for (int i = 0; i < RARE; i++)
		STAP_PROBE(app, rare);
	for (int i = 0; i < GUARDED; i++) {
		if (app_guarded_semaphore) {
			STAP_PROBE1(app, guarded, i);
			guarded++;
		}
		if (app_twofold_semaphore)
			STAP_PROBE(app, twofold);
		if (app_twofold_again_semaphore)
			pass_twofold_again();
	}
	reached("done");
	gate("leave");
	report_begin();
	put_calls("begin", threads * ROUNDS);
	put_calls("end", threads * ROUNDS);
	put_calls("rare", RARE);
	put_calls("guarded", guarded);
	put_calls("raised", raised);
	put_calls("semaphores", count_raised());
	put_row_of("function", own_tid(), "usdt", "slow", sleeps.count, 0);
	put(",");
	put_figures(&sleeps);
	put("}");
	put_row_of("function", own_tid(), "usdt", "jobs", JOBS - LEFT, 0);
	put(",");
	put_figures(&jobs);
	put("}");
	report_end();
	return 0;
}
