/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* blocks: direct reads, writes and flushes of a device or file, timed one by one. */
#include "ring.h"
#include "workload.h"

const char usage[] =
	"Usage: blocks FILE SIZE THREADS READS WRITES FLUSHES [uring|polled]\n"
	"\n"
	"Each thread, named blocks-N, makes so many direct reads of SIZE bytes, direct writes and\n"
	"calls of fdatasync(), in its own part of FILE.  Calls that fail are counted as errors.\n"
	"uring: reads and writes by io_uring, one at a time; polled: which polls for them.\n"
	"Gates: ready, go, done, end.\n";

enum { READ, WRITE, FLUSH, KINDS };

static const char *const names[KINDS] = {"read", "write", "flush"};

static uint64_t size, n_threads, counts[KINDS];
static bool by_uring, polled;
static int file;
static pthread_barrier_t barrier;

struct worker {
	pthread_t thread;
	pid_t tid;
	int number;
	char comm[16];
	struct series series[KINDS];
	int last_errno;
	char *buffer;
	struct ring ring;
};

/* Return what pread() or pwrite() would. */
static ssize_t by_ring(struct worker *w, int kind, off_t at)
{
	return ring_call(&w->ring,
			 &(struct io_uring_sqe){
				 .opcode = kind == READ ? IORING_OP_READ : IORING_OP_WRITE,
				 .fd = file,
				 .off = at,
				 .addr = (uintptr_t)w->buffer,
				 .len = size,
			 });
}

static bool one(struct worker *w, int kind, off_t at)
{
	if (kind == FLUSH)
		return !fdatasync(file);
	if (by_uring)
		return by_ring(w, kind, at) == (ssize_t)size;
	if (kind == READ)
		return pread(file, w->buffer, size, at) == (ssize_t)size;
	return pwrite(file, w->buffer, size, at) == (ssize_t)size;
}

static void *work(void *context)
{
	struct worker *w = context;
	uint64_t first = 0, start;
	off_t at;

	snprintf(w->comm, sizeof(w->comm), "blocks-%d", w->number);
	rename_self(w->comm);
	w->tid = own_tid();
	pthread_barrier_wait(&barrier); /* ready */
	pthread_barrier_wait(&barrier); /* go */
	for (int kind = 0; kind < KINDS; kind++)
		for (uint64_t i = 0; i < counts[kind]; i++) {
			first = w->number * (counts[READ] + counts[WRITE]);
			/* Never adjacent, so that no two are merged. */
			at = (first + i + (kind == WRITE ? counts[READ] : 0)) * 2 * size;
			start = now_ns();
			errno = 0;
			if (one(w, kind, at)) {
				series_add(&w->series[kind], now_ns() - start, false);
			} else {
				w->last_errno = errno;
				series_add(&w->series[kind], now_ns() - start, true);
			}
		}
	pthread_barrier_wait(&barrier); /* done */
	return NULL;
}

static void start_worker(struct worker *w, int number)
{
	w->number = number;
	for (int kind = 0; kind < KINDS; kind++)
		series_init(&w->series[kind], counts[kind]);
	if (posix_memalign((void **)&w->buffer, 4096, size))
		die("no memory");
	memset(w->buffer, number + 1, size);
	if (by_uring && !ring_open(&w->ring, polled ? IORING_SETUP_IOPOLL : 0)) {
		fprintf(stderr, "io_uring_setup: %s\n", strerror(errno));
		exit(WORKLOAD_SKIP);
	}
	if (pthread_create(&w->thread, NULL, work, w))
		die("pthread_create");
}

static void report(struct worker *workers)
{
	report_begin();
	for (uint64_t i = 0; i < n_threads; i++)
		for (int kind = 0; kind < KINDS; kind++) {
			struct worker *w = &workers[i];
			struct series *s = &w->series[kind];

			if (!counts[kind])
				continue;
			put_row_of("op", w->tid, w->comm, names[kind], s->count, s->errors);
			put(",\"bytes\":%llu,\"errno\":%d,",
			    (unsigned long long)(kind == FLUSH ? 0 : s->count * size),
			    s->errors ? w->last_errno : 0);
			put_figures(s);
			put("}");
		}
	report_end();
}

int main(int argc, char **argv)
{
	struct worker *workers;

	help_if_asked(argc, argv);
	if (argc != 7 && !(argc == 8 && (!strcmp(argv[7], "uring") || !strcmp(argv[7], "polled"))))
		misuse("6 arguments");
	by_uring = argc == 8;
	polled = by_uring && *argv[7] == 'p';
	size = parse_number(argv[2], "SIZE", 512, 1 << 24);
	n_threads = parse_number(argv[3], "THREADS", 1, 64);
	for (int kind = 0; kind < KINDS; kind++)
		counts[kind] = parse_number(argv[4 + kind], names[kind], 0, 100000);
	file = open_uncounted(argv[1], O_RDWR | O_DIRECT | O_CLOEXEC);
	if (file < 0)
		die("%s: %s", argv[1], strerror(errno));
	workers = calloc(n_threads, sizeof(*workers));
	if (!workers || pthread_barrier_init(&barrier, NULL, n_threads + 1))
		die("no memory");
	for (uint64_t i = 0; i < n_threads; i++)
		start_worker(&workers[i], i);
	pthread_barrier_wait(&barrier);
	reached("ready");
	gate("go");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	reached("done");
	for (uint64_t i = 0; i < n_threads; i++)
		pthread_join(workers[i].thread, NULL);
	report(workers);
	gate("end");
	return 0;
}
