// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* numbered: calls that the kernel holds on their way out, each of which its argument identifies. */
#include "timed.h"

const char usage[] =
	"Usage: numbered MS THREADS [CGROUP.PROCS...]\n"
	"\n"
	"For MS, each of THREADS calls lseek of file -2 - THREAD, counted from 0, which there is\n"
	"not, with the number of its call as the offset. The process first enters each cgroup.\n"
	"\"held\" are [THREAD, NUMBER, NS] of those that took 1 ms and more, without those after\n"
	"which the thread's own instructions lost the CPU; without rseq(2) there are none.\n"
	"Gates: ready, go.\n";

#define LONG  1000000 /* ns */
#define LONGS 20000

struct thread {
	pthread_t id;
	int number;
	uint64_t end, count, held;
	struct {
		uint64_t number, ticks;
	} calls[LONGS];
};

static void enter(const char *path)
{
	int fd = open_uncounted(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || writev(fd, &(struct iovec){"0", 1}, 1) != 1)
		die("%s: %s", path, strerror(errno));
	close(fd);
}

/*
 * The number is loaded just before the call, as by the functions of a C library. The result is not
 * saved: who loses the CPU before the first instruction after the call is in the call, and from
 * then on it is watched.
 */
static uint64_t timed_lseek(bool *stopped, long file, uint64_t offset)
{
#ifdef TIMED
	uint64_t began, ended, second;

	__asm__ volatile(TIMED("xor %%edx, %%edx\n"
			       "mov %[nr], %%eax\n"
			       "syscall\n"
			       "11: ")
			 : [began] "=m"(began), [ended] "=&r"(ended), [second] "=&r"(second),
			   [stopped] "+m"(*stopped), [watched] "+m"(timed_rseq->rseq_cs)
			 : [nr] "i"(SYS_lseek), "D"(file), "S"(offset), [signature] "i"(RSEQ_SIG)
			 : "rax", "rcx", "rdx", "r11", "memory", "cc");
	return ended - began;
#else
	long result;

	return timed_call(stopped, &result, SYS_lseek, file, (void *)offset, SEEK_SET, 0);
#endif
}

static void *call(void *arg)
{
	struct thread *t = arg;
	uint64_t ticks;
	bool stopped;

	for (; t->count % 1000 || now_ns() < t->end; t->count++) {
		stopped = false;
		ticks = timed_lseek(&stopped, -2 - t->number, t->count);
		/* No CPU has 5 GHz and less than 0.2 ms in these. */
		if (ticks < LONG / 5 || stopped || !timed_knows() || t->held == LONGS)
			continue;
		t->calls[t->held].number = t->count;
		t->calls[t->held++].ticks = ticks;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t end, ns, ticks, count = 0;
	struct thread *threads;
	const char *comma = "";
	double factor;
	int n;

	help_if_asked(argc, argv);
	if (argc < 3)
		misuse("too few arguments");
	end = parse_number(argv[1], "MS", 1, 600000) * 1000000;
	n = (int)parse_number(argv[2], "THREADS", 1, 64);
	for (int i = 3; i < argc; i++)
		enter(argv[i]);
	threads = calloc((size_t)n, sizeof(*threads));
	if (!threads)
		die("no memory");
	reached("ready");
	gate("go");
	ns = now_ns();
	ticks = timed_now();
	for (int i = 0; i < n; i++) {
		threads[i].number = i;
		threads[i].end = ns + end;
		if (pthread_create(&threads[i].id, NULL, call, &threads[i]))
			die("cannot create a thread");
	}
	for (int i = 0; i < n; i++) {
		pthread_join(threads[i].id, NULL);
		count += threads[i].count;
	}
	factor = (double)(now_ns() - ns) / (double)(timed_now() - ticks);
	report_begin();
	put_row(own_tid(), "numbered", "lseek", count, count);
	put(",\"held\":[");
	for (int i = 0; i < n; i++)
		for (uint64_t c = 0; c < threads[i].held; c++) {
			ns = (uint64_t)((double)threads[i].calls[c].ticks * factor);
			if (ns < LONG)
				continue;
			put("%s[%d,%llu,%llu]", comma, i,
			    (unsigned long long)threads[i].calls[c].number, (unsigned long long)ns);
			comma = ",";
		}
	put("]}");
	report_end();
	return 0;
}
