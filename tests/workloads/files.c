/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files: operations on files in all forms, timed one by one. */
#include "ring.h"
#include "workload.h"
#include <sys/sendfile.h>

const char usage[] =
	"Usage: files DIR THREADS [direct] [uring] [cold]\n"
	"\n"
	"Each thread, named files-N, makes prime numbers of operations on a file of its own in DIR,\n"
	"whose name has a blank, a newline, an escape sequence and a backslash.\n"
	"direct: also with O_DIRECT.  uring: also by io_uring.  cold: also of pages that are not in\n"
	"the page cache, and then again.\n"
	"Gates: ready, go, done, end.\n";

enum {
	READ,
	WRITE,
	OPEN,
	FSYNC,
	RANGE,
	MMAP,
	SENDFILE,
	SPLICE,
	COPY,
	DIRECTORY,
	MISSING,
	BAD,
	SYNCED,
	DSYNCED,
	DIRECT_READ,
	DIRECT_WRITE,
	CLOSED,
	COLD,
	WARM,
	URING_READ,
	URING_WRITE,
	URING_FSYNC,
	URING_OPEN,
	KINDS
};

/* Rows: the size is of the bytes; of 0 bytes it is 0. */
static const struct {
	const char *op, *flags, *error;
	uint64_t count, bytes, size;
} kinds[KINDS] = {
	[READ] = {"read", "-", "0", 53, 3000, 2048},
	[WRITE] = {"write", "-", "0", 41, 5000, 4096},
	[OPEN] = {"open", "-", "0", 23, 0, 0},
	[FSYNC] = {"fsync", "-", "0", 7, 0, 0},
	[RANGE] = {"sync_file_range", "-", "0", 5, 0, 0},
	[MMAP] = {"mmap", "-", "0", 11, 8192, 8192},
	[SENDFILE] = {"sendfile", "-", "0", 13, 1000, 512},
	[SPLICE] = {"splice", "-", "0", 17, 4096, 4096},
	[COPY] = {"copy_file_range", "-", "0", 3, 10000, 8192},
	[DIRECTORY] = {"read", "-", "EISDIR", 2, 0, 0},
	[MISSING] = {"open", "-", "ENOENT", 19, 0, 0},
	[BAD] = {"read", "-", "EBADF", 29, 0, 0},
	[SYNCED] = {"write", "sync", "0", 5, 5000, 4096},
	[DSYNCED] = {"write", "dsync", "0", 3, 5000, 4096},
	[DIRECT_READ] = {"read", "direct", "0", 31, 4096, 4096},
	[DIRECT_WRITE] = {"write", "direct", "0", 37, 4096, 4096},
	[CLOSED] = {"read", "-", "0", 3, 4096, 4096},
	[COLD] = {"read", "-", "0", 19, 4096, 4096},
	[WARM] = {"read", "-", "0", 19, 4096, 4096},
	[URING_READ] = {"io_uring:read", "-", "0", 43, 3000, 2048},
	[URING_WRITE] = {"io_uring:write", "-", "0", 47, 5000, 4096},
	[URING_FSYNC] = {"io_uring:fsync", "-", "0", 5, 0, 0},
	[URING_OPEN] = {"io_uring:open", "-", "0", 11, 0, 0},
};

static const char *directory;
static bool with_direct, with_uring, with_cold;
static pthread_barrier_t barrier;

struct worker {
	pthread_t thread;
	pid_t tid;
	char comm[16], path[PATH_MAX], shown[PATH_MAX], cold_shown[PATH_MAX];
	volatile char *map; /* of the file */
	int file, other, cold, direct, synced, dsynced, null, dir, pipe[2];
	struct series series[KINDS];
	char *buffer;
	struct ring ring;
};

static bool left_out(int kind)
{
	return (!with_direct && (kind == DIRECT_READ || kind == DIRECT_WRITE)) ||
	       (!with_cold && (kind == COLD || kind == WARM)) ||
	       (!with_uring && kind >= URING_READ);
}

/* ---- one operation each; I is its number ---- */

static ssize_t read_one(struct worker *w, uint64_t i)
{
	struct iovec parts[2] = {{w->buffer, 1000}, {w->buffer + 1000, 2000}};

	switch (i % 5) {
	case 0:
		return pread(w->file, w->buffer, 3000, 0);
	case 1:
		lseek(w->file, 0, SEEK_SET);
		return read(w->file, w->buffer, 3000);
	case 2:
		lseek(w->file, 0, SEEK_SET);
		return readv(w->file, parts, 2);
	case 3:
		return preadv(w->file, parts, 2, 0);
	default:
		return preadv2(w->file, parts, 2, 0, 0);
	}
}

static ssize_t write_one(struct worker *w, uint64_t i)
{
	struct iovec parts[2] = {{w->buffer, 1000}, {w->buffer + 1000, 4000}};

	switch (i % 5) {
	case 0:
		return pwrite(w->file, w->buffer, 5000, 0);
	case 1:
		lseek(w->file, 0, SEEK_SET);
		return write(w->file, w->buffer, 5000);
	case 2:
		lseek(w->file, 0, SEEK_SET);
		return writev(w->file, parts, 2);
	case 3:
		return pwritev(w->file, parts, 2, 0);
	default:
		return pwritev2(w->file, parts, 2, 0, 0);
	}
}

static ssize_t open_one(struct worker *w, uint64_t i)
{
	int fd;

#if defined(SYS_open)
	if (i % 4 == 0)
		fd = syscall(SYS_open, w->path, O_RDONLY);
	else if (i % 4 == 1)
		fd = syscall(SYS_creat, w->path + 0, 0644);
	else
#endif
		if (i % 4 == 2)
		fd = open_uncounted(w->path, O_RDONLY);
	else
		fd = syscall(SYS_openat, AT_FDCWD, w->path, O_RDONLY);
	return fd;
}

static ssize_t by_ring(struct worker *w, int kind)
{
	struct io_uring_sqe sqe = {.fd = w->file};

	switch (kind) {
	case URING_READ:
		sqe.opcode = IORING_OP_READ;
		sqe.addr = (uintptr_t)w->buffer;
		sqe.len = 3000;
		break;
	case URING_WRITE:
		sqe.opcode = IORING_OP_WRITE;
		sqe.addr = (uintptr_t)w->buffer;
		sqe.len = 5000;
		break;
	case URING_FSYNC:
		sqe.opcode = IORING_OP_FSYNC;
		break;
	default:
		sqe.opcode = IORING_OP_OPENAT;
		sqe.fd = AT_FDCWD;
		sqe.addr = (uintptr_t)w->path;
	}
	return ring_call(&w->ring, &sqe);
}

static void *close_soon(void *context)
{
	pause_ns(5000000);
	close(*(int *)context);
	return NULL;
}

/* Read by another descriptor, which another thread closes, on a slow disk meanwhile. */
static ssize_t read_closed(struct worker *w, uint64_t *start)
{
	int fd = fcntl(with_direct ? w->direct : w->file, F_DUPFD_CLOEXEC, 0);
	pthread_t closer;
	ssize_t result;
	int error;

	if (fd < 0 || pthread_create(&closer, NULL, close_soon, &fd))
		die("a descriptor, or a thread: %s", strerror(errno));
	*start = now_ns();
	result = pread(fd, w->buffer, 4096, 0);
	error = errno;
	if (pthread_join(closer, NULL))
		die("pthread_join");
	errno = error;
	return result;
}

/* The result of the system call. */
static ssize_t one(struct worker *w, int kind, uint64_t i, uint64_t *start)
{
	void *p;

	switch (kind) {
	case READ:
		return read_one(w, i);
	case WRITE:
		return write_one(w, i);
	case OPEN:
		return open_one(w, i);
	case FSYNC:
		return i % 2 ? fdatasync(w->file) : fsync(w->file);
	case RANGE:
		return sync_file_range(w->file, 0, 8192, SYNC_FILE_RANGE_WRITE);
	case MMAP:
		p = mmap(NULL, 8192, PROT_READ, i % 2 ? MAP_SHARED : MAP_PRIVATE, w->file, 0);
		return p == MAP_FAILED ? -1 : !munmap(p, 8192);
	case SENDFILE:
		return sendfile(w->null, w->file, &(off_t){0}, 1000);
	case SPLICE:
		return splice(w->file, &(loff_t){0}, w->pipe[1], NULL, 4096, 0);
	case COPY:
		return copy_file_range(w->file, &(loff_t){0}, w->other, &(loff_t){0}, 10000, 0);
	case DIRECTORY:
		return read(w->dir, w->buffer, 100);
	case MISSING:
		return open("/nowhere/to be found", O_RDONLY);
	case BAD:
		return read(-1, w->buffer, 100);
	case SYNCED:
		return pwrite(w->synced, w->buffer, 5000, 0);
	case DSYNCED:
		return pwrite(w->dsynced, w->buffer, 5000, 0);
	case DIRECT_READ:
		return pread(w->direct, w->buffer, 4096, 0);
	case DIRECT_WRITE:
		return pwrite(w->direct, w->buffer, 4096, 4096);
	case CLOSED:
		return read_closed(w, start);
	case COLD:
	case WARM:
		return pread(w->cold, w->buffer, 4096, i * 8192);
	default:
		return by_ring(w, kind);
	}
}

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
	if (with_uring && !ring_open(&w->ring)) {
		fprintf(stderr, "io_uring_setup: %s\n", strerror(errno));
		exit(WORKLOAD_SKIP);
	}
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
			put(",");
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
