// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * faults: page faults of each kind.
 *
 * The thread has a name in each part ("f-anon", ...), so that a report by name separates them.  A
 * part has the time of each touch by the thread's own clock, which is at least that of the fault,
 * and the faults that the kernel counted meanwhile (getrusage).
 *
 * Series are written before the parts begin, so that they do not fault themselves.
 */
#include "workload.h"
#include "swap.h"
#include "userfault.h"
#include <setjmp.h>
#include <sys/resource.h>

const char usage[] =
	"Usage: faults [THREADS]\n"
	"       faults stuck\n"
	"Touch 1009 anonymous pages, 211 of the heap, 53 of the stack, 307 shared "
	"after a fork, 101\n"
	"of a file in memory and 101 not in memory, 59 first by the kernel, 23 whose "
	"page comes after\n"
	"3 ms, 41 in a swap area if there is one, and 31 that may not be touched; lock "
	"37 pages. With THREADS only 2003 "
	"anonymous pages\n"
	"in each thread. With stuck, one page only, which comes when the gate leave "
	"is open.\n"
	"\n"
	"Gates: ready, go, done, leave.\n";

#define ANON      1009
#define HEAP      211
#define STACK     53
#define COW       307
#define FILE_N    101
#define KERNEL    59
#define SLOW      23
#define SLOW_NS   3000000
#define SWAPPED   41
#define FORBIDDEN 31
#define LOCKED    37
#define EACH      2003
/* The kernel maps up to 64 KiB around a page of a file. */
#define APART 16

static long size;
static bool stuck; /* the page of the only fault comes when a gate is opened */

struct part {
	const char *name;
	struct series touches;
	struct rusage before, after;
};

static void count(struct rusage *r)
{
	if (getrusage(RUSAGE_THREAD, r))
		die("getrusage: %s", strerror(errno));
}

static void part_init(struct part *p, uint64_t room)
{
	series_init(&p->touches, room);
	memset(p->touches.ns, 1, room * sizeof(*p->touches.ns));
	count(&p->before);
	count(&p->after);
}

static void part_begin(struct part *p)
{
	rename_self(p->name);
	count(&p->before);
}

static void part_end(struct part *p)
{
	count(&p->after);
	rename_self("faults");
}

static void touch(struct part *p, volatile char *at, bool write)
{
	uint64_t start = now_ns();

	if (write)
		*at = 1;
	else
		(void)*at;
	series_add(&p->touches, now_ns() - start, false);
}

static char *map(size_t pages)
{
	char *at = mmap(NULL, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	if (at == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	madvise(at, pages * size, MADV_NOHUGEPAGE);
	return at;
}

static void touch_pages(struct part *p, char *at, size_t pages, size_t apart, bool write)
{
	part_begin(p);
	for (size_t i = 0; i < pages; i++)
		touch(p, at + i * apart * size, write);
	part_end(p);
}

static void touch_anonymous(struct part *p)
{
	part_init(p, ANON);
	touch_pages(p, map(ANON), ANON, 1, true);
}

static void touch_heap(struct part *p)
{
	char *at;

	part_init(p, HEAP);
	at = (char *)(((uintptr_t)sbrk((HEAP + 1) * size) + size - 1) & -size);
	madvise(at, HEAP * size, MADV_NOHUGEPAGE);
	touch_pages(p, at, HEAP, 1, true);
}

/* Two huge pages, if the machine has some. */
static void touch_huge(struct part *p)
{
	const size_t huge = 2 << 20;
	char *at = mmap(NULL, 2 * huge, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	part_init(p, 2);
	if (at == MAP_FAILED)
		return;
	touch_pages(p, at, 2, huge / size, true);
	munmap(at, 2 * huge);
}

/* The stack grows downward; no call has used the pages so far below this frame. */
static void touch_stack(struct part *p)
{
	volatile char *at;

	part_init(p, STACK);
	at = (char *)(((uintptr_t)__builtin_frame_address(0) & -size) - 64 * size);
	part_begin(p);
	for (size_t i = 1; i <= STACK; i++)
		touch(p, at - i * size, true);
	part_end(p);
}

static void touch_copied(struct part *p)
{
	char *at = map(COW);
	pid_t child;

	memset(at, 1, COW * size);
	part_init(p, COW);
	child = fork_or_die();
	if (!child) {
		pause();
		_exit(0);
	}
	/* The fork made all pages of this process read-only: those of the part fault before it. */
	memset(p->touches.ns, 1, COW * sizeof(*p->touches.ns));
	count(&p->before);
	count(&p->after);
	touch_pages(p, at, COW, 1, true);
	kill(child, SIGKILL);
	reap(child);
}

/* COLD: the pages are dropped from the memory first, if the file system has a disk. */
static void touch_file(struct part *p, const char *path, bool cold)
{
	const size_t length = FILE_N * APART * size;
	int fd = open_uncounted(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC);
	char *at = map(FILE_N * APART);

	part_init(p, FILE_N);
	memset(at, 1, length);
	if (fd < 0 || write(fd, at, length) != (ssize_t)length || fsync(fd))
		die("%s: %s", path, strerror(errno));
	if (cold && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		die("posix_fadvise: %s", strerror(errno));
	at = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	madvise(at, length, MADV_RANDOM);
	touch_pages(p, at, FILE_N, APART, false);
	unlink(path);
}

static void touch_warm(struct part *p)
{
	touch_file(p, "warm.data", false);
}

static void touch_cold(struct part *p)
{
	touch_file(p, "cold.data", true);
}

/* The kernel writes what is read from a pipe. */
static void touch_by_kernel(struct part *p)
{
	char *at = map(KERNEL), byte = 1;
	uint64_t start;
	int ends[2];

	part_init(p, KERNEL);
	make_pipe(ends);
	part_begin(p);
	for (size_t i = 0; i < KERNEL; i++) {
		if (write(ends[1], &byte, 1) != 1)
			die("write: %s", strerror(errno));
		start = now_ns();
		if (read(ends[0], at + i * size, 1) != 1)
			die("read: %s", strerror(errno));
		series_add(&p->touches, now_ns() - start, false);
	}
	part_end(p);
}

/* Where there is no swap area, no touches. */
static void touch_swapped(struct part *p)
{
	char *at = map(SWAPPED);

	memset(at, 1, SWAPPED * size);
	part_init(p, SWAPPED);
	if (swap_out(at, SWAPPED, size))
		touch_pages(p, at, SWAPPED, 1, true);
}

/* ---- faults that another thread resolves ---- */

static void touch_slowly(struct part *p)
{
	const size_t n = stuck ? 1 : SLOW;
	char *at = map(n);

	part_init(p, n);
	/* Where the kernel has none, no touches. */
	if (userfault_begin(at, n * size, map(1), size, stuck ? 0 : SLOW_NS))
		touch_pages(p, at, n, 1, true);
}

/* ---- faults that fail ---- */

static sigjmp_buf back;

static void go_back(int signal)
{
	siglongjmp(back, 1);
}

static void touch_forbidden(struct part *p)
{
	char *at = mmap(NULL, FORBIDDEN * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile size_t i;

	part_init(p, FORBIDDEN);
	signal(SIGSEGV, go_back);
	if (!sigsetjmp(back, 1)) /* once before: then the pages of the signal are in use */
		*(volatile char *)at = 1;
	part_begin(p);
	for (i = 0; i < FORBIDDEN; i++)
		if (!sigsetjmp(back, 1))
			touch(p, at + i * size, true);
	part_end(p);
	signal(SIGSEGV, SIG_DFL);
}

/* The kernel makes these pages present without an exception. */
static void lock_pages(struct part *p)
{
	char *at = map(LOCKED);

	part_init(p, 0);
	part_begin(p);
	if (mlock(at, LOCKED * size))
		die("mlock: %s", strerror(errno));
	part_end(p);
}

/* ---- */

static const struct {
	const char *name;
	void (*run)(struct part *p);
} parts[] = {
	{"f-anon", touch_anonymous},      {"f-heap", touch_heap},   {"f-stack", touch_stack},
	{"f-cow", touch_copied},          {"f-warm", touch_warm},   {"f-cold", touch_cold},
	{"f-kernel", touch_by_kernel},    {"f-slow", touch_slowly}, {"f-locked", lock_pages},
	{"f-forbidden", touch_forbidden}, {"f-huge", touch_huge},   {"f-swap", touch_swapped},
};

#define PARTS (sizeof(parts) / sizeof(*parts))

static void put_part(struct part *p, pid_t tid)
{
	put_row_of("part", tid, p->name, p->name, p->touches.count, 0);
	put(",\"minor\":%ld,\"major\":%ld,", p->after.ru_minflt - p->before.ru_minflt,
	    p->after.ru_majflt - p->before.ru_majflt);
	put_figures(&p->touches);
	put("}");
}

struct thread {
	pthread_t thread;
	pid_t tid;
	struct part part;
	char name[16];
};

static pthread_barrier_t begin;

static void *touch_in_thread(void *arg)
{
	struct thread *t = arg;
	char *at = map(EACH);

	t->tid = own_tid();
	part_init(&t->part, EACH);
	pthread_barrier_wait(&begin);
	touch_pages(&t->part, at, EACH, 1, true);
	return NULL;
}

static void run_threads(uint64_t n)
{
	struct thread *threads = calloc(n, sizeof(*threads));

	if (!threads || pthread_barrier_init(&begin, NULL, n))
		die("no memory");
	for (uint64_t i = 0; i < n; i++) {
		snprintf(threads[i].name, sizeof(threads[i].name), "f-thread%u", (unsigned int)i);
		threads[i].part.name = threads[i].name;
		if (pthread_create(&threads[i].thread, NULL, touch_in_thread, &threads[i]))
			die("pthread_create");
	}
	for (uint64_t i = 0; i < n; i++)
		pthread_join(threads[i].thread, NULL);
	report_begin();
	for (uint64_t i = 0; i < n; i++)
		put_part(&threads[i].part, threads[i].tid);
	report_end();
	free(threads);
}

static void run_parts(void)
{
	static struct part done[PARTS];

	for (size_t i = 0; i < PARTS; i++) {
		done[i].name = parts[i].name;
		parts[i].run(&done[i]);
	}
	report_begin();
	for (size_t i = 0; i < PARTS; i++)
		put_part(&done[i], own_tid());
	report_end();
}

int main(int argc, char **argv)
{
	help_if_asked(argc, argv);
	if (argc > 2)
		misuse("at most one argument");
	size = sysconf(_SC_PAGESIZE);
	reached("ready");
	gate("go");
	stuck = argc > 1 && !strcmp(argv[1], "stuck");
	if (stuck)
		touch_slowly(&(struct part){.name = "f-stuck"});
	else if (argc > 1)
		run_threads(parse_number(argv[1], "THREADS", 1, 64));
	else
		run_parts();
	reached("done");
	gate("leave");
	return 0;
}
