// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* held: calls that the kernel holds on their way out, each between two reads of the clock. */
#include "timed.h"
#include "addresses.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

const char usage[] =
	"Usage: held MS ppoll BUSY [CGROUP.PROCS...]\n"
	"       held MS write FILE [CGROUP.PROCS...]\n"
	"       held MS read FILE [CGROUP.PROCS...]\n"
	"       held MS touch KEPT [CGROUP.PROCS...]\n"
	"       held MS sendto SIZE [CGROUP.PROCS...]\n"
	"\n"
	"For MS, or 500,000 calls, asks 8000 times about one pipe by each call of ppoll, beside\n"
	"BUSY threads that only compute; or writes 64 kB to FILE by each call of write, at most\n"
	"200; or reads 4 MB of FILE, which it first writes, by each call of pread64, with a\n"
	"call of ppoll after each that is not timed; or touches 2 MB of memory, a huge page if\n"
	"there are some, by each fault, and gives the memory back after KEPT of them (the thread\n"
	"is then named held-touch); or sends SIZE bytes over TCP, to a process that receives\n"
	"them. The process first enters each cgroup, the receiver does not.\n"
	"Times are between reads of the clock around a call, ns; \"clock\" is the sum of as many\n"
	"reads with nothing between; \"long\" are those of 1 ms and more, the last 4000;\n"
	"\"faults\" are the thread's page faults by the kernel's account. \"sure\" is without the\n"
	"\"stopped\" calls, after which the thread's own instructions lost the CPU between the\n"
	"reads: their number, their sum, and in \"least\" the times at the ranks of the "
	"percentiles of all, less\n"
	"STOPPED, and the 15 below each, in falling order; without rseq(2) there are none.\n"
	"Gates: ready, go.\n";

#define MOST       500000
#define WRITES     200
#define ASKED      8000
#define FILE_BYTES (4 << 20)
#define LONG       1000000 /* ns */
#define LONGS      4000
#define SIZE       (1 << 20) /* at most */
#define NEIGHBOURS 16

static void enter(const char *path)
{
	int fd = open_uncounted(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || writev(fd, &(struct iovec){"0", 1}, 1) != 1)
		die("%s: %s", path, strerror(errno));
	close(fd);
}

static void *compute(void *arg)
{
	for (;;)
		__asm__ volatile("" ::: "memory");
	return arg;
}

static long faults_so_far(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

/* All calls, and those whose time is known to be no longer than the call. */
struct timed {
	struct series all, sure;
};

static void add(struct timed *t, uint64_t ticks, bool stopped)
{
	series_add(&t->all, ticks, false);
	if (!stopped && timed_knows())
		series_add(&t->sure, ticks, false);
}

struct moment {
	uint64_t ns, ticks;
};

/* Of some reads of both clocks, those that are closest together: the thread can lose its CPU. */
static struct moment moment(void)
{
	uint64_t before, ns, apart, closest = UINT64_MAX;
	struct moment m = {0};

	for (int i = 0; i < 20; i++) {
		before = timed_now();
		ns = now_ns();
		apart = timed_now() - before;
		if (apart < closest) {
			closest = apart;
			m = (struct moment){.ns = ns, .ticks = before + apart / 2};
		}
	}
	return m;
}

static void to_ns(struct timed *t, double factor)
{
	for (uint64_t i = 0; i < t->all.count; i++)
		t->all.ns[i] = (uint64_t)((double)t->all.ns[i] * factor);
	for (uint64_t i = 0; i < t->sure.count; i++)
		t->sure.ns[i] = (uint64_t)((double)t->sure.ns[i] * factor);
}

/* The percentiles of all calls are at least those of these. */
static void put_sure(struct series *sure, uint64_t all)
{
	static const struct {
		const char *name;
		uint64_t per_mille;
	} ranks[] = {{"99", 990}, {"99.9", 999}, {"100", 1000}};
	uint64_t sum = 0, rank, least;

	qsort(sure->ns, sure->count, sizeof(*sure->ns), compare_ns);
	for (uint64_t i = 0; i < sure->count; i++)
		sum += sure->ns[i];
	put("\"sure\":{\"stopped\":%llu,\"sum\":%llu,\"least\":{",
	    (unsigned long long)(all - sure->count), (unsigned long long)sum);
	for (int r = 0; r < 3; r++) {
		put("%s\"%s\":[", r ? "," : "", ranks[r].name);
		rank = (all * ranks[r].per_mille + 999) / 1000;
		least = rank + sure->count > all ? rank + sure->count - all : 0;
		for (int i = 0; i<NEIGHBOURS; i++, least -= least> 0)
			put("%s%llu", i ? "," : "",
			    least ? (unsigned long long)sure->ns[least - 1] : 0ULL);
		put("]");
	}
	put("}},");
}

static void report(const char *what, struct timed *calls, long faults)
{
	struct series *all = &calls->all;
	uint64_t clock = 0, began, longs = 0, i = all->count;

	while (i && longs < LONGS)
		longs += all->ns[--i] >= LONG;
	for (int n = 0; n < 1000; n++) {
		began = now_ns();
		clock += now_ns() - began;
	}
	report_begin();
	put_row(own_tid(), "held", what, all->count, 0);
	put(",\"long\":[");
	for (bool first = true; i < all->count; i++)
		if (all->ns[i] >= LONG) {
			put(first ? "%llu" : ",%llu", (unsigned long long)all->ns[i]);
			first = false;
		}
	put("],\"faults\":%ld,", faults);
	put_sure(&calls->sure, all->count);
	put_figures(all);
	put(",\"clock\":%llu}", (unsigned long long)clock * all->count / 1000);
	report_end();
}

static bool goes_on(const struct timed *calls, uint64_t end, uint64_t most)
{
	return now_ns() < end && calls->all.count < most;
}

static void poll_until(uint64_t end, struct timed *calls)
{
	static const struct timespec at_once;
	static struct pollfd asked[ASKED];
	uint64_t ticks;
	bool stopped;
	int ends[2];
	long result;

	make_pipe(ends);
	for (int i = 0; i < ASKED; i++)
		asked[i] = (struct pollfd){.fd = ends[0], .events = POLLIN};
	while (goes_on(calls, end, MOST)) {
		stopped = false;
		ticks = timed_call(&stopped, &result, SYS_ppoll, (long)asked, (void *)ASKED,
				   (long)&at_once, 0);
		if (result)
			die("ppoll: %ld", result);
		add(calls, ticks, stopped);
	}
}

/* Waits on the way out of ppoll are not the read's. */
static void read_until(int fd, uint64_t end, struct timed *calls)
{
	static const struct timespec at_once;
	static struct pollfd asked[ASKED];
	static char block[FILE_BYTES];
	uint64_t ticks;
	bool stopped;
	long result;

	for (int i = 0; i < ASKED; i++)
		asked[i] = (struct pollfd){.fd = fd, .events = POLLPRI};
	while (goes_on(calls, end, MOST)) {
		stopped = false;
		ticks = timed_call(&stopped, &result, SYS_pread64, fd, block, sizeof(block), 0);
		if (result != sizeof(block))
			die("pread: %ld", result);
		add(calls, ticks, stopped);
		if (syscall(SYS_ppoll, asked, ASKED / 4, &at_once, NULL, 0) < 0)
			die("ppoll: %s", strerror(errno));
	}
}

static int make_file(const char *path)
{
	int fd = open_uncounted(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC);
	static char block[FILE_BYTES];

	if (fd < 0 || writev(fd, &(struct iovec){block, sizeof(block)}, 1) != sizeof(block))
		die("%s: %s", path, strerror(errno));
	return fd;
}

static void write_until(const char *path, uint64_t end, struct timed *calls)
{
	int fd = open_uncounted(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
	static char block[65536];
	uint64_t ticks;
	bool stopped;
	long result;

	while (goes_on(calls, end, WRITES)) {
		stopped = false;
		ticks = timed_call(&stopped, &result, SYS_write, fd, block, sizeof(block), 0);
		if (result != sizeof(block))
			die("%s: %ld", path, result);
		add(calls, ticks, stopped);
	}
}

static void touch_until(uint64_t kept, uint64_t end, struct timed *calls)
{
	const size_t piece = 2 << 20;
	uint64_t ticks, i = 0;
	char *memory;
	bool stopped;

	memory = mmap(NULL, (kept + 1) * piece, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	memory += -(uintptr_t)memory % piece;
	madvise(memory, kept * piece, MADV_HUGEPAGE);
	rename_self("held-touch");
	while (goes_on(calls, end, MOST)) {
		stopped = false;
		ticks = timed_touch(&stopped, memory + i * piece);
		add(calls, ticks, stopped);
		if (++i < kept)
			continue;
		if (madvise(memory, kept * piece, MADV_DONTNEED))
			die("madvise: %s", strerror(errno));
		i = 0;
	}
	rename_self("held");
}

/* Returns a connection to a process of its own, which receives until it is closed. */
static int connect_receiver(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listening = checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
	int fd = checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
	socklen_t length = sizeof(a);
	static char into[SIZE];

	checked(bind(listening, (void *)&a, sizeof(a)), "bind");
	checked(listen(listening, 1), "listen");
	checked(getsockname(listening, (void *)&a, &length), "getsockname");
	checked(connect(fd, (void *)&a, length), "connect");
	if (checked(fork(), "fork"))
		return fd;
	close(fd);
	fd = checked(accept(listening, NULL, NULL), "accept");
	while (recv(fd, into, sizeof(into), 0) > 0)
		;
	_exit(0);
}

static void send_until(int fd, long size, uint64_t end, struct timed *calls)
{
	static char block[SIZE];
	uint64_t ticks;
	bool stopped;
	long result;

	while (goes_on(calls, end, MOST)) {
		stopped = false;
		ticks = timed_call(&stopped, &result, SYS_sendto, fd, block, size, MSG_NOSIGNAL);
		if (result != size)
			die("send: %ld", result);
		add(calls, ticks, stopped);
	}
}

int main(int argc, char **argv)
{
	const struct rlimit files = {ASKED, ASKED};
	struct moment began, over;
	struct timed calls;
	pthread_t thread;
	bool polls, writes, reads, sends;
	int fd = -1;
	long size = 0, faults;
	uint64_t end;

	help_if_asked(argc, argv);
	if (argc < 4)
		misuse("too few arguments");
	end = parse_number(argv[1], "MS", 1, 600000) * 1000000;
	polls = !strcmp(argv[2], "ppoll");
	writes = !strcmp(argv[2], "write");
	reads = !strcmp(argv[2], "read");
	sends = !strcmp(argv[2], "sendto");
	if (!polls && !writes && !reads && !sends && strcmp(argv[2], "touch") != 0)
		misuse("'%s' is none of ppoll, write, read, touch, sendto", argv[2]);
	if (sends) {
		size = parse_number(argv[3], "SIZE", 1, SIZE);
		raise_loopback();
		fd = connect_receiver();
	}
	for (int i = 4; i < argc; i++)
		enter(argv[i]);
	if ((polls || reads) && setrlimit(RLIMIT_NOFILE, &files))
		die("setrlimit: %s", strerror(errno));
	series_init(&calls.all, MOST);
	series_init(&calls.sure, MOST);
	for (uint64_t i = 0; i < MOST; i++) /* bring their pages in */
		((volatile uint64_t *)calls.all.ns)[i] = ((volatile uint64_t *)calls.sure.ns)[i] =
			0;
	for (uint64_t i = polls ? parse_number(argv[3], "BUSY", 0, 64) : 0; i > 0; i--)
		if (pthread_create(&thread, NULL, compute, NULL))
			die("cannot create a thread");
	if (reads)
		fd = make_file(argv[3]);
	reached("ready");
	gate("go");
	faults = faults_so_far();
	began = moment();
	end += began.ns;
	if (polls)
		poll_until(end, &calls);
	else if (writes)
		write_until(argv[3], end, &calls);
	else if (reads)
		read_until(fd, end, &calls);
	else if (sends)
		send_until(fd, size, end, &calls);
	else
		touch_until(parse_number(argv[3], "KEPT", 1, 1000), end, &calls);
	over = moment();
	to_ns(&calls, (double)(over.ns - began.ns) / (double)(over.ticks - began.ticks));
	report(argv[2], &calls, faults_so_far() - faults);
	return 0;
}
