// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* gaps: a thread from which interrupts take long, by its own clock. */
#include "workload.h"
#include "cpus.h"
#include <sys/resource.h>
#include <sys/timerfd.h>

const char usage[] =
	"Usage: gaps TIMES TIMERS\n"
	"\n"
	"A real-time thread computes on the last CPU.  TIMES times, TIMERS timers expire there at\n"
	"the same time, in one interrupt.  \"sum\", \"max\" and so on are of the longest gap of\n"
	"each time between two reads of the clock, ns; \"all\" is the sum of all gaps of at\n"
	"least 1 us, \"most\" that of the shortest nine of ten longest ones, \"others\" their "
	"number without the longest ones.  \"switched\": another\n"
	"thread had the CPU.\n"
	"Gates: ready, go, done, end.\n";

#define MS      1000000ULL
#define GAP     1000       /* ns: there was an interrupt */
#define LONGEST (600 * MS) /* real-time threads get no more of a second */
#define PAUSE   (400 * MS)

#define MOST 8000

static int timers[MOST];
static uint64_t n_timers, all, others;

/* The sum of the shortest nine of ten, of those that are sorted. */
static uint64_t most_of(const struct series *s)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < s->count * 9 / 10; i++)
		sum += s->ns[i];
	return sum;
}

static uint64_t switches(void)
{
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	return r.ru_nivcsw;
}

/* Returns how long that took. */
static uint64_t set_timers(uint64_t at)
{
	const uint64_t began = now_ns();

	const struct itimerspec when = {
		.it_value = {.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000}};

	for (uint64_t i = 0; i < n_timers; i++)
		if (timerfd_settime(timers[i], TFD_TIMER_ABSTIME, &when, NULL))
			die("timerfd_settime: %s", strerror(errno));
	return now_ns() - began;
}

/* The longest gap until UNTIL. */
static uint64_t watch(uint64_t until)
{
	uint64_t before = now_ns(), now, longest = 0;

	for (; before < until; before = now) {
		now = now_ns();
		if (now - before < GAP)
			continue;
		all += now - before;
		others++;
		if (now - before > longest)
			longest = now - before;
	}
	others -= !!longest;
	return longest;
}

int main(int argc, char **argv)
{
	uint64_t times, began, at, switched, setting;
	struct series longest;
	int cpu;

	if (argc != 3)
		die("%s", usage);
	times = strtoull(argv[1], NULL, 10);
	n_timers = strtoull(argv[2], NULL, 10);
	if (!times || !n_timers || n_timers > MOST)
		die("%s", usage);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){MOST + 100, MOST + 100});
	for (uint64_t i = 0; i < n_timers; i++)
		if ((timers[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) < 0)
			die("timerfd_create: %s", strerror(errno));
	series_init(&longest, times);
	cpu = pin_to_last_cpu();
	reached("ready");
	gate("go");
	become_realtime(50);
	setting = set_timers(now_ns() + 1000 * MS);
	if (setting > 20 * MS) { /* emulated: they would expire meanwhile */
		leave_realtime();
		reached("done");
		return WORKLOAD_SKIP;
	}
	switched = switches();
	began = now_ns();
	while (longest.count < times) {
		if (now_ns() - began > LONGEST) {
			pause_ns(PAUSE);
			began = now_ns();
		}
		at = now_ns() + 1 * MS + 2 * setting;
		set_timers(at);
		series_add(&longest, watch(at + 1 * MS), false);
	}
	switched = switches() - switched;
	leave_realtime();
	reached("done");
	gate("end");
	report_begin();
	put_row_of("work", own_tid(), "gaps", "timers", longest.count, 0);
	put(",\"cpu\":%d,\"all\":%llu,\"others\":%llu,\"switched\":%llu,", cpu,
	    (unsigned long long)all, (unsigned long long)others, (unsigned long long)switched);
	put_figures(&longest);
	put(",\"most\":%llu}", (unsigned long long)most_of(&longest));
	report_end();
	return 0;
}
