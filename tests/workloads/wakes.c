// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * wakes: threads that are woken, and measure by their own clock how long it took.
 *
 * A waker reads the clock and writes a byte to a pipe.  The sleeper that it wakes reads the byte
 * and then the clock.  The time of a write and a read without a sleeper is measured as well
 * ("overhead").  If perf is available, it records when each sleeper was woken, and when it got its
 * CPU.
 */
#include "cpus.h"
#include "perf.h"
#include <sys/resource.h>

const char usage[] =
	"Usage: wakes TIMES\n"
	"One after the other threads of these names sleep, and each is woken TIMES times:\n"
	"  near    by a thread of nice 10 that is busy on the same CPU\n"
	"  far     from another CPU, its own being idle\n"
	"  beside  from another CPU, its own being busy with a thread of nice 10\n"
	"  nice    of nice 5 itself, the busy one of nice 0\n"
	"  fifo    as beside, and has a real-time priority\n"
	"  timer   by a timer, after 1 ms, beside a thread of nice 10\n"
	"Where there is no second CPU: near and timer. No right to real-time priorities: no fifo.\n"
	"Reported are percentiles of the times, ns, as [LEAST, MOST]: the wakeup is somewhere\n"
	"within the write, and each time that the sleeper was preempted is a wait that it does\n"
	"not know, or a time that is too long.\n"
	"\"perf\" are its waits for its CPU, sorted, as perf has recorded them.\n"
	"\n"
	"Gates: ready, go.\n";

enum kind { NEAR, FAR, BESIDE, NICE, FIFO, TIMER, KINDS };

static const char *const names[KINDS] = {"near", "far", "beside", "nice", "fifo", "timer"};
static int one, other = -1; /* CPUs */
static uint64_t times, preempted;

/* Of each wakeup: the times between which it was made, and when the sleeper was back. */
static struct wakeup {
	uint64_t before, behind, back;
} * woken;
static uint64_t *least, *most; /* waits, sorted */

#define MOST 100000 /* wakeups, and waits */
static struct perf_ring switches, wakings[2];
static uint64_t wakeups[MOST], waited[MOST], n_wakeups, n_waited;
static bool is_recorded;
static int ends[2];
static _Atomic uint64_t turn;
static _Atomic bool over;
static _Atomic pid_t tid;
static enum kind kind;

static void be_nice(int nice)
{
	if (setpriority(PRIO_PROCESS, own_tid(), nice))
		die("setpriority: %s", strerror(errno));
}

static void transfer(long nr, int fd)
{
	char byte = 0;

	if (syscall(nr, fd, &byte, 1) != 1)
		die("pipe: %s", strerror(errno));
}

/* --- perf's record --- */

/* Begin to record the thread TID, which is the current one; false: perf is not available. */
static bool record(void)
{
	char filter[64], woken[64];

	snprintf(filter, sizeof(filter), "prev_pid == %d || next_pid == %d", tid, tid);
	snprintf(woken, sizeof(woken), "pid == %d", tid);
	if (perf_begin(&switches, "sched/sched_switch", one, filter))
		return false;
	if (perf_begin(&wakings[0], "sched/sched_waking", one, woken) ||
	    (other >= 0 && perf_begin(&wakings[1], "sched/sched_waking", other, woken)))
		die("sched_waking: %s", strerror(errno));
	return true;
}

static int rising(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void collect_wakeups(void)
{
	struct perf_record r;

	n_wakeups = 0;
	for (int i = 0; i < (other < 0 ? 1 : 2); i++)
		for (uint64_t at = 0; perf_next(&wakings[i], &at, &r) && n_wakeups < MOST;)
			wakeups[n_wakeups++] = r.time;
	qsort(wakeups, n_wakeups, sizeof(*wakeups), rising);
}

/*
 * Find the waits: from each preemption, or from the last wakeup, until the thread has its CPU.
 * Return whether perf has the switches (at least 90 % of the thread's returns).  It was seen to
 * record none of those by which a CPU leaves its idle thread (6.18), while programs on the raw
 * tracepoint ran in each.
 */
static bool find_waits(void)
{
	uint64_t at = 0, next = 0, since = 0, in = 0, out = 0;
	struct perf_record r;
	bool asleep = false;

	n_waited = 0;
	while (perf_next(&switches, &at, &r)) {
		if (r.fields.prev_pid == tid) {
			out++;
			asleep = r.fields.prev_state & 0xff;
			since = asleep ? 0 : r.time;
			continue;
		}
		for (; next < n_wakeups && wakeups[next] <= r.time; next++)
			since = asleep ? wakeups[next] : since;
		if (since && n_waited < MOST)
			waited[n_waited++] = r.time - since;
		since = 0;
		in++;
	}
	qsort(waited, n_waited, sizeof(*waited), rising);
	return in + out / 10 >= out;
}

static void end_record(void)
{
	perf_stop(&switches);
	collect_wakeups();
	is_recorded = find_waits();
	perf_end(&switches);
	perf_end(&wakings[0]);
	if (other >= 0)
		perf_end(&wakings[1]);
}

/* --- threads --- */

static void *sleeper(void *unused)
{
	struct timespec until;
	struct rusage usage;
	uint64_t next;

	rename_self(names[kind]);
	pin(0, one);
	if (kind == NICE)
		be_nice(5);
	if (kind == FIFO && !become_realtime(1))
		die("sched_setscheduler: %s", strerror(errno));
	prctl(PR_SET_TIMERSLACK, 1UL);
	tid = own_tid();
	is_recorded = record();
	turn = 0;
	for (uint64_t i = 0; i < times; i++) {
		if (kind == TIMER) {
			woken[i].before = woken[i].behind = next = now_ns() + 1000000;
			until = (struct timespec){next / 1000000000, next % 1000000000};
			syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		} else {
			transfer(SYS_read, ends[0]);
		}
		woken[i].back = now_ns();
		turn = i + 1;
	}
	getrusage(RUSAGE_THREAD, &usage);
	preempted = usage.ru_nivcsw;
	if (is_recorded)
		end_record();
	return unused;
}

static void *spin(void *unused)
{
	rename_self("busy");
	pin(0, one);
	be_nice(kind == NICE ? 0 : 10);
	while (!over)
		;
	return unused;
}

static bool asleep(int stat)
{
	char text[256];
	ssize_t n = syscall(SYS_pread64, stat, text, sizeof(text) - 1, (off_t)0);

	text[n > 0 ? n : 0] = 0;
	return strstr(text, ") S ");
}

/* Wake the thread once it sleeps, after a while in which its CPU can enter a deeper idle state. */
static void wake(int stat, int call, uint64_t i)
{
	uint64_t until;

	while (turn != i || !asleep(stat))
		;
	await_switched_out(call);
	until = now_ns() + 300000 + i % 7 * 50000;
	while (now_ns() < until)
		;
	woken[i].before = now_ns();
	transfer(SYS_write, ends[1]);
	woken[i].behind = now_ns();
}

static void *wake_all(void *unused)
{
	int stat, call;

	rename_self("waker");
	pin(0, kind == NEAR ? one : other);
	if (kind == NEAR)
		be_nice(10);
	while (!tid)
		pause_ns(100000);
	stat = open_stat(getpid(), tid);
	call = open_of_thread(getpid(), tid, "syscall");
	for (uint64_t i = 0; i < times; i++)
		wake(stat, call, i);
	close(stat);
	close(call);
	return unused;
}

static pthread_t start(void *(*body)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, NULL))
		die("cannot create a thread");
	return thread;
}

static uint64_t rank(uint64_t n, unsigned int p)
{
	return (n * p + 99) / 100 - 1;
}

static void sort_waits(void)
{
	for (uint64_t i = 0; i < times; i++) {
		least[i] = woken[i].back > woken[i].behind ? woken[i].back - woken[i].behind : 0;
		most[i] = woken[i].back - woken[i].before;
	}
	qsort(least, times, sizeof(*least), rising);
	qsort(most, times, sizeof(*most), rising);
}

/*
 * PREEMPTED of the waits may be too long, and as many waits may be missing.  So may up to 8 others:
 * those of the thread's start and end.
 */
static void put_bounds(unsigned int p)
{
	uint64_t low = rank(times, p), more = 2 * preempted, high = rank(times + preempted + 8, p);

	put("%s\"%u\":[%llu,%llu]", p == 50 ? "" : ",", p,
	    (unsigned long long)(low < more ? 0 : least[low - more]),
	    (unsigned long long)(high < times ? most[high] : UINT64_MAX));
}

/* The median time of a write and a read of a byte for which no thread waits. */
static uint64_t overhead(void)
{
	uint64_t begin;

	for (uint64_t i = 0; i < times; i++) {
		begin = now_ns();
		transfer(SYS_write, ends[1]);
		transfer(SYS_read, ends[0]);
		most[i] = now_ns() - begin;
	}
	qsort(most, times, sizeof(*most), rising);
	return most[rank(times, 50)];
}

static void run(uint64_t own)
{
	pthread_t busy = 0, waker = 0, thread;

	over = false;
	tid = 0;
	turn = UINT64_MAX;
	thread = start(sleeper);
	if (kind == BESIDE || kind == NICE || kind == FIFO || kind == TIMER)
		busy = start(spin);
	if (kind != TIMER)
		waker = start(wake_all);
	pthread_join(thread, NULL);
	over = true;
	if (busy)
		pthread_join(busy, NULL);
	if (waker)
		pthread_join(waker, NULL);
	sort_waits();
	put_row_of("work", tid, names[kind], "wakes", times, 0);
	put(",\"overhead\":%llu,\"preempted\":%llu,\"percentiles\":{", (unsigned long long)own,
	    (unsigned long long)preempted);
	put_bounds(50);
	put_bounds(90);
	put("},\"perf\":[");
	for (uint64_t i = 0; is_recorded && i < n_waited; i++)
		put("%s%llu", i ? "," : "", (unsigned long long)waited[i]);
	put("]}");
}

/* Return whether this kind of wakeup is possible here. */
static bool can(enum kind k, bool second_cpu)
{
	bool can;

	if (k == NEAR || k == TIMER)
		return true;
	if (k != FIFO || !second_cpu)
		return second_cpu;
	can = become_realtime(1);
	leave_realtime();
	return can;
}

int main(int argc, char **argv)
{
	bool second_cpu = last_two_cpus(&one, &other);
	uint64_t own;

	help_if_asked(argc, argv);
	if (argc != 2)
		misuse("TIMES is needed");
	times = parse_number(argv[1], "TIMES", 1, 1000000);
	woken = calloc(times, sizeof(*woken));
	least = calloc(times, sizeof(*least));
	most = calloc(times, sizeof(*most));
	if (!woken || !least || !most)
		die("no memory");
	make_pipe(ends);
	reached("ready");
	gate("go");
	own = overhead();
	report_begin();
	for (kind = 0; kind < KINDS; kind++)
		if (can(kind, second_cpu))
			run(own);
	report_end();
	return 0;
}
