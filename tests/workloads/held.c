// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* held: calls that the kernel holds on their way out, each between two reads of the clock. */
#include "workload.h"
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
	"\"faults\" are the thread's page faults by the kernel's account.\n"
	"Gates: ready, go.\n";

#define MOST       500000
#define WRITES     200
#define ASKED      8000
#define FILE_BYTES (4 << 20)
#define LONG       1000000 /* ns */
#define LONGS      4000
#define SIZE       (1 << 20) /* at most */

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

static void report(const char *what, struct series *calls, long faults)
{
	uint64_t clock = 0, began, longs = 0, i = calls->count;

	while (i && longs < LONGS)
		longs += calls->ns[--i] >= LONG;
	for (int n = 0; n < 1000; n++) {
		began = now_ns();
		clock += now_ns() - began;
	}
	report_begin();
	put_row(own_tid(), "held", what, calls->count, 0);
	put(",\"long\":[");
	for (bool first = true; i < calls->count; i++)
		if (calls->ns[i] >= LONG) {
			put(first ? "%llu" : ",%llu", (unsigned long long)calls->ns[i]);
			first = false;
		}
	put("],\"faults\":%ld,", faults);
	put_figures(calls);
	put(",\"clock\":%llu}", (unsigned long long)clock * calls->count / 1000);
	report_end();
}

static void poll_until(uint64_t end, struct series *calls)
{
	static const struct timespec at_once;
	static struct pollfd asked[ASKED];
	uint64_t began;
	int ends[2];

	make_pipe(ends);
	for (int i = 0; i < ASKED; i++)
		asked[i] = (struct pollfd){.fd = ends[0], .events = POLLIN};
	for (began = now_ns(); began < end && calls->count < MOST; began = now_ns()) {
		if (syscall(SYS_ppoll, asked, ASKED, &at_once, NULL, 0))
			die("ppoll: %s", strerror(errno));
		series_add(calls, now_ns() - began, false);
	}
}

/* Waits on the way out of ppoll are not the read's. */
static void read_until(int fd, uint64_t end, struct series *calls)
{
	static const struct timespec at_once;
	static struct pollfd asked[ASKED];
	static char block[FILE_BYTES];
	uint64_t began;

	for (int i = 0; i < ASKED; i++)
		asked[i] = (struct pollfd){.fd = fd, .events = POLLPRI};
	for (began = now_ns(); began < end && calls->count < MOST; began = now_ns()) {
		if (pread(fd, block, sizeof(block), 0) != sizeof(block))
			die("pread: %s", strerror(errno));
		series_add(calls, now_ns() - began, false);
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

static void write_until(const char *path, uint64_t end, struct series *calls)
{
	int fd = open_uncounted(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
	static char block[65536];
	uint64_t began;

	for (began = now_ns(); began < end && calls->count < WRITES; began = now_ns()) {
		if (write(fd, block, sizeof(block)) != sizeof(block))
			die("%s: %s", path, strerror(errno));
		series_add(calls, now_ns() - began, false);
	}
}

static void touch_until(uint64_t kept, uint64_t end, struct series *calls)
{
	const size_t piece = 2 << 20;
	uint64_t began, i = 0;
	char *memory;

	memory = mmap(NULL, (kept + 1) * piece, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	memory += -(uintptr_t)memory % piece;
	madvise(memory, kept * piece, MADV_HUGEPAGE);
	rename_self("held-touch");
	for (began = now_ns(); began < end && calls->count < MOST; began = now_ns()) {
		*(volatile char *)(memory + i * piece) = 1;
		series_add(calls, now_ns() - began, false);
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

static void send_until(int fd, long size, uint64_t end, struct series *calls)
{
	static char block[SIZE];
	uint64_t began;

	for (began = now_ns(); began < end && calls->count < MOST; began = now_ns()) {
		if (syscall(SYS_sendto, fd, block, size, MSG_NOSIGNAL, NULL, 0) != size)
			die("send: %s", strerror(errno));
		series_add(calls, now_ns() - began, false);
	}
}

int main(int argc, char **argv)
{
	const struct rlimit files = {ASKED, ASKED};
	struct series calls;
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
	series_init(&calls, MOST);
	for (uint64_t i = 0; i < MOST; i++) /* bring its pages in */
		((volatile uint64_t *)calls.ns)[i] = 0;
	for (uint64_t i = polls ? parse_number(argv[3], "BUSY", 0, 64) : 0; i > 0; i--)
		if (pthread_create(&thread, NULL, compute, NULL))
			die("cannot create a thread");
	if (reads)
		fd = make_file(argv[3]);
	reached("ready");
	gate("go");
	faults = faults_so_far();
	end += now_ns();
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
	report(argv[2], &calls, faults_so_far() - faults);
	return 0;
}
