/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * owners: eight busy threads that take one lock of the kernel in turns, in an order that is known.
 *
 *	owners position ROUNDS US	the position of a file, a mutex
 *	owners inode ROUNDS US		its i_rwsem, as writers
 *
 * Each thread computes, then writes a page that comes from a userfaultfd, ROUNDS times.  It faults
 * once it has the lock, so that who has it is known by the faults, one after the other; the page
 * comes after US us, and more is copied then.  Threads compute for so long that the lock is free at
 *times.
 *
 * A row is a call: "comm" is the thread's name in it, "turn" the number of its turn.  It "began",
 *had the lock when its fault "came", and until its page came, after "goes", all in ns.  If it
 *"waits", another thread was waiting for its page when it began.
 */
#include "userfault.h"

#define THREADS 8

struct turn {
	uint64_t came, goes; /* ns: its fault, and when its page was about to come */
};

static struct call {
	char comm[16];
	uint64_t began;
	long turn;
} * calls; /* of each thread, one after the other */

static struct turn *turns;
static long n_turns, rounds, page_size;
static int file;
static bool by_position;
static uint64_t hold_ns;
static char more[256 << 10]; /* what is copied then, on a CPU */
static ssize_t n_more;
static char *pages;

static void hold(uint64_t address)
{
	struct turn *t = &turns[n_turns];

	t->came = now_ns();
	calls[(address - (uintptr_t)pages) / page_size].turn = n_turns++;
	pause_ns(hold_ns);
	t->goes = now_ns();
}

static void compute(uint64_t ns)
{
	for (uint64_t end = now_ns() + ns; now_ns() < end;)
		;
}

static void *take_turns(void *arg)
{
	const long thread = (intptr_t)arg;
	unsigned int seed = thread;
	ssize_t n;

	for (long i = thread * rounds; i < (thread + 1) * rounds; i++) {
		const struct iovec from[2] = {{pages + i * page_size, 1}, {more, n_more}};

		snprintf(calls[i].comm, sizeof(calls[i].comm), "o-%ld-%ld", thread,
			 i - thread * rounds);
		rename_self(calls[i].comm);
		compute(rand_r(&seed) % (2 * THREADS * hold_ns));
		calls[i].began = now_ns();
		n = by_position ? writev(file, from, 2) : pwritev(file, from, 2, 0);
		if (n != 1 + n_more)
			die("write: %s", strerror(errno));
	}
	return (void *)(intptr_t)own_tid();
}

static void put_call(const struct call *c, pid_t tid)
{
	const struct turn *own = &turns[c->turn], *had = own;

	while (had > turns && had->came > c->began)
		had--;
	put_row_of("lock", tid, c->comm, by_position ? "position" : "inode", 1, 0);
	put(",\"turn\":%ld,\"began\":%llu,\"came\":%llu,\"goes\":%llu,\"waits\":%s}", c->turn,
	    (unsigned long long)c->began, (unsigned long long)own->came,
	    (unsigned long long)own->goes,
	    had->came <= c->began && c->began + hold_ns / 2 < had->goes ? "true" : "false");
}

/* A file that is opened by its path has a lock for its position, which a memfd itself has not. */
static int opened_memfd(void)
{
	char path[64];
	int fd = memfd_create("owners", MFD_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = fd < 0 ? fd : open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("memfd_create: %s", strerror(errno));
	return fd;
}

int main(int argc, char **argv)
{
	static char page[65536] __attribute__((aligned(65536)));
	pthread_t threads[THREADS];
	size_t length;
	void *tids[THREADS];

	if (argc != 4)
		die("usage: owners position|inode ROUNDS US");
	by_position = !strcmp(argv[1], "position");
	n_more = by_position ? sizeof(more) / 16 : sizeof(more);
	rounds = atol(argv[2]);
	hold_ns = atol(argv[3]) * 1000;
	page_size = sysconf(_SC_PAGESIZE);
	file = opened_memfd();
	length = THREADS * rounds * page_size;
	calls = calloc(THREADS * rounds, sizeof(*calls));
	turns = calloc(THREADS * rounds, sizeof(*turns));
	pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!calls || !turns || pages == MAP_FAILED)
		die("no memory");
	userfault.hold = hold;
	if (!userfault_begin(pages, length, page, page_size, 0))
		exit(WORKLOAD_SKIP);
	reached("ready");
	gate("go");
	for (intptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, take_turns, (void *)i))
			die("pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], &tids[i]);
	report_begin();
	for (long i = 0; i < THREADS * rounds; i++)
		put_call(&calls[i], (intptr_t)tids[i / rounds]);
	report_end();
	return 0;
}
