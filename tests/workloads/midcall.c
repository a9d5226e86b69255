// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* midcall: threads that are inside a call while a trace begins, or ends. */
#include "workload.h"

const char usage[] =
	"Usage: midcall THREADS MORE\n"
	"Block THREADS threads in read() on an empty pipe each; once all sleep there, let them\n"
	"end, after which each makes MORE reads that need not wait. The rows tell of the first\n"
	"reads and of the others.\n"
	"\n"
	"Gates: ready, go (then the threads begin), blocked (all sleep inside read),\n"
	"end (then the writes come), done, leave.\n";

#define MAX_THREADS 64

struct worker {
	pthread_t thread;
	int ends[2];
	atomic_int tid; /* set when the next step is the read */
	char comm[16];
	struct series first, more;
};

static struct worker workers[MAX_THREADS];
static uint64_t more;

static void timed_read(int fd, struct series *s)
{
	uint64_t begin = now_ns();
	char byte;
	long result = syscall(SYS_read, fd, &byte, 1);

	series_add(s, now_ns() - begin, result < 0);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t i;

	own_comm(w->comm);
	atomic_store(&w->tid, own_tid());
	timed_read(w->ends[0], &w->first);
	for (i = 0; i < more; i++)
		timed_read(w->ends[0], &w->more);
	return NULL;
}

static void block(unsigned int n)
{
	unsigned int i;
	int stat;

	for (i = 0; i < n; i++) {
		make_pipe(workers[i].ends);
		series_init(&workers[i].first, 1);
		series_init(&workers[i].more, more);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			die("cannot create a thread");
	}
	for (i = 0; i < n; i++) {
		while (!atomic_load(&workers[i].tid))
			pause_ns(50000);
		stat = open_stat(getpid(), workers[i].tid);
		await_state(stat, 'S');
		syscall(SYS_close, stat);
	}
}

static void release(unsigned int n)
{
	static const char bytes[4096];
	unsigned int i;

	for (i = 0; i < n; i++)
		if (syscall(SYS_write, workers[i].ends[1], bytes, more + 1) != (long)more + 1)
			die("write: %s", strerror(errno));
	for (i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
}

static void report(unsigned int n)
{
	unsigned int i;

	report_begin();
	for (i = 0; i < n; i++) {
		struct worker *w = &workers[i];

		put_row(w->tid, w->comm, "read", w->first.count, w->first.errors);
		put(",\"first\":true,");
		put_figures(&w->first);
		put("}");
		put_row(w->tid, w->comm, "read", w->more.count, w->more.errors);
		put(",\"first\":false,");
		put_figures(&w->more);
		put("}");
	}
	report_end();
}

int main(int argc, char **argv)
{
	unsigned int n;

	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("THREADS and MORE are needed");
	n = parse_number(argv[1], "THREADS", 1, MAX_THREADS);
	more = parse_number(argv[2], "MORE", 0, 4095); /* all bytes fit into the pipe */
	reached("ready");
	gate("go");
	block(n);
	reached("blocked");
	gate("end");
	release(n);
	report(n);
	reached("done");
	gate("leave");
	return 0;
}
