/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* blocks: direct reads, writes and flushes of a device or file, timed one by one. */
#include "workload.h"
#include <linux/io_uring.h>

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
	/* io_uring */
	int ring;
	unsigned int *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static void *map_ring(int ring, size_t length, off_t what)
{
	void *p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);

	if (p == MAP_FAILED)
		die("mmap of a ring: %s", strerror(errno));
	return p;
}

static void open_ring(struct worker *w)
{
	struct io_uring_params p = {.flags = polled ? IORING_SETUP_IOPOLL : 0};
	char *sq, *cq;

	w->ring = syscall(SYS_io_uring_setup, 4, &p);
	if (w->ring < 0) {
		fprintf(stderr, "io_uring_setup: %s\n", strerror(errno));
		exit(WORKLOAD_SKIP);
	}
	sq = map_ring(w->ring, p.sq_off.array + p.sq_entries * sizeof(unsigned int),
		      IORING_OFF_SQ_RING);
	cq = map_ring(w->ring, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		      IORING_OFF_CQ_RING);
	w->sqes = map_ring(w->ring, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	w->sq_tail = (unsigned int *)(sq + p.sq_off.tail);
	w->sq_mask = (unsigned int *)(sq + p.sq_off.ring_mask);
	w->sq_array = (unsigned int *)(sq + p.sq_off.array);
	w->cq_head = (unsigned int *)(cq + p.cq_off.head);
	w->cq_tail = (unsigned int *)(cq + p.cq_off.tail);
	w->cq_mask = (unsigned int *)(cq + p.cq_off.ring_mask);
	w->cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
}

/* Return what pread() or pwrite() would. */
static ssize_t by_ring(struct worker *w, int kind, off_t at)
{
	unsigned int tail = *w->sq_tail, head = *w->cq_head, i = tail & *w->sq_mask;
	int result;

	w->sqes[i] = (struct io_uring_sqe){
		.opcode = kind == READ ? IORING_OP_READ : IORING_OP_WRITE,
		.fd = file,
		.off = at,
		.addr = (uintptr_t)w->buffer,
		.len = size,
	};
	w->sq_array[i] = i;
	__atomic_store_n(w->sq_tail, tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, w->ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		die("io_uring_enter: %s", strerror(errno));
	while (__atomic_load_n(w->cq_tail, __ATOMIC_ACQUIRE) == head)
		pause_ns(1000);
	result = w->cqes[head & *w->cq_mask].res;
	__atomic_store_n(w->cq_head, head + 1, __ATOMIC_RELEASE);
	if (result < 0)
		errno = -result;
	return result < 0 ? -1 : result;
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
	if (by_uring)
		open_ring(w);
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
