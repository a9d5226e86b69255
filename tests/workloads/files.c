/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files: operations on files in all forms, timed one by one. */
#include "files.h"

const char usage[] = "Usage: files DIR THREADS [direct] [uring] [cold] [aio] [skip] [sqpoll]\n"
		     "\n"
		     "Each thread, named files-N, makes prime numbers of operations on a file of "
		     "its own in DIR,\n"
		     "whose name has a blank, a newline, an escape sequence and a backslash.\n"
		     "direct: also with O_DIRECT.  uring: also by io_uring.  cold: also of pages "
		     "that are not in\n"
		     "the page cache, and then again.  aio: also by io_submit.  skip: before each "
		     "read by io_uring,\n"
		     "another that asks for no completion.  sqpoll: a thread of the kernel submits "
		     "them.\n"
		     "Gates: ready, go, done, end.\n";

static pthread_barrier_t barrier;

/* Undo what the operation left behind, by calls that are not counted. */
static void clean(struct worker *w, int kind, ssize_t result)
{
	if (result < 0)
		return;
	if (kind == OPEN || kind == URING_OPEN)
		close(result);
	if (kind == SPLICE && read(w->pipe[0], w->buffer, 4096) != 4096)
		die("a pipe has lost something");
}

static void make_all(struct worker *w, int kind)
{
	bool fails = strcmp(kinds[kind].error, "0");
	uint64_t start, took;
	ssize_t result;

	for (uint64_t i = 0; i < kinds[kind].count; i++) {
		/* So that there is something to write. */
		w->map[0]++;
		start = now_ns();
		errno = 0;
		result = one(w, kind, i, &start);
		took = now_ns() - start;
		/* This thread was preempted for so long that the descriptor was closed before. */
		if (kind == CLOSED && result < 0 && errno == EBADF) {
			series_add(&w->series[BAD], took, true);
			i--;
			continue;
		}
		if ((result < 0) != fails)
			die("%s, %s: %s", kinds[kind].op, kinds[kind].flags,
			    result < 0 ? strerror(errno) : "it should fail");
		series_add(&w->series[kind], took, fails);
		clean(w, kind, result);
		/* creat() has truncated it. */
		if (kind == OPEN && ftruncate(w->file, 65536))
			die("ftruncate: %s", strerror(errno));
	}
}

static void *work(void *context)
{
	struct worker *w = context;

	rename_self(w->comm);
	w->tid = own_tid();
	pthread_barrier_wait(&barrier); /* ready */
	pthread_barrier_wait(&barrier); /* go */
	for (int kind = 0; kind < KINDS; kind++)
		if (!left_out(kind))
			make_all(w, kind);
	pthread_barrier_wait(&barrier); /* done */
	return NULL;
}

/* ---- */

static int open_here(const char *path, int flags)
{
	int fd = open_uncounted(path, flags | O_CLOEXEC);

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	return fd;
}

/* None of its pages is in the page cache, and none is read ahead. */
static int open_cold(const struct worker *w, int number)
{
	unsigned char resident[64] = {};
	char path[PATH_MAX];
	void *map;
	int fd;

	snprintf(path, sizeof(path), "%s/cold-%d", directory, number);
	fd = open_here(path, O_RDWR | O_CREAT | O_TRUNC);
	for (int i = 0; i < 4; i++)
		if (pwrite(fd, w->buffer, 65536, i * 65536) != 65536)
			die("%s: %s", path, strerror(errno));
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) ||
	    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		die("%s: %s", path, strerror(errno));
	map = mmap(NULL, 4 * 65536, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || mincore(map, 4 * 65536, resident) || munmap(map, 4 * 65536))
		die("%s: %s", path, strerror(errno));
	for (size_t i = 0; i < sizeof(resident); i++)
		if (resident[i] & 1)
			die("%s: it is still in the page cache", path);
	return fd;
}

static void prepare(struct worker *w, int number)
{
	char other[PATH_MAX];

	snprintf(w->comm, sizeof(w->comm), "files-%d", number);
	snprintf(w->path, sizeof(w->path), "%s/of %d\n\033[31m\\", directory, number);
	snprintf(w->shown, sizeof(w->shown), "%s/of %d\\x0a\\x1b[31m\\\\", directory, number);
	snprintf(w->cold_shown, sizeof(w->cold_shown), "%s/cold-%d", directory, number);
	snprintf(other, sizeof(other), "%s/copy-%d", directory, number);
	w->file = open_here(w->path, O_RDWR | O_CREAT | O_TRUNC);
	w->other = open_here(other, O_RDWR | O_CREAT | O_TRUNC);
	if (posix_memalign((void **)&w->buffer, 4096, 65536))
		die("no memory");
	memset(w->buffer, number + 1, 65536);
	if (pwrite(w->file, w->buffer, 65536, 0) != 65536)
		die("%s: %s", w->path, strerror(errno));
	w->map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, w->file, 0);
	if (w->map == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	w->cold = with_cold ? open_cold(w, number) : -1;
	w->direct = with_direct ? open_here(w->path, O_RDWR | O_DIRECT) : -1;
	w->synced = open_here(w->path, O_RDWR | O_SYNC);
	w->dsynced = open_here(w->path, O_RDWR | O_DSYNC);
	w->null = open_here("/dev/null", O_WRONLY);
	w->dir = open_here(directory, O_RDONLY | O_DIRECTORY);
	make_pipe(w->pipe);
	if (with_uring && !ring_open(&w->ring, with_sqpoll ? IORING_SETUP_SQPOLL : 0)) {
		fprintf(stderr, "io_uring_setup: %s\n", strerror(errno));
		exit(WORKLOAD_SKIP);
	}
	if (with_aio && syscall(SYS_io_setup, 1, &w->aio))
		die("io_setup: %s", strerror(errno));
	for (int kind = 0; kind < KINDS; kind++)
		series_init(&w->series[kind], kinds[kind].count + 1000 * (kind == BAD));
	if (pthread_create(&w->thread, NULL, work, w))
		die("pthread_create");
}

static const char *file_of(const struct worker *w, int kind)
{
	switch (kind) {
	case DIRECTORY:
		return directory;
	case MISSING:
	case BAD:
		return "-";
	case COLD:
	case WARM:
		return w->cold_shown;
	default:
		return w->shown;
	}
}

static const char *flags_of(int kind)
{
	return kind == CLOSED && with_direct ? "direct" : kinds[kind].flags;
}

static void report(struct worker *workers, uint64_t n)
{
	report_begin();
	for (uint64_t i = 0; i < n; i++)
		for (int kind = 0; kind < KINDS; kind++) {
			struct worker *w = &workers[i];
			struct series *s = &w->series[kind];

			if (left_out(kind))
				continue;
			put_row_of("op", w->tid, w->comm, kinds[kind].op, s->count, s->errors);
			put(",\"bytes\":%llu,\"size\":%llu,\"flags\":\"%s\",\"errno\":\"%s\",",
			    (unsigned long long)(s->count * kinds[kind].bytes),
			    (unsigned long long)kinds[kind].size, flags_of(kind),
			    kinds[kind].error);
			put("\"cache\":\"%s\",", kind == COLD ? "miss" : kind == WARM ? "hit" : "");
			put_string("file", file_of(w, kind));
			put(",\"skipped\":%llu,",
			    (unsigned long long)(kind == URING_READ ? w->skipped : 0));
			put_figures(s);
			put("}");
		}
	report_end();
}

int main(int argc, char **argv)
{
	struct worker *workers;
	uint64_t n;

	help_if_asked(argc, argv);
	if (argc < 3)
		misuse("2 arguments or more");
	directory = argv[1];
	n = parse_number(argv[2], "THREADS", 1, 16);
	for (int i = 3; i < argc; i++) {
		with_direct |= !strcmp(argv[i], "direct");
		with_uring |= !strcmp(argv[i], "uring");
		with_cold |= !strcmp(argv[i], "cold");
		with_aio |= !strcmp(argv[i], "aio");
		with_skip |= !strcmp(argv[i], "skip");
		with_sqpoll |= !strcmp(argv[i], "sqpoll");
	}
	workers = calloc(n, sizeof(*workers));
	if (!workers || pthread_barrier_init(&barrier, NULL, n + 1))
		die("no memory");
	for (uint64_t i = 0; i < n; i++)
		prepare(&workers[i], i);
	pthread_barrier_wait(&barrier);
	reached("ready");
	gate("go");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	reached("done");
	for (uint64_t i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	gate("end");
	report(workers, n);
	return 0;
}
