/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cached: reads and writes of files of which parts are in the page cache.
 *
 * Before each call and after it the kernel says how many pages are in the page cache (cachestat,
 * from 6.5 on): those of the call's range are its hits, the others of the range its misses, and
 * what has come besides was read ahead.  Which pages these are, and what becomes of them,
 * mincore(2) says.
 */
#include "cached.h"
#include <sys/sendfile.h>

const char usage[] =
	"Usage: cached THREADS|held|again|device FILE\n"
	"Each thread reads and writes its own file of 8 MB, parts of which are not in\n"
	"memory, under a name for each kind of call.\n"
	"\n"
	"Gates: ready, go, done, end.\n"
	"\n"
	"held: a read does not end until the gate leave; its gates: ready, go, done.\n"
	"\n"
	"again: a byte is written to each of 211 files, again-0 to again-210, which is\n"
	"then removed: the next one takes the kernel's memory of it. No gates.\n"
	"\n"
	"device: 23 pages of FILE are read in mapped memory, and then 11 by pread(). No\n"
	"gates.\n";

static ssize_t drained(struct worker *w, ssize_t n)
{
	return n < 0 ? n : read(w->pipe[0], w->buffer, n);
}

static ssize_t copied(struct worker *w, uint64_t at, uint64_t n)
{
	off_t from = at, to = at;

	if (n % 2)
		return copy_file_range(w->fd, &from, w->copy, &to, n, 0);
	lseek(w->fd, at, SEEK_SET);
	lseek(w->copy, at, SEEK_SET);
	return copy_file_range(w->fd, NULL, w->copy, NULL, n, 0);
}

static ssize_t call(struct worker *w, enum kind kind, uint64_t at, uint64_t n)
{
	const struct iovec v[2] = {{w->buffer, n / 3}, {w->buffer + n / 3, n - n / 3}};
	off_t position = at;

	switch (kind) {
	case SEQUENTIAL:
		return read(w->fd, w->buffer, n);
	case END: /* less is read than what is asked for */
		return read(w->fd, w->buffer, 300000);
	case VECTOR:
		return preadv(w->fd, v, 2, at);
	case SENDFILE: /* half of them at the position of the file */
		if (n % 2)
			return sendfile(w->null, w->fd, &position, n);
		lseek(w->fd, at, SEEK_SET);
		return sendfile(w->null, w->fd, NULL, n);
	case SPLICE:
		return drained(w, splice(w->fd, &position, w->pipe[1], NULL, n, 0));
	case SPLICED_OUT:
		if (write(w->pipe[1], w->buffer, n) != (ssize_t)n)
			return -1;
		return splice(w->pipe[0], NULL, w->fd, &position, n, 0);
	case WRITE:
		return pwrite(w->fd, w->buffer, n, at);
	case APPEND:
		return write(w->append, w->buffer, n);
	case COPY:
		return copied(w, at, n);
	case FAULTED:
		(void)*(volatile char *)(w->map + at);
		return n;
	case DIRECT:
		return pread(w->direct, w->buffer, 65536, at & -65536);
	default:
		return pread(w->fd, w->buffer, n, at);
	}
}

/* Where a call begins, and of how many bytes it is. */
static uint64_t place(struct worker *w, enum kind kind, uint64_t *n)
{
	uint64_t at = any(w, SIZE - 300000);

	*n = 1 + any(w, 300000);
	switch (kind) {
	case MAPPED:
	case PAIR: /* of pages one after another, the second with read-ahead */
		*n = page;
		w->pair = w->kinds[kind].count % 2 ? w->pair + page : at & -page;
		return w->pair;
	case FAULTED:
		*n = page;
		return at & -page;
	case SEQUENTIAL:
		*n = 1 + any(w, 70000);
		return lseek(w->fd, 0, SEEK_CUR);
	case END:
		*n = 1000;
		return lseek(w->fd, (off_t)SIZE - 1000, SEEK_SET);
	case SPLICE:
	case SPLICED_OUT: /* they fit into the pipe */
		*n = 1 + any(w, 40000);
		return at;
	case APPEND:
		*n = 1 + any(w, 20000);
		return lseek(w->append, 0, SEEK_END);
	default:
		return at;
	}
}

/* How many pages of the file that is copied to are in memory; some are removed now and then. */
static uint64_t copy_is_in(struct worker *w, uint64_t at, uint64_t n)
{
	if (!any(w, 3) && (fsync(w->copy) || posix_fadvise(w->copy, any(w, SIZE) & -page, SIZE / 4,
							   POSIX_FADV_DONTNEED)))
		die("fsync: %s", strerror(errno));
	return cached_of(w->copy, at, n);
}

static void one(struct worker *w, enum kind kind)
{
	uint64_t hits = 0, pages, at, n;
	ssize_t done;

	/* Something is not in memory, now and then. */
	if (!any(w, 3))
		posix_fadvise(w->fd, any(w, SIZE) & -page, any(w, SIZE / 4), POSIX_FADV_DONTNEED);
	at = place(w, kind, &n);
	pages = (at + n - 1) / page - at / page + 1;
	look(w, OUTSIDE, 0, 0);
	if (kind == APPEND)
		hits = cached(w, at, n);
	if (kind == COPY) { /* of the other file, of which it is a call of its own */
		hits = copy_is_in(w, at, n);
		w->kinds[kind].count++;
		w->kinds[kind].misses += pages;
	}
	for (uint64_t i = at / page; i < at / page + pages && i < SIZE / page; i++)
		hits += w->is_in[i];
	done = call(w, kind, at, n);
	if (done != (ssize_t)(kind == DIRECT ? 65536 : n))
		die("%s: %zd of %llu bytes: %s", names[kind], done, (unsigned long long)n,
		    strerror(errno));
	w->kinds[kind].count++;
	if (kind == DIRECT)
		return;
	w->kinds[kind].hits += hits;
	w->kinds[kind].misses += pages - hits;
	w->kinds[kind].ahead += look(w, kind, at / page, pages);
	if (kind == FAULTED)
		use_mapped(w);
	if (kind == MAPPED && w->kinds[kind].count % 20 == 0)
		touch(w);
}

/* A file of which nothing is in memory. */
static int make_file(struct worker *w, const char *what)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "%s-%u.data", what, w->number);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	for (uint64_t at = 0; at < SIZE; at += 1 << 20)
		if (pwrite(fd, w->buffer, 1 << 20, at) != 1 << 20)
			die("%s: %s", name, strerror(errno));
	/* Pages that are dirty cannot be dropped. */
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		die("%s: %s", name, strerror(errno));
	return fd;
}

static void make(struct worker *w)
{
	char name[64];

	w->buffer = aligned_alloc(4096, 1 << 20);
	if (!w->buffer)
		die("no memory");
	memset(w->buffer, 7, 1 << 20);
	w->fd = make_file(w, "cached");
	w->copy = make_file(w, "copy");
	snprintf(name, sizeof(name), "copy-%u.data", w->number);
	unlink(name);
	snprintf(name, sizeof(name), "cached-%u.data", w->number);
	w->append = open(name, O_WRONLY | O_APPEND | O_CLOEXEC);
	w->direct = open(name, O_RDONLY | O_DIRECT | O_CLOEXEC);
	w->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	w->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	w->map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, w->fd, 0);
	if (w->append < 0 || w->direct < 0 || w->null < 0 || w->pagemap < 0 ||
	    w->map == MAP_FAILED || pipe2(w->pipe, O_CLOEXEC))
		die("%s: %s", name, strerror(errno));
	cached(w, 0, 0);
	unlink(name);
}

static void *play(void *context)
{
	struct worker *w = context;

	w->tid = own_tid();
	w->seed = w->number + 1;
	make(w);
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	for (int k = 0; k < KINDS; k++) {
		rename_self(names[k]);
		for (int i = 0; i < CALLS; i++)
			one(w, k);
	}
	/* Something is to be left. */
	rename_self(names[PAIR]);
	if (fsync(w->fd) || posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED))
		die("fsync: %s", strerror(errno));
	for (int i = 0; i < 11; i++)
		one(w, PAIR);
	for (uint64_t i = 0; i < SIZE / page; i++)
		if (w->ahead[i])
			w->kinds[w->ahead[i] - 1].pending++;
	rename_self("cached");
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	return NULL;
}

/* A read into memory that comes when the gate is open. */
static void held(void)
{
	const int fd = open("held.data", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char *late = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || write(fd, "23", 2) != 2 || late == MAP_FAILED)
		die("held.data: %s", strerror(errno));
	unlink("held.data");
	if (!userfault_begin(late, page, aligned_alloc(page, page), page, 0)) {
		fprintf(stderr, "userfaultfd: %s\n", strerror(errno));
		exit(WORKLOAD_SKIP);
	}
	reached("ready");
	gate("go");
	if (pread(fd, late, 2, 0) != 2)
		die("pread: %s", strerror(errno));
	report_begin();
	report_end();
}

static void again(void)
{
	char name[32];
	int fd;

	for (int i = 0; i < 211; i++) {
		snprintf(name, sizeof(name), "again-%d", i);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, "", 1) != 1 || close(fd) || unlink(name))
			die("%s: %s", name, strerror(errno));
	}
}

static void device(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	volatile char *map = mmap(NULL, 253 * page, PROT_READ, MAP_SHARED, fd, 0);
	char byte;

	if (fd < 0 || map == MAP_FAILED || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) ||
	    madvise((void *)map, 253 * page, MADV_RANDOM))
		die("%s: %s", path, strerror(errno));
	for (uint64_t i = 0; i < 23; i++)
		(void)map[i * 11 * page];
	for (uint64_t i = 0; i < 11; i++)
		if (pread(fd, &byte, 1, i * page) != 1)
			die("%s: %s", path, strerror(errno));
}

int main(int argc, char **argv)
{
	struct worker *workers;
	uint64_t n;

	help_if_asked(argc, argv);
	page = sysconf(_SC_PAGESIZE);
	if (argc == 3 && !strcmp(argv[1], "device")) {
		device(argv[2]);
		return 0;
	}
	if (argc != 2)
		misuse("one argument is needed");
	if (!strcmp(argv[1], "held")) {
		held();
		return 0;
	}
	if (!strcmp(argv[1], "again")) {
		again();
		return 0;
	}
	n = parse_number(argv[1], "THREADS", 1, 64);
	workers = calloc(n, sizeof(*workers));
	if (!workers)
		die("no memory");
	pthread_barrier_init(&all, NULL, n + 1);
	for (uint64_t i = 0; i < n; i++) {
		workers[i].number = i;
		if (pthread_create(&workers[i].thread, NULL, play, &workers[i]))
			die("pthread_create failed");
	}
	pthread_barrier_wait(&all);
	reached("ready");
	gate("go");
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	reached("done");
	gate("end");
	pthread_barrier_wait(&all);
	report_begin();
	for (uint64_t i = 0; i < n; i++)
		for (int k = 0; k < KINDS; k++) {
			put_row_of("function", workers[i].tid, names[k], "io",
				   workers[i].kinds[k].count, 0);
			put(",\"hits\":%llu,\"misses\":%llu,\"ahead\":%llu",
			    (unsigned long long)workers[i].kinds[k].hits,
			    (unsigned long long)workers[i].kinds[k].misses,
			    (unsigned long long)workers[i].kinds[k].ahead);
			put(",\"unused\":%llu,\"pending\":%llu,\"mapped\":%llu}",
			    (unsigned long long)workers[i].kinds[k].unused,
			    (unsigned long long)workers[i].kinds[k].pending,
			    (unsigned long long)workers[i].mapped);
		}
	report_end();
	return 0;
}
