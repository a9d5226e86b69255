/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * backings: reads and writes of files whose pages are another file's, or come in other ways than
 * those that cached has.
 *
 * Before each call and after it the kernel says how many pages of the call's range, and outside of
 * it, are in the page cache (cachestat, from 6.5 on) of the file that has them.
 */
#include "workload.h"
#include <sched.h>
#include <sys/mount.h>

#define SYS_CACHESTAT 451  /* include/uapi/asm-generic/unistd.h */
#define DONTCACHE     0x80 /* RWF_DONTCACHE, from 6.14 on */

const char usage[] = "Usage: backings\n"
		     "Reads and writes files of overlayfs and of tmpfs, and makes calls that fail\n"
		     "or that leave nothing in memory, under a name for each kind.\n"
		     "\n"
		     "Gates: ready, go, done, end.\n";

#define SIZE (1UL << 20)

enum kind { LOWER, UPPER, COPIED, NEW, AGAIN, HOLES, FAULT, NOWAIT, UNCACHED, KINDS };

static const char *const names[KINDS] = {"k-lower", "k-upper", "k-copied", "k-new",     "k-again",
					 "k-holes", "k-fault", "k-nowait", "k-uncached"};

static struct {
	uint64_t count, errors, hits, misses, ahead, unused, pending;
} kinds[KINDS];

static uint64_t page; /* bytes */
static char *buffer;

/* Pages of the file that are in the page cache; N 0: up to its end. */
static uint64_t cached(int fd, uint64_t at, uint64_t n)
{
	const uint64_t range[2] = {at, n};
	uint64_t figures[5];

	if (syscall(SYS_CACHESTAT, fd, range, figures, 0)) {
		fprintf(stderr, "cachestat: %s\n", strerror(errno));
		exit(WORKLOAD_SKIP);
	}
	return figures[0];
}

static ssize_t call(enum kind kind, int fd, uint64_t at, uint64_t n)
{
	const struct iovec v = {buffer, n};

	switch (kind) {
	case UPPER:
	case NEW:
	case AGAIN:
		return pwrite(fd, buffer, n, at);
	case FAULT:
		return pread(fd, (void *)page, n, at);
	case NOWAIT:
		return preadv2(fd, &v, 1, at, RWF_NOWAIT);
	case UNCACHED:
		return preadv2(fd, &v, 1, at, DONTCACHE);
	default:
		return pread(fd, buffer, n, at);
	}
}

/* A call on FD of N bytes, whole pages; the file that has the pages is PAGES. */
static ssize_t count(enum kind kind, int fd, int pages, uint64_t at, uint64_t n)
{
	const bool holes = kind == HOLES;
	const uint64_t before = cached(pages, at, n), all = cached(pages, 0, 0);
	const ssize_t done = call(kind, fd, at, n);
	const uint64_t after = cached(pages, at, n), now = cached(pages, 0, 0);

	kinds[kind].count++;
	kinds[kind].errors += done < 0;
	if (done < 0) {
		kinds[kind].ahead += now - all;
		return done;
	}
	if (done != (ssize_t)n)
		die("%s: %zd of %llu bytes", names[kind], done, (unsigned long long)n);
	kinds[kind].hits += before;
	kinds[kind].misses += (holes ? after : n / page) - before;
	kinds[kind].ahead += (now - after) - (all - before);
	return done;
}

static void drop(int fd, uint64_t at, uint64_t n)
{
	/* Pages that are dirty cannot be dropped. */
	if (fsync(fd) || posix_fadvise(fd, at, n, POSIX_FADV_DONTNEED))
		die("fadvise: %s", strerror(errno));
}

/* A file of SIZE bytes that is not in memory. */
static int make(const char *name)
{
	const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	for (uint64_t at = 0; at < SIZE; at += 65536)
		if (fd < 0 || pwrite(fd, buffer, 65536, at) != 65536)
			die("%s: %s", name, strerror(errno));
	drop(fd, 0, 0);
	return fd;
}

static int open_file(const char *name, int flags)
{
	const int fd = open(name, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		die("%s: %s", name, strerror(errno));
	return fd;
}

/* ---- overlayfs ---- */

static int lower, late;

static void mount_overlay(void)
{
	const char *const folders[] = {"lower", "upper", "work", "over"};

	for (int i = 0; i < 4; i++)
		if (mkdir(folders[i], 0700))
			die("%s: %s", folders[i], strerror(errno));
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("overlay", "over", "overlay", 0, "lowerdir=lower,upperdir=upper,workdir=work")) {
		fprintf(stderr, "overlayfs: %s\n", strerror(errno));
		exit(WORKLOAD_SKIP);
	}
	lower = make("lower/data");
	late = make("lower/late");
}

static void overlay(void)
{
	int fd = open_file("over/data", O_RDONLY), pages;

	rename_self(names[LOWER]);
	for (uint64_t at = 0; at < SIZE; at += 65536)
		count(LOWER, fd, lower, at, 65536);
	drop(lower, 0, 0);
	count(LOWER, fd, lower, 4 * page, 2 * page);
	kinds[LOWER].pending = cached(lower, 0, 0) - cached(lower, 4 * page, 2 * page);
	rename_self(names[UPPER]);
	fd = open_file("over/new", O_RDWR | O_CREAT);
	pages = open_file("upper/new", O_RDONLY);
	for (uint64_t at = 0; at < 20 * page; at += page)
		count(UPPER, fd, pages, at, 3 * page);
	/* Another descriptor lets the file be copied after this one was opened. */
	rename_self(names[COPIED]);
	fd = open_file("over/late", O_RDONLY);
	open_file("over/late", O_RDWR);
	pages = open_file("upper/late", O_RDWR);
	drop(pages, 0, 0);
	for (uint64_t at = 0; at < SIZE; at += 65536)
		count(COPIED, fd, pages, at, 65536);
}

/* ---- tmpfs ---- */

static void tmpfs(void)
{
	const int fd = memfd_create("backings", MFD_CLOEXEC);

	rename_self(names[NEW]);
	for (uint64_t at = 0; at < 1000 * page; at += 10 * page)
		count(NEW, fd, fd, at, 7 * page);
	rename_self(names[AGAIN]);
	for (uint64_t at = 0; at < 1000 * page; at += 5 * page)
		count(AGAIN, fd, fd, at, 5 * page);
	/* In the nodes of the tree, at its end, and where it has no node. */
	if (ftruncate(fd, 100000 * page) || fallocate(fd, 3, 13 * page, 500 * page))
		die("a hole: %s", strerror(errno));
	rename_self(names[HOLES]);
	for (uint64_t at = 0; at < 1200 * page; at += 64 * page)
		count(HOLES, fd, fd, at, 64 * page);
	count(HOLES, fd, fd, 90000 * page, 64 * page);
}

/* ---- calls that fail, and that leave nothing ---- */

static void failing(int fault, int nowait, int uncached)
{
	rename_self(names[FAULT]);
	if (count(FAULT, fault, fault, 16 * page, 16 * page) >= 0)
		die("there is memory at %llu", (unsigned long long)page);
	kinds[FAULT].pending = cached(fault, 0, 0);
	posix_fadvise(fault, 20 * page, 4 * page, POSIX_FADV_DONTNEED);
	kinds[FAULT].unused = kinds[FAULT].pending - cached(fault, 0, 0);
	kinds[FAULT].pending -= kinds[FAULT].unused;
	rename_self(names[NOWAIT]);
	while (count(NOWAIT, nowait, nowait, 0, page) < 0 && errno == EAGAIN)
		pause_ns(1000000);
	kinds[NOWAIT].pending = cached(nowait, 0, 0) - 1;
	rename_self(names[UNCACHED]);
	for (uint64_t at = 0; at < SIZE; at += 65536)
		if (count(UNCACHED, uncached, uncached, at, 65536) < 0 && errno == EOPNOTSUPP)
			break;
}

int main(int argc, char **argv)
{
	int fds[3];

	help_if_asked(argc, argv);
	if (argc != 1)
		misuse("no argument is needed");
	page = sysconf(_SC_PAGESIZE);
	buffer = calloc(1, SIZE);
	if (!buffer)
		die("no memory");
	mount_overlay();
	cached(lower, 0, 0);
	fds[0] = make("fault.data");
	fds[1] = make("nowait.data");
	fds[2] = make("uncached.data");
	reached("ready");
	gate("go");
	overlay();
	tmpfs();
	failing(fds[0], fds[1], fds[2]);
	rename_self("backings");
	reached("done");
	gate("end");
	report_begin();
	for (int k = 0; k < KINDS; k++) {
		put_row_of("function", own_tid(), names[k], "io", kinds[k].count, kinds[k].errors);
		put(",\"hits\":%llu,\"misses\":%llu,\"ahead\":%llu",
		    (unsigned long long)kinds[k].hits, (unsigned long long)kinds[k].misses,
		    (unsigned long long)kinds[k].ahead);
		put(",\"unused\":%llu,\"pending\":%llu}", (unsigned long long)kinds[k].unused,
		    (unsigned long long)kinds[k].pending);
	}
	report_end();
	return 0;
}
