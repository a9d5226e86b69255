// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * naps: short sleeps, and when their thread left its CPU and got it again.
 *
 * That is recorded as "perf record -e sched:sched_switch" does, with perf's own time
 * stamps.
 */
#include "workload.h"
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>

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

#define RING (1 << 20)

struct nap {
	uint64_t us, times, sum, off, median, seen;
	pid_t tid;
};

static uint64_t *before, *after, *off;

/* To the last of the CPUs that are allowed: interrupts favour the low ones. */
static int pin(void)
{
	cpu_set_t allowed, one;
	int cpu = CPU_SETSIZE - 1;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		die("sched_getaffinity: %s", strerror(errno));
	while (!CPU_ISSET(cpu, &allowed))
		cpu--;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		die("sched_setaffinity: %s", strerror(errno));
	return cpu;
}

/* Of the current thread, which is pinned to this CPU; negative: why not. */
static int open_switches(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	char text[64] = "";
	int fd = open_uncounted("/sys/kernel/tracing/events/sched/sched_switch/id",
				O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_pread64, fd, text, sizeof(text) - 1, (off_t)0) <= 0)
		return -errno;
	close(fd);
	attr.config = strtoull(text, NULL, 10);
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	snprintf(text, sizeof(text), "prev_pid == %d || next_pid == %d", own_tid(), own_tid());
	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_FILTER, text))
		return -errno;
	return fd;
}

/* What the kernel's format of the event has, on all kernels. */
struct record {
	struct perf_event_header header;
	uint64_t time;
	uint32_t size;
	char common[24]; /* and who else */
	pid_t prev_pid;
	int prev_prio;
	long prev_state;
} __attribute__((packed));

/* For each of N calls: how long was its thread off the CPU because it slept? */
static void find_off(const struct perf_event_mmap_page *page, uint64_t n, pid_t self)
{
	const char *data = (const char *)page + page->data_offset;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), left = 0, call = 0;
	struct record r;

	memset(off, 0, n * sizeof(*off));
	for (uint64_t at = 0; at < head; at += r.header.size) {
		memcpy(&r, data + at % RING, sizeof(r.header));
		if (r.header.type == PERF_RECORD_LOST || head > RING)
			die("the records of switches do not fit");
		if (r.header.type != PERF_RECORD_SAMPLE)
			continue;
		memcpy(&r, data + at, sizeof(r));
		if (r.prev_pid == self) {
			/* Preempted, it may be outside of the call. */
			left = r.prev_state & 0xff ? r.time : 0;
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
	const size_t size = RING + 4096;
	int fd = open_switches(pin());
	char name[16];
	void *ring;

	if (fd < 0)
		die("perf_event_open: %s", strerror(-fd));
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	snprintf(name, sizeof(name), "nap-%u", (unsigned int)nap->us);
	rename_self(name);
	nap->tid = own_tid();
	for (uint64_t i = 0; i < nap->times; i++) {
		before[i] = now_ns();
		syscall(SYS_nanosleep, &t, NULL);
		after[i] = now_ns();
		nap->sum += after[i] - before[i];
	}
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	find_off(ring, nap->times, nap->tid);
	for (uint64_t i = 0; i < nap->times; i++)
		nap->off += off[i], nap->seen += !!off[i];
	qsort(off, nap->times, sizeof(*off), rising);
	if (nap->seen)
		nap->median = off[nap->times - nap->seen + (nap->seen - 1) / 2];
	munmap(ring, size);
	close(fd);
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
	pthread_t thread;
	uint64_t times;
	int fd;

	help_if_asked(argc, argv);
	if (argc != 2)
		misuse("TIMES is needed");
	times = parse_number(argv[1], "TIMES", 10, 10000);
	before = calloc(times, sizeof(*before));
	after = calloc(times, sizeof(*after));
	off = calloc(times, sizeof(*off));
	if (!before || !after || !off)
		die("no memory");
	fd = open_switches(pin());
	if (fd < 0) {
		fprintf(stderr, "naps: no perf events: %s\n", strerror(-fd));
		return WORKLOAD_SKIP;
	}
	close(fd);
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
