/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * locks: threads that wait for locks of the kernel, each of which one known thread holds.
 *
 *	locks ROUNDS BUSY	waits for five locks, beside BUSY threads that compute
 *	locks many ROUNDS	eight threads that write to one file, ROUNDS times each
 *	locks naps ROUNDS	the same at its position, and each sleeps 2 ms after a call
 *
 * write(2) and fallocate(2) on a memfd hold locks while they copy or allocate.  The page that the
 * holder writes comes from a userfaultfd, so that the holder sleeps with the locks as long as
 * another thread wants it to.  In each round one thread waits, once, and looks at its own clock.
 */
#include "userfault.h"
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>

#define DELAY_NS 10000000ULL
#define BUSY_NS  60000000ULL /* instead, if the waiter has to get a CPU first */
#define LONG_NS  200000
#define SIZE     (192L << 20) /* of what fallocate() allocates */
#define SLOW_NS  60000000     /* if an eighth of that takes as long, that is enough */

static int file, ends[2], sock;
static char *pages; /* not touched yet: they fault */
static long page_size, size = SIZE / 8;
static atomic_int round_of_holder, done_by_holder, round_of_waiter, is_over;
static uint64_t inode_of_pipe;

static void take_position(char *from)
{
	if (write(file, from, 1) != 1)
		die("write: %s", strerror(errno));
}

static void take_inode(char *from)
{
	if (pwrite(file, from, 1, 0) != 1)
		die("pwrite: %s", strerror(errno));
}

static void take_pipe(char *from)
{
	if (write(ends[1], from, 1) != 1)
		die("write to a pipe: %s", strerror(errno));
}

/* The command is copied before the lock of all devices is taken, and the answer while it is held.
 */
static void take_rtnl(char *from)
{
	struct ethtool_value *asked = (void *)(from - sizeof(asked->cmd));
	struct ifreq lo = {.ifr_name = "lo", .ifr_data = (void *)asked};

	asked->cmd = ETHTOOL_GLINK;
	if (ioctl(sock, SIOCETHTOOL, &lo))
		die("SIOCETHTOOL: %s", strerror(errno));
}

static void hold_on_cpu(char *from)
{
	if (fallocate(file, 0, 0, size))
		die("fallocate: %s", strerror(errno));
	if (ftruncate(file, 0))
		die("ftruncate: %s", strerror(errno));
}

/* An emulated machine allocates ten times as slowly. */
static void choose_size(void)
{
	const uint64_t began = now_ns();

	hold_on_cpu(NULL);
	if (now_ns() - began < SLOW_NS)
		size = SIZE;
}

static const struct lock {
	const char *name;
	void (*hold)(char *from);
	void (*wait)(char *from);
} locks[] = {
	{"position", take_position, take_position},
	{"inode", take_inode, take_inode},
	{"pipe", take_pipe, take_pipe},
	{"rtnl", take_rtnl, take_rtnl},
	{"busy-inode", hold_on_cpu, take_inode},
};
#define LOCKS (sizeof(locks) / sizeof(*locks))

struct held {
	struct series waits;
	uint64_t cpu, delay; /* ns of the holder: on a CPU, waiting for one, in all of its calls */
	uint64_t wall;
	uint64_t waiter_delay; /* of the waiter, in its calls */
	uint64_t n_long;       /* waits that certainly were */
	char asleep[64];       /* where the holder sleeps, as the kernel says */
};

static struct held held[LOCKS];
static int rounds;
static pid_t holder_tid, waiter_tid;

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static uint64_t own_delay_ns(int schedstat)
{
	unsigned long long cpu, delay = 0;
	char text[128] = "";

	if (syscall(SYS_pread64, schedstat, text, sizeof(text) - 1, (off_t)0) > 0)
		sscanf(text, "%llu %llu", &cpu, &delay);
	return delay;
}

static void *hold(void *arg)
{
	int n = 0, schedstat;

	rename_self("l-holder");
	holder_tid = own_tid();
	schedstat = open_of_thread(getpid(), holder_tid, "schedstat");
	for (size_t i = 0; i < LOCKS; i++)
		for (int r = 0; r < rounds; r++) {
			uint64_t wall, cpu, delay;

			while (atomic_load(&round_of_waiter) < n)
				pause_ns(200000);
			n++;
			delay = own_delay_ns(schedstat);
			cpu = own_cpu_ns();
			wall = now_ns();
			atomic_store(&round_of_holder, n);
			locks[i].hold(pages + n * page_size);
			atomic_store(&done_by_holder, n);
			held[i].wall += now_ns() - wall;
			held[i].cpu += own_cpu_ns() - cpu;
			held[i].delay += own_delay_ns(schedstat) - delay;
		}
	return arg;
}

/* Whether the holder sleeps, and where. */
static bool read_wchan(char *asleep, size_t size)
{
	int f = open_of_thread(getpid(), holder_tid, "wchan");
	char text[64] = "";
	const bool is_asleep = read(f, text, sizeof(text) - 1) > 1;

	if (is_asleep)
		snprintf(asleep, size, "%s", text);
	close(f);
	return is_asleep;
}

static bool allocates(void)
{
	struct stat st;

	if (fstat(file, &st))
		die("fstat: %s", strerror(errno));
	return st.st_blocks > 64; /* of another round is one page */
}

/* In round N the holder has the lock once it sleeps, or allocates; it may be late. */
static void await_held(size_t i, int n)
{
	struct held *h = &held[i];

	do
		pause_ns(500000);
	while (!(locks[i].hold == hold_on_cpu ? allocates()
					      : read_wchan(h->asleep, sizeof(h->asleep))) &&
	       atomic_load(&done_by_holder) < n);
}

static void *wait_for(void *arg)
{
	int n = 0, schedstat;
	char bytes[16] __attribute__((aligned(8))) = {};

	rename_self("l-waiter");
	waiter_tid = own_tid();
	schedstat = open_of_thread(getpid(), waiter_tid, "schedstat");
	for (size_t i = 0; i < LOCKS; i++) {
		series_init(&held[i].waits, rounds);
		for (int r = 0; r < rounds; r++) {
			uint64_t began, delay, ns;

			n++;
			while (atomic_load(&round_of_holder) < n)
				pause_ns(200000);
			await_held(i, n);
			delay = own_delay_ns(schedstat);
			began = now_ns();
			locks[i].wait(bytes + 4);
			ns = now_ns() - began;
			series_add(&held[i].waits, ns, false);
			held[i].n_long += ns >= LONG_NS;
			held[i].waiter_delay += own_delay_ns(schedstat) - delay;
			atomic_store(&round_of_waiter, n);
		}
	}
	return arg;
}

static void *compute(void *arg)
{
	rename_self("l-busy");
	while (!atomic_load(&is_over))
		;
	return arg;
}

static void start_thread(pthread_t *t, void *(*run)(void *))
{
	if (pthread_create(t, NULL, run, NULL))
		die("pthread_create");
}

static void wait_for_locks(int busy)
{
	const size_t length = (LOCKS * rounds + 2) * page_size;
	pthread_t busy_threads[16], holder, waiter;
	static char page[65536] __attribute__((aligned(65536)));

	pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	if (!userfault_begin(pages, length, page, page_size, busy ? BUSY_NS : DELAY_NS))
		exit(WORKLOAD_SKIP);
	choose_size();
	reached("ready");
	gate("go");
	for (int i = 0; i < busy; i++)
		start_thread(&busy_threads[i], compute);
	start_thread(&waiter, wait_for);
	start_thread(&holder, hold);
	pthread_join(holder, NULL);
	pthread_join(waiter, NULL);
	atomic_store(&is_over, 1);
	for (int i = 0; i < busy; i++)
		pthread_join(busy_threads[i], NULL);
	report_begin();
	for (size_t i = 0; i < LOCKS; i++) {
		put_row_of("lock", waiter_tid, "l-waiter", locks[i].name, held[i].waits.count, 0);
		put(",\"holder\":%d,\"inode\":%llu,\"cpu\":%llu,\"delay\":%llu,\"wall\":%llu,",
		    holder_tid, (unsigned long long)inode_of_pipe, (unsigned long long)held[i].cpu,
		    (unsigned long long)held[i].delay, (unsigned long long)held[i].wall);
		put("\"waiter_delay\":%llu,\"long\":%llu,\"asleep\":\"%s\",",
		    (unsigned long long)held[i].waiter_delay, (unsigned long long)held[i].n_long,
		    held[i].asleep);
		put_figures(&held[i].waits);
		put("}");
	}
}

/* ---- eight threads ---- */

#define MANY 8

struct writer {
	pthread_t thread;
	pid_t tid;
	uint64_t wall, cpu, delay;
};
static struct writer writers[MANY];
static bool naps;

static void *write_much(void *arg)
{
	static char from[65536];
	struct writer *w = arg;
	uint64_t cpu, delay, wall;
	int schedstat;

	rename_self("l-many");
	w->tid = own_tid();
	schedstat = open_of_thread(getpid(), w->tid, "schedstat");
	delay = own_delay_ns(schedstat);
	cpu = own_cpu_ns();
	wall = now_ns();
	for (int i = 0; i < rounds; i++) {
		if ((naps ? write(file, from, sizeof(from))
			  : pwrite(file, from, sizeof(from), 0)) != sizeof(from))
			die("write: %s", strerror(errno));
		if (naps && lseek(file, 0, SEEK_SET))
			die("lseek: %s", strerror(errno));
		if (naps)
			pause_ns(2000000);
	}
	w->wall = now_ns() - wall;
	w->cpu = own_cpu_ns() - cpu;
	w->delay = own_delay_ns(schedstat) - delay;
	return arg;
}

static void write_many(void)
{
	reached("ready");
	gate("go");
	for (int i = 0; i < MANY; i++)
		if (pthread_create(&writers[i].thread, NULL, write_much, &writers[i]))
			die("pthread_create");
	for (int i = 0; i < MANY; i++)
		pthread_join(writers[i].thread, NULL);
	report_begin();
	for (int i = 0; i < MANY; i++) {
		put_row_of("lock", writers[i].tid, "l-many", "inode", rounds, 0);
		put(",\"cpu\":%llu,\"delay\":%llu,\"wall\":%llu}",
		    (unsigned long long)writers[i].cpu, (unsigned long long)writers[i].delay,
		    (unsigned long long)writers[i].wall);
	}
}

/* A file that is opened by its path has a lock for its position, which a memfd itself has not. */
static int opened_memfd(void)
{
	char path[64];
	int fd = memfd_create("locks", MFD_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = fd < 0 ? fd : open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("memfd_create: %s", strerror(errno));
	return fd;
}

int main(int argc, char **argv)
{
	const bool many = argc == 3 && (!strcmp(argv[1], "many") || !strcmp(argv[1], "naps"));
	struct stat st;

	if (argc != 3)
		die("usage: locks ROUNDS BUSY | locks many ROUNDS | locks naps ROUNDS");
	naps = many && *argv[1] == 'n';
	rounds = atoi(argv[many ? 2 : 1]);
	page_size = sysconf(_SC_PAGESIZE);
	file = opened_memfd();
	make_pipe(ends);
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fstat(ends[0], &st))
		die("fstat");
	inode_of_pipe = st.st_ino;
	if (many)
		write_many();
	else
		wait_for_locks(atoi(argv[2]));
	report_end();
	return 0;
}
