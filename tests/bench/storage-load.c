/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * storage-load: what the benchmark of storage and memory measures.
 *
 * storage-load WHAT... prints `ready PID`, then for each line `N MILLISECONDS` on stdin it
 * does the N-th WHAT, from 1 on, and answers
 *
 *	MEDIAN MINIMUM CALLS
 *
 * ns per call over batches, and how many it made, as spin does.  storage-load CALLS WHAT does it so
 * many times, without a line, and ends.  WHAT is
 *
 *	fault             an anonymous page: madvise(), which takes it away, and a minor fault
 *	alloc             access(""), which allocates one object of the kernel, and frees it
 *	read:FILE         a read of 4 KiB of FILE, in the page cache
 *	pages:FILE        the same of another page each time
 *	write:FILE        a write of 4 KiB to FILE, in the page cache
 *	miss:FILE         a read of 4 KiB of FILE, for which the page is removed from the page cache
 *	block:FILE:DEPTH  a direct read of 4 KiB of FILE, DEPTH of which are in flight at once
 *
 * Time is the thread's CPU time, as in spin; of block, which others complete, it is elapsed time.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_LOADS   8
#define MAX_DEPTH   64
#define MAX_BATCHES 65536
#define BYTES       4096

struct load {
	void (*call)(struct load *load);
	clockid_t clock;
	int batch; /* calls, about a millisecond where these are emulated */
	int file, depth;
	off_t at, end;
	char *page;
	aio_context_t aio;
};

static void die(const char *what)
{
	fprintf(stderr, "storage-load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void make_fault(struct load *load)
{
	madvise(load->page, BYTES, MADV_DONTNEED);
	*(volatile char *)load->page = 1;
}

static void make_alloc(struct load *load)
{
	access("", F_OK);
}

static void make_read(struct load *load)
{
	if (pread(load->file, load->page, BYTES, 0) != BYTES)
		die("pread");
}

/* No two in flight are of the same sector, or of neighbours, which the kernel would merge. */
static off_t next_page(struct load *load)
{
	off_t at = load->at;

	load->at = at + 3 * BYTES > load->end ? 0 : at + 2 * BYTES;
	return at;
}

static void make_request(struct load *load)
{
	if (pread(load->file, load->page, BYTES, next_page(load)) != BYTES)
		die("pread");
}

static void make_write(struct load *load)
{
	if (pwrite(load->file, load->page, BYTES, 0) != BYTES)
		die("pwrite");
}

static void make_miss(struct load *load)
{
	if (posix_fadvise(load->file, load->at, BYTES, POSIX_FADV_DONTNEED))
		die("posix_fadvise");
	make_request(load);
}

static void make_requests(struct load *load)
{
	struct iocb all[MAX_DEPTH] = {}, *pointers[MAX_DEPTH];
	struct io_event events[MAX_DEPTH];
	int i, done = 0, n;

	for (i = 0; i < load->depth; i++) {
		all[i].aio_lio_opcode = IOCB_CMD_PREAD;
		all[i].aio_fildes = load->file;
		all[i].aio_buf = (uintptr_t)(load->page + i * BYTES);
		all[i].aio_nbytes = BYTES;
		all[i].aio_offset = next_page(load);
		pointers[i] = &all[i];
	}
	if (syscall(SYS_io_submit, load->aio, load->depth, pointers) != load->depth)
		die("io_submit");
	while (done < load->depth) {
		n = syscall(SYS_io_getevents, load->aio, load->depth - done, load->depth - done,
			    events + done, NULL);
		if (n < 0)
			die("io_getevents");
		done += n;
	}
	for (i = 0; i < load->depth; i++)
		if (events[i].res != BYTES) {
			errno = events[i].res < 0 ? -events[i].res : EIO;
			die("direct read");
		}
}

static void open_file(struct load *load, char *path, int flags)
{
	load->file = open(path, flags);
	if (load->file < 0)
		die(path);
	load->end = lseek(load->file, 0, SEEK_END);
}

static int parse_block(struct load *load, char *path)
{
	char *depth = strrchr(path, ':'), rest;

	if (!depth || sscanf(depth, ":%d%c", &load->depth, &rest) != 1 || load->depth < 1 ||
	    load->depth > MAX_DEPTH)
		return 0;
	*depth = '\0';
	open_file(load, path, O_RDONLY | O_DIRECT);
	load->clock = CLOCK_MONOTONIC;
	load->batch = 64;
	load->call = load->depth > 1 ? make_requests : make_request;
	if (load->depth > 1 && syscall(SYS_io_setup, load->depth, &load->aio))
		die("io_setup");
	return 1;
}

/* From now on its pages are read one by one, also those that are in memory now. */
static void prepare_misses(struct load *load)
{
	if (fdatasync(load->file) || posix_fadvise(load->file, 0, 0, POSIX_FADV_DONTNEED) ||
	    posix_fadvise(load->file, 0, 0, POSIX_FADV_RANDOM))
		die("posix_fadvise");
}

static int parse(struct load *load, char *what)
{
	*load = (struct load){.clock = CLOCK_THREAD_CPUTIME_ID, .batch = 200, .depth = 1};
	load->page = mmap(NULL, MAX_DEPTH * BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (load->page == MAP_FAILED)
		die("mmap");
	/* Otherwise the fault is one of a huge page. */
	if (madvise(load->page, MAX_DEPTH * BYTES, MADV_NOHUGEPAGE) && errno != EINVAL)
		die("madvise");
	if (!strcmp(what, "fault")) {
		load->call = make_fault;
		load->batch = 50;
	} else if (!strcmp(what, "alloc")) {
		load->call = make_alloc;
	} else if (!strncmp(what, "read:", 5)) {
		load->call = make_read;
		open_file(load, what + 5, O_RDONLY);
	} else if (!strncmp(what, "pages:", 6)) {
		load->call = make_request;
		open_file(load, what + 6, O_RDONLY);
	} else if (!strncmp(what, "write:", 6)) {
		load->call = make_write;
		open_file(load, what + 6, O_RDWR);
	} else if (!strncmp(what, "miss:", 5)) {
		load->call = make_miss;
		open_file(load, what + 5, O_RDWR);
		prepare_misses(load);
	} else if (strncmp(what, "block:", 6) || !parse_block(load, what + 6)) {
		return 0;
	}
	return 1;
}

/* The last CPU that we may use: interrupts favour the low ones. */
static void pin(void)
{
	cpu_set_t allowed, one;
	int cpu = CPU_SETSIZE - 1;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		die("sched_getaffinity");
	while (cpu > 0 && !CPU_ISSET(cpu, &allowed))
		cpu--;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		die("sched_setaffinity");
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void run(struct load *load, double ms)
{
	static double all[MAX_BATCHES];
	double deadline = now(CLOCK_MONOTONIC) + ms * 1e6, began;
	int times = load->batch / load->depth, i;
	size_t n = 0;
	int first = 1;

	while (!n || (n < MAX_BATCHES && now(CLOCK_MONOTONIC) < deadline)) {
		began = now(load->clock);
		for (i = 0; i < times; i++)
			load->call(load);
		all[n] = (now(load->clock) - began) / (times * load->depth);
		/* The first batch warms the caches and makes the tracer's state. */
		if (first)
			first = 0;
		else
			n++;
	}
	qsort(all, n, sizeof(*all), by_value);
	printf("%.2f %.2f %zu\n", all[n / 2], all[0], (n + 1) * times * load->depth);
}

/* The last ones are fewer at once. */
static void make_calls(struct load *load, unsigned long calls)
{
	for (; calls >= (unsigned long)load->depth; calls -= load->depth)
		load->call(load);
	load->depth = calls;
	if (calls)
		load->call(load);
}

int main(int argc, char **argv)
{
	static struct load loads[MAX_LOADS];
	unsigned long calls = 0;
	char line[64], rest;
	int n = 0, i;
	double ms;

	if (argc == 3 && sscanf(argv[1], "%lu%c", &calls, &rest) == 1)
		argv++, argc--;
	while (n < MAX_LOADS && n < argc - 1 && parse(&loads[n], argv[n + 1]))
		n++;
	if (!n || n < argc - 1) {
		fprintf(stderr,
			"usage: storage-load [CALLS] fault|alloc|read:FILE|block:FILE:DEPTH…\n");
		return 2;
	}
	pin();
	if (calls) {
		make_calls(&loads[0], calls);
		return 0;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", getpid());
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%d %lf", &i, &ms) != 2 || i < 1 || i > n) {
			fprintf(stderr, "storage-load: expected 1 to %d and milliseconds\n", n);
			return 2;
		}
		run(&loads[i - 1], ms);
	}
	return 0;
}
