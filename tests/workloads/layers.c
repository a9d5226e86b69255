// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* layers: reads, writes and fsyncs that wait in a known layer, timed one by one. */
#include "workload.h"
#include "cpus.h"
#include <semaphore.h>

const char usage[] =
	"Usage: layers FILE KIND SIZE COUNT THREADS HOGS\n"
	"\n"
	"Each thread, named layers-N, makes COUNT calls on SIZE bytes each, in its own part of "
	"FILE:\n"
	"  direct  pread64 with O_DIRECT\n"
	"  cold    pread64 of pages that are not in the page cache\n"
	"  hot     pread64 of pages that are\n"
	"  ahead   pread64 of pages that its helper, helper-N, has just begun to read\n"
	"  behind  fdatasync of pages that its helper has just begun to write\n"
	"  sync    fsync of pages that it has written\n"
	"  write   pwrite64 to the page cache\n"
	"  pipe    read of a pipe, to which its helper writes 2 ms later; FILE is not used\n"
	"With HOGS, these threads and as many others that spin are on one CPU.  ran and waited "
	"are\n"
	"the time of a thread on the CPU and on the run queue, by its schedstat.\n"
	"Gates: ready, go, done, end.\n";

enum { DIRECT, COLD, HOT, AHEAD, BEHIND, SYNC, WRITE, PIPE, KINDS };

static const struct {
	const char *name, *syscall;
	bool helped;
} kinds[KINDS] = {
	[DIRECT] = {"direct", "pread64", false},  [COLD] = {"cold", "pread64", false},
	[HOT] = {"hot", "pread64", false},        [AHEAD] = {"ahead", "pread64", true},
	[BEHIND] = {"behind", "fdatasync", true}, [SYNC] = {"sync", "fsync", false},
	[WRITE] = {"write", "pwrite64", false},   [PIPE] = {"pipe", "read", true},
};

static uint64_t size, count, n_threads, n_hogs;
static int kind, file, cpu = -1;
static const char *path;
static pthread_barrier_t barrier;
static atomic_bool over;

struct worker {
	pthread_t thread, helper;
	pid_t tid;
	uint64_t number, at; /* byte of the file */
	char comm[16], *buffer;
	struct series series;
	uint64_t ran, waited;
	int ends[2];
	sem_t asked, done;
};

/* ns on the CPU, and ns of waiting for it. */
static void read_schedstat(uint64_t *ran, uint64_t *waited)
{
	int fd = open_of_thread(getpid(), own_tid(), "schedstat");
	unsigned long long a = 0, b = 0;
	char text[128];
	ssize_t n = syscall(SYS_pread64, fd, text, sizeof(text) - 1, (off_t)0);

	if (n <= 0)
		die("schedstat: %s", strerror(errno));
	text[n] = 0;
	if (sscanf(text, "%llu %llu", &a, &b) != 2)
		die("schedstat: %s", text);
	close(fd);
	*ran = a;
	*waited = b;
}

/* ---- helpers ---- */

static void help(struct worker *w)
{
	switch (kind) {
	case AHEAD:
		if (readahead(file, w->at, size))
			die("readahead: %s", strerror(errno));
		return;
	case BEHIND:
		if (sync_file_range(file, w->at, size, SYNC_FILE_RANGE_WRITE))
			die("sync_file_range: %s", strerror(errno));
		return;
	default: /* PIPE */
		sem_post(&w->done);
		pause_ns(2000000);
		if (write(w->ends[1], "", 1) != 1)
			die("write: %s", strerror(errno));
	}
}

static void *helper(void *context)
{
	struct worker *w = context;
	char comm[24];

	snprintf(comm, sizeof(comm), "helper-%llu", (unsigned long long)w->number);
	rename_self(comm);
	for (uint64_t i = 0; i < count; i++) {
		sem_wait(&w->asked);
		help(w);
		if (kind != PIPE)
			sem_post(&w->done);
	}
	return NULL;
}

static void ask(struct worker *w)
{
	sem_post(&w->asked);
	while (sem_wait(&w->done))
		;
}

/* ---- workers ---- */

/* Before the call that counts. */
static void prepare(struct worker *w)
{
	if (kind == BEHIND || kind == SYNC) {
		memset(w->buffer, w->at / size, size);
		if (pwrite(file, w->buffer, size, w->at) != (ssize_t)size)
			die("pwrite: %s", strerror(errno));
	}
	if (kinds[kind].helped)
		ask(w);
}

static bool call(struct worker *w)
{
	switch (kind) {
	case PIPE:
		return read(w->ends[0], w->buffer, 1) == 1;
	case BEHIND:
		return !fdatasync(file); /* not what has changed in the inode */
	case SYNC:
		return !fsync(file);
	case WRITE:
		return pwrite(file, w->buffer, size, w->at) == (ssize_t)size;
	default:
		return pread(file, w->buffer, size, w->at) == (ssize_t)size;
	}
}

static void *work(void *context)
{
	struct worker *w = context;
	uint64_t ran, waited, start;
	bool good;

	snprintf(w->comm, sizeof(w->comm), "layers-%u", (unsigned int)w->number);
	rename_self(w->comm);
	if (cpu >= 0)
		pin(0, cpu);
	w->tid = own_tid();
	pthread_barrier_wait(&barrier); /* ready */
	pthread_barrier_wait(&barrier); /* go */
	read_schedstat(&ran, &waited);
	for (uint64_t i = 0; i < count; i++) {
		/* Never adjacent, so that no two are merged. */
		w->at = (w->number * count + i) * 2 * size;
		prepare(w);
		start = now_ns();
		good = call(w);
		series_add(&w->series, now_ns() - start, !good);
	}
	read_schedstat(&w->ran, &w->waited);
	w->ran -= ran;
	w->waited -= waited;
	pthread_barrier_wait(&barrier); /* done */
	return NULL;
}

static void *spin(void *context)
{
	rename_self("hog");
	pin(0, cpu);
	while (!over)
		;
	return NULL;
}

static void start_worker(struct worker *w, uint64_t number)
{
	w->number = number;
	series_init(&w->series, count);
	if (posix_memalign((void **)&w->buffer, 4096, size))
		die("no memory");
	memset(w->buffer, 1, size);
	make_pipe(w->ends);
	if (sem_init(&w->asked, 0, 0) || sem_init(&w->done, 0, 0) ||
	    pthread_create(&w->thread, NULL, work, w) ||
	    (kinds[kind].helped && pthread_create(&w->helper, NULL, helper, w)))
		die("pthread_create");
}

/* ---- the file ---- */

static void touch_pages(void)
{
	char *page = malloc(size);

	for (uint64_t i = 0; i < n_threads * count; i++)
		if (!page ||
		    syscall(SYS_preadv, file, &(struct iovec){page, size}, 1, i * 2 * size, 0) < 0)
			die("%s: %s", path, strerror(errno));
	free(page);
}

static void open_file(void)
{
	file = open_uncounted(path, O_RDWR | O_CLOEXEC | (kind == DIRECT ? O_DIRECT : 0));
	if (file < 0)
		die("%s: %s", path, strerror(errno));
	/* No read-ahead but what is asked for. */
	posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
	if (kind == COLD || kind == AHEAD)
		posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	if (kind == HOT)
		touch_pages();
}

static void report(struct worker *workers)
{
	report_begin();
	for (uint64_t i = 0; i < n_threads; i++) {
		struct worker *w = &workers[i];

		put_row(w->tid, w->comm, kinds[kind].syscall, w->series.count, w->series.errors);
		put(",\"ran\":%llu,\"waited\":%llu,", (unsigned long long)w->ran,
		    (unsigned long long)w->waited);
		put_figures(&w->series);
		put("}");
	}
	report_end();
}

int main(int argc, char **argv)
{
	struct worker *workers;
	pthread_t hog;

	help_if_asked(argc, argv);
	if (argc != 7)
		misuse("6 arguments");
	while (kind < KINDS && strcmp(argv[2], kinds[kind].name))
		kind++;
	if (kind == KINDS)
		misuse("no such KIND: %s", argv[2]);
	path = argv[1];
	size = parse_number(argv[3], "SIZE", 1, 1 << 24);
	count = parse_number(argv[4], "COUNT", 1, 100000);
	n_threads = parse_number(argv[5], "THREADS", 1, 64);
	n_hogs = parse_number(argv[6], "HOGS", 0, 64);
	if (kind != PIPE)
		open_file();
	if (n_hogs)
		cpu = pin_to_last_cpu();
	workers = calloc(n_threads, sizeof(*workers));
	if (!workers || pthread_barrier_init(&barrier, NULL, n_threads + 1))
		die("no memory");
	for (uint64_t i = 0; i < n_threads; i++)
		start_worker(&workers[i], i);
	pthread_barrier_wait(&barrier);
	reached("ready");
	gate("go");
	for (uint64_t i = 0; i < n_hogs; i++)
		if (pthread_create(&hog, NULL, spin, NULL))
			die("pthread_create");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	over = true;
	reached("done");
	for (uint64_t i = 0; i < n_threads; i++)
		pthread_join(workers[i].thread, NULL);
	report(workers);
	gate("end");
	return 0;
}
