// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * latencies: calls that take known times, always the same ones.
 *
 * Each row has two sets of percentiles, which are bounds.  The time that the main thread measures
 * around a call is at least what can be measured in the kernel.  The time that the call had to take
 * ("least": the timeout, or the delay of a writer that waited until the reader slept) is at most
 * that.  The bounds hold for each call, so also for each sum and each nearest-rank percentile.
 */
#include "workload.h"
#include <poll.h>

const char usage[] =
	"Usage: latencies [PERCENT]\n"
	"Make 1009 nanosleeps, 211 ppolls that time out, and 101 reads from a pipe whose writer\n"
	"waits: 50 us to 100 ms, 3 s together; PERCENT (1 to 100) of the times if given.\n"
	"\n"
	"Gates: ready, go.\n";

#define SLEEPS 1009
#define POLLS  211
#define READS  101

static uint64_t percent = 100;

/* The i-th shortest of each kind. */
static uint64_t sleep_time(uint64_t i)
{
	if (i < 505)
		return 50000 + i * 300;
	if (i < 909)
		return 200000 + (i - 505) * 1000;
	if (i < 999)
		return 1000000 + (i - 909) * 50000;
	if (i < 1008)
		return 10000000 + (i - 999) * 5000000;
	return 100000000;
}

static uint64_t poll_time(uint64_t i)
{
	return i < 190 ? 200000 + i * 10000 : 5000000 + (i - 190) * 2000000;
}

static uint64_t read_time(uint64_t i)
{
	return i < 90 ? 300000 + i * 20000 : 10000000 + (i - 90) * 8000000;
}

/* Not in order: N is prime, so this visits each once. */
static uint64_t nth(uint64_t (*time_of)(uint64_t), uint64_t i, uint64_t n)
{
	return time_of(i * 7919 % n) * percent / 100;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static long do_sleep(uint64_t ns)
{
	struct timespec t = timespec_of(ns);

	return syscall(SYS_nanosleep, &t, NULL);
}

static long do_poll(uint64_t ns)
{
	struct timespec t = timespec_of(ns);

	return syscall(SYS_ppoll, NULL, 0, &t, NULL, 0);
}

/* ---- a reader and its late writer ---- */

static int ends[2];
static pid_t reader;
static atomic_uint turn; /* the reader's next step is its turn-th read */

static void *write_late(void *unused)
{
	int stat = open_stat(getpid(), reader);
	unsigned int i;

	prctl(PR_SET_TIMERSLACK, 1UL);
	for (i = 0; i < READS; i++) {
		while (atomic_load(&turn) <= i)
			pause_ns(20000);
		await_state(stat, 'S');
		pause_ns(nth(read_time, i, READS));
		if (syscall(SYS_write, ends[1], "", 1) != 1)
			die("write: %s", strerror(errno));
	}
	return unused;
}

static long do_read(uint64_t unused)
{
	char byte;

	atomic_fetch_add(&turn, 1);
	return syscall(SYS_read, ends[0], &byte, 1);
}

/* ---- */

struct batch {
	const char *name;
	uint64_t n;
	uint64_t (*time_of)(uint64_t);
	long (*call)(uint64_t);
	struct series outside, least;
};

static struct batch batches[] = {
	{.name = "nanosleep", .n = SLEEPS, .time_of = sleep_time, .call = do_sleep},
	{.name = "ppoll", .n = POLLS, .time_of = poll_time, .call = do_poll},
	{.name = "read", .n = READS, .time_of = read_time, .call = do_read},
};
#define BATCHES (sizeof(batches) / sizeof(*batches))

static void run(struct batch *b)
{
	uint64_t i, ns, begin;
	long result;

	for (i = 0; i < b->n; i++) {
		ns = nth(b->time_of, i, b->n);
		begin = now_ns();
		result = b->call(ns);
		series_add(&b->outside, now_ns() - begin, result < 0);
		series_add(&b->least, ns, false);
	}
}

static unsigned long long long_ones(const struct series *s)
{
	unsigned long long n = 0;
	uint64_t i;

	for (i = 0; i < s->count; i++)
		n += s->ns[i] >= 1000000;
	return n;
}

int main(int argc, char **argv)
{
	pthread_t writer;
	char comm[16];
	unsigned int i;

	help_if_asked(argc, argv);
	if (argc > 2)
		misuse("too many arguments");
	if (argc == 2)
		percent = parse_number(argv[1], "PERCENT", 1, 100);
	own_comm(comm);
	reader = own_tid();
	make_pipe(ends);
	/* Otherwise the timer slack adds 50 us to each sleep. */
	prctl(PR_SET_TIMERSLACK, 1UL);
	for (i = 0; i < BATCHES; i++) {
		series_init(&batches[i].outside, batches[i].n);
		series_init(&batches[i].least, batches[i].n);
	}
	reached("ready");
	gate("go");
	if (pthread_create(&writer, NULL, write_late, NULL))
		die("cannot create a thread");
	for (i = 0; i < BATCHES; i++)
		run(&batches[i]);
	pthread_join(writer, NULL);
	report_begin();
	for (i = 0; i < BATCHES; i++) {
		put_row(reader, comm, batches[i].name, batches[i].outside.count,
			batches[i].outside.errors);
		put(",");
		put_figures(&batches[i].outside);
		put(",\"least\":{");
		put_figures(&batches[i].least);
		put("},\"at_least_1ms\":{\"least\":%llu,\"outside\":%llu}}",
		    long_ones(&batches[i].least), long_ones(&batches[i].outside));
	}
	report_end();
	return 0;
}
