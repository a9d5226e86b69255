// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * naps: short sleeps, and when their thread left its CPU and got it again.
 *
 * The switches are recorded as by "perf record -e sched:sched_switch", with perf's own time stamps.
 */
#include "cpus.h"
#include "perf.h"

const char usage[] =
	"Usage: naps TIMES\n"
	"Threads nap-50, nap-100, nap-1000 and nap-10000, one after the other, each call\n"
	"nanosleep TIMES times (nap-10000 a tenth of that) for so many microseconds. Reported\n"
	"are the sum of their times around the calls, how long they slept and waited in these "
	"(\"off\"),\n"
	"of a call (\"median\"), and in how many of them that was recorded (\"seen\").\n"
	"Exit status 77: no perf events, or no tracefs.\n"
	"\n"
	"Gates: ready, go.\n";

struct nap {
	uint64_t us, times, sum, off, median, seen;
	pid_t tid;
};

static uint64_t *before, *after, *off;

/* Begin to record the current thread, which is pinned to this CPU; 0 or -errno. */
static int begin_switches(struct perf_ring *ring, int cpu)
{
	char filter[64];

	snprintf(filter, sizeof(filter), "prev_pid == %d || next_pid == %d", own_tid(), own_tid());
	return perf_begin(ring, "sched/sched_switch", cpu, filter);
}

/* For each of N calls: how long its thread was off the CPU because it slept. */
static void find_off(const struct perf_ring *ring, uint64_t n, pid_t self)
{
	uint64_t at = 0, left = 0, call = 0;
	struct perf_record r;

	memset(off, 0, n * sizeof(*off));
	while (perf_next(ring, &at, &r)) {
		if (r.fields.prev_pid == self) {
			/* If it was preempted, it may be outside of the call. */
			left = r.fields.prev_state & 0xff ? r.time : 0;
			continue;
		}
		while (call < n && after[call] < r.time)
			call++;
		if (call < n && left > before[call])
			off[call] += r.time - left;
	}
}

static int rising(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void *sleep_in_turns(void *argument)
{
	struct nap *nap = argument;
	struct timespec t = {.tv_nsec = nap->us * 1000};
	struct perf_ring ring;
	char name[16];
	int err = begin_switches(&ring, pin_to_last_cpu());

	if (err)
		die("perf_event_open: %s", strerror(-err));
	snprintf(name, sizeof(name), "nap-%u", (unsigned int)nap->us);
	rename_self(name);
	nap->tid = own_tid();
	for (uint64_t i = 0; i < nap->times; i++) {
		before[i] = now_ns();
		syscall(SYS_nanosleep, &t, NULL);
		after[i] = now_ns();
		nap->sum += after[i] - before[i];
	}
	perf_stop(&ring);
	find_off(&ring, nap->times, nap->tid);
	for (uint64_t i = 0; i < nap->times; i++)
		nap->off += off[i], nap->seen += !!off[i];
	qsort(off, nap->times, sizeof(*off), rising);
	if (nap->seen)
		nap->median = off[nap->times - nap->seen + (nap->seen - 1) / 2];
	perf_end(&ring);
	return NULL;
}

static void tell(const struct nap *nap)
{
	char name[16];

	snprintf(name, sizeof(name), "nap-%u", (unsigned int)nap->us);
	put_row(nap->tid, name, "nanosleep", nap->times, 0);
	put(",\"sum\":%llu,\"off\":%llu,\"median\":%llu,\"seen\":%llu}",
	    (unsigned long long)nap->sum, (unsigned long long)nap->off,
	    (unsigned long long)nap->median, (unsigned long long)nap->seen);
}

int main(int argc, char **argv)
{
	struct nap naps[] = {{.us = 50}, {.us = 100}, {.us = 1000}, {.us = 10000}};
	const size_t n = sizeof(naps) / sizeof(naps[0]);
	struct perf_ring ring;
	pthread_t thread;
	uint64_t times;
	int err;

	help_if_asked(argc, argv);
	if (argc != 2)
		misuse("TIMES is needed");
	times = parse_number(argv[1], "TIMES", 10, 10000);
	before = calloc(times, sizeof(*before));
	after = calloc(times, sizeof(*after));
	off = calloc(times, sizeof(*off));
	if (!before || !after || !off)
		die("no memory");
	err = begin_switches(&ring, pin_to_last_cpu());
	if (err) {
		fprintf(stderr, "naps: no perf events: %s\n", strerror(-err));
		return WORKLOAD_SKIP;
	}
	perf_end(&ring);
	reached("ready");
	gate("go");
	report_begin();
	for (size_t i = 0; i < n; i++) {
		naps[i].times = naps[i].us == 10000 ? times / 10 : times;
		if (pthread_create(&thread, NULL, sleep_in_turns, &naps[i]))
			die("cannot create a thread");
		pthread_join(thread, NULL);
		tell(&naps[i]);
	}
	report_end();
	return 0;
}
