// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* costs: calls that sleep and calls that work, in turn, each with its own time on the CPU. */
#include "workload.h"

#include <sys/random.h>

const char usage[] =
	"Usage: costs N SIZE US\n"
	"N times nanosleep() for US microseconds, and getrandom() of SIZE bytes. Each row has in\n"
	"\"cpu\" what the thread's CPU clock says of its calls, with reading that clock, and in\n"
	"\"delay\" how long, at least, the thread waited for a CPU in its calls "
	"(/proc/PID/schedstat).\n"
	"An interrupt or a host that takes the CPU adds to neither.\n"
	"\n"
	"Gates: ready, go.\n";

#define MAX_SIZE (1 << 20)

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static uint64_t delay_ns(void)
{
	static int fd = -1;
	unsigned long long ns;
	char text[128];
	ssize_t n;

	if (fd < 0)
		fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	if (sscanf(text, "%*u %llu", &ns) != 1)
		die("schedstat: %s", strerror(errno));
	return ns;
}

/* The calls of one kind. */
struct kind {
	const char *name;
	struct series series;
	uint64_t cpu, delay;
};

static void measure(struct kind *k, long nr, const void *a, uint64_t b)
{
	uint64_t around = now_ns(), delay = delay_ns(), cpu = cpu_ns(), begin = now_ns(), ns;

	if (syscall(nr, a, b, 0) < 0)
		die("%s: %s", k->name, strerror(errno));
	ns = now_ns() - begin;
	series_add(&k->series, ns, false);
	k->cpu += cpu_ns() - cpu;
	delay = delay_ns() - delay;
	/* The thread may have waited while it read these clocks. */
	around = now_ns() - around - ns;
	k->delay += delay > around ? delay - around : 0;
}

static void report(struct kind *k)
{
	char comm[16];

	own_comm(comm);
	put_row(own_tid(), comm, k->name, k->series.count, 0);
	put(",\"cpu\":%llu,\"delay\":%llu,", (unsigned long long)k->cpu,
	    (unsigned long long)k->delay);
	put_figures(&k->series);
	put("}");
}

int main(int argc, char **argv)
{
	struct kind sleeps = {.name = "nanosleep"}, works = {.name = "getrandom"};
	static char buffer[MAX_SIZE];
	struct timespec pause = {};
	uint64_t n, size;

	help_if_asked(argc, argv);
	if (argc != 4)
		misuse("N, SIZE and US are needed");
	n = parse_number(argv[1], "N", 1, 1000000);
	size = parse_number(argv[2], "SIZE", 1, MAX_SIZE);
	pause.tv_nsec = parse_number(argv[3], "US", 1, 100000) * 1000;
	series_init(&sleeps.series, n);
	series_init(&works.series, n);
	memset(buffer, 1, size); /* no page faults in the calls */
	reached("ready");
	gate("go");
	for (uint64_t i = 0; i < n; i++) {
		measure(&sleeps, SYS_nanosleep, &pause, 0);
		measure(&works, SYS_getrandom, buffer, size);
	}
	report_begin();
	report(&sleeps);
	report(&works);
	report_end();
	return 0;
}
