/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* happens: a thread to which a known number of software events happen. */
#include "workload.h"
#include "cpus.h"
#include <sys/resource.h>

const char usage[] =
	"Usage: happens FAULTS SWITCHES MIGRATIONS MS\n"
	"\n"
	"A thread, pinned to a CPU, touches FAULTS fresh pages, sleeps SWITCHES times until one\n"
	"on another CPU wakes it (less often if that is quick), moves itself MIGRATIONS times to\n"
	"another CPU, and is busy for MS, as a real-time thread if it may be one. It reports\n"
	"what the kernel has accounted to it since its birth: \"faults\" (\"major\" of these\n"
	"had to read), \"switches\" and \"cpu\" (ns); and how often it has \"moved\", which is\n"
	"0 if it may run on one CPU only.\n"
	"Gates: ready, go.\n";

static struct {
	uint64_t faults, switches, migrations, ns;
	int to[2], back[2];
	int last, before; /* CPUs */
	pid_t tid;
	/* what the thread reports */
	struct rusage accounted;
	uint64_t cpu, moved;
} work;

static void touch_pages(uint64_t n)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	volatile char *pages;

	if (!n)
		return;
	pages = mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	madvise((void *)pages, n * page, MADV_NOHUGEPAGE); /* fails where there are no huge pages */
	for (uint64_t i = 0; i < n; i++)
		pages[i * page] = 1;
}

static void pass(int in, int out)
{
	char byte = 0;

	if (out >= 0 && write(out, &byte, 1) != 1)
		die("write: %s", strerror(errno));
	if (in >= 0 && read(in, &byte, 1) != 1)
		die("read: %s", strerror(errno));
}

static void *wake(void *unused)
{
	pin(0, work.before);
	for (uint64_t i = 0; i < work.switches; i++) {
		pass(work.to[0], -1);
		pass(-1, work.back[1]);
	}
	return unused;
}

/* From one CPU to another and back. */
static void move(uint64_t times)
{
	if (work.last == work.before)
		return;
	for (uint64_t i = 0; i < times; i++)
		pin(0, i % 2 ? work.last : work.before);
	work.moved = times;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void *happen(void *unused)
{
	uint64_t until;

	work.tid = own_tid();
	rename_self("happens-to");
	pin(0, work.last);
	touch_pages(work.faults);
	for (uint64_t i = 0; i < work.switches; i++)
		pass(work.back[0], work.to[1]);
	move(work.migrations);
	become_realtime(1);
	until = cpu_ns() + work.ns;
	while (cpu_ns() < until)
		;
	leave_realtime();
	if (getrusage(RUSAGE_THREAD, &work.accounted))
		die("getrusage: %s", strerror(errno));
	work.cpu = cpu_ns();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread, waker;

	help_if_asked(argc, argv);
	if (argc != 5)
		misuse("four numbers are needed");
	work.faults = parse_number(argv[1], "FAULTS", 0, 1 << 20);
	work.switches = parse_number(argv[2], "SWITCHES", 0, 1 << 24);
	work.migrations = parse_number(argv[3], "MIGRATIONS", 0, 1 << 20);
	work.ns = parse_number(argv[4], "MS", 0, 60000) * 1000000;
	if (!last_two_cpus(&work.last, &work.before))
		work.before = work.last;
	make_pipe(work.to);
	make_pipe(work.back);
	reached("ready");
	gate("go");
	if (pthread_create(&waker, NULL, wake, NULL) || pthread_create(&thread, NULL, happen, NULL))
		die("cannot create a thread");
	pthread_join(thread, NULL);
	pthread_join(waker, NULL);
	report_begin();
	put_row_of("work", work.tid, "happens-to", "happens", work.faults, 0);
	put(",\"faults\":%ld,\"major\":%ld,\"switches\":%ld,\"cpu\":%llu,\"moved\":%llu}",
	    work.accounted.ru_minflt + work.accounted.ru_majflt, work.accounted.ru_majflt,
	    work.accounted.ru_nvcsw + work.accounted.ru_nivcsw, (unsigned long long)work.cpu,
	    (unsigned long long)work.moved);
	report_end();
	return 0;
}
