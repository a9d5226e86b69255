// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* stays: a thread that is off the CPU for known times, below known functions. */
#include "workload.h"
#include <sys/resource.h>

const char usage[] =
	"Usage: stays pipe MS TIMES\n"
	"       stays vfork MS TIMES\n"
	"       stays sleep SHORT-MS TIMES LONG-MS TIMES\n"
	"\n"
	"pipe: below stay_in_pipe() a thread reads what another writes MS later.\n"
	"vfork: below stay_in_vfork() it waits for a child that ends MS later.\n"
	"sleep: below stay_asleep() it sleeps, short and long.\n"
	"\n"
	"Each says between what the times add up to, and between what the shortest and the\n"
	"longest lie, by the threads' own clocks.\n"
	"Gates: ready, go.\n";

/* Keep what walks of user stacks need: frame pointers, and the frame of each caller. */
#pragma GCC optimize("no-omit-frame-pointer", "no-optimize-sibling-calls")

/* Each stay is at least LOW and at most HIGH ns long: the sums, minima and maxima of both. */
struct bounds {
	uint64_t low, high, low_min, high_min, low_max, high_max;
};

static void add(struct bounds *b, uint64_t low, uint64_t high)
{
	if (!b->high || low < b->low_min)
		b->low_min = low;
	if (!b->high || high < b->high_min)
		b->high_min = high;
	if (low > b->low_max)
		b->low_max = low;
	if (high > b->high_max)
		b->high_max = high;
	b->low += low;
	b->high += high;
}

static void put_bounds(const struct bounds *b)
{
	put(",\"sum\":[%llu,%llu],\"min\":[%llu,%llu],\"max\":[%llu,%llu]}",
	    (unsigned long long)b->low, (unsigned long long)b->high, (unsigned long long)b->low_min,
	    (unsigned long long)b->high_min, (unsigned long long)b->low_max,
	    (unsigned long long)b->high_max);
}

/* ---- pipe ---- */

static struct {
	pthread_t thread;
	_Atomic pid_t tid;
	int ends[2];
	uint64_t times;
	_Atomic uint64_t read;
	uint64_t ns; /* of the latest */
} reader;

/* A function that makes a system call without a frame of its own hides its caller: hence two. */
__attribute__((noinline)) static void read_byte(void)
{
	char byte;

	if (syscall(SYS_read, reader.ends[0], &byte, 1) != 1)
		die("read: %s", strerror(errno));
}

__attribute__((noinline)) static void stay_in_pipe(void)
{
	uint64_t before = now_ns();

	read_byte();
	reader.ns = now_ns() - before;
}

static void *read_all(void *unused)
{
	rename_self("stays-reader");
	reader.tid = own_tid();
	while (reader.read < reader.times) {
		stay_in_pipe();
		reader.read++;
	}
	return unused;
}

__attribute__((noinline)) static void write_byte(void)
{
	if (syscall(SYS_write, reader.ends[1], "", 1) != 1)
		die("write: %s", strerror(errno));
}

__attribute__((noinline)) static void wake_reader(void)
{
	write_byte();
}

static void pipe_all(uint64_t ns, uint64_t times, struct bounds *b)
{
	uint64_t asleep, awake;
	int stat, call;

	reader.times = times;
	make_pipe(reader.ends);
	if (pthread_create(&reader.thread, NULL, read_all, NULL))
		die("cannot create a thread");
	while (!reader.tid)
		pause_ns(1000000);
	stat = open_stat(getpid(), reader.tid);
	call = open_of_thread(getpid(), reader.tid, "syscall");
	for (uint64_t i = 0; i < times; i++) {
		await_state(stat, 'S');
		await_switched_out(call);
		asleep = now_ns();
		pause_ns(ns);
		awake = now_ns();
		wake_reader();
		while (reader.read == i)
			pause_ns(1000000);
		add(b, awake - asleep, reader.ns);
	}
	pthread_join(reader.thread, NULL);
}

/* ---- vfork ---- */

static volatile uint64_t child_begins, child_ends;

__attribute__((noinline)) static void vfork_child(uint64_t ns)
{
	pid_t pid = vfork();

	if (!pid) {
		child_begins = now_ns();
		pause_ns(ns);
		child_ends = now_ns();
		_exit(0);
	}
	if (pid < 0)
		die("vfork: %s", strerror(errno));
	reap(pid);
}

__attribute__((noinline)) static void stay_in_vfork(uint64_t ns, struct bounds *b)
{
	uint64_t before = now_ns(), after;

	vfork_child(ns);
	after = now_ns();
	/* The child may run before its parent waits for it. */
	add(b, (child_ends - child_begins) / 2, after - before);
}

/* ---- sleep ---- */

__attribute__((noinline)) static void nap(uint64_t ns)
{
	pause_ns(ns);
}

/* How often the thread gave up its CPU, and lost it.  A sleep may be over before it has begun. */
static struct switches {
	uint64_t gave_up, lost;
} switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (struct switches){usage.ru_nvcsw, usage.ru_nivcsw};
}

/* Sleep TIMES times; return how often the CPU was left.  LATE: how many took longer than LIMIT. */
__attribute__((noinline)) static uint64_t stay_asleep(uint64_t ns, uint64_t times, uint64_t limit,
						      uint64_t *late)
{
	uint64_t before, first = switches().gave_up;

	for (uint64_t i = 0; i < times; i++) {
		before = now_ns();
		nap(ns);
		*late += now_ns() - before > limit;
	}
	return switches().gave_up - first;
}

static void report(const char *what, pid_t tid, const char *comm, uint64_t times,
		   const struct bounds *b)
{
	put_row_of("stay", tid, comm, what, times, 0);
	put_bounds(b);
}

/* "long" counts all sleeps that take more than half of LONG_NS. */
static void sleep_all(uint64_t ns, uint64_t times, uint64_t long_ns, uint64_t long_times)
{
	uint64_t late[2] = {}, lost = switches().lost;

	times = stay_asleep(ns, times, long_ns / 2, &late[0]);
	long_times = stay_asleep(long_ns, long_times, long_ns / 2, &late[1]);
	put_row_of("stay", own_tid(), "stays", "sleep", times + long_times, 0);
	put(",\"long\":%llu,\"preempted\":%llu}", (unsigned long long)(late[0] + late[1]),
	    (unsigned long long)(switches().lost - lost));
}

static uint64_t parse_ms(const char *text)
{
	return parse_number(text, "MS", 1, 60000) * 1000000;
}

static uint64_t parse_times(const char *text)
{
	return parse_number(text, "TIMES", 1, 1000000);
}

int main(int argc, char **argv)
{
	bool asleep = argc == 6 && !strcmp(argv[1], "sleep");
	struct bounds b = {};
	uint64_t ns, times;

	help_if_asked(argc, argv);
	if (!asleep && (argc != 4 || (strcmp(argv[1], "pipe") && strcmp(argv[1], "vfork"))))
		misuse("pipe, vfork or sleep, and their numbers are needed");
	ns = parse_ms(argv[2]);
	times = parse_times(argv[3]);
	report_begin();
	reached("ready");
	gate("go");
	if (asleep) {
		sleep_all(ns, times, parse_ms(argv[4]), parse_times(argv[5]));
	} else if (!strcmp(argv[1], "pipe")) {
		pipe_all(ns, times, &b);
		report("pipe", reader.tid, "stays-reader", times, &b);
	} else {
		for (uint64_t i = 0; i < times; i++)
			stay_in_vfork(ns, &b);
		report("vfork", own_tid(), "stays", times, &b);
	}
	report_end();
	return 0;
}
