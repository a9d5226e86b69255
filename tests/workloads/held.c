// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* held: calls that the kernel holds on their way out, each between two reads of the clock. */
#include "workload.h"

#include <poll.h>
#include <sys/resource.h>

const char usage[] =
	"Usage: held MS ppoll BUSY [CGROUP.PROCS...]\n"
	"       held MS write FILE [CGROUP.PROCS...]\n"
	"\n"
	"For MS, or 500,000 calls, asks 8000 times about one pipe by each call of ppoll, beside\n"
	"BUSY threads that only compute; or writes 64 kB to FILE by each call of write, at most\n"
	"200. The process first enters each cgroup.\n"
	"Times are between reads of the clock around a call, ns; \"clock\" is the sum of as many\n"
	"reads with nothing between.\n"
	"Gates: ready, go.\n";

#define MOST   500000
#define WRITES 200
#define ASKED  8000

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

static void report(const char *what, struct series *calls)
{
	uint64_t clock = 0, began;

	for (int i = 0; i < 1000; i++) {
		began = now_ns();
		clock += now_ns() - began;
	}
	report_begin();
	put_row(own_tid(), "held", what, calls->count, 0);
	put(",");
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

int main(int argc, char **argv)
{
	const struct rlimit files = {ASKED, ASKED};
	struct series calls;
	pthread_t thread;
	uint64_t end;
	bool polls;

	help_if_asked(argc, argv);
	if (argc < 4)
		misuse("too few arguments");
	end = parse_number(argv[1], "MS", 1, 600000) * 1000000;
	polls = !strcmp(argv[2], "ppoll");
	if (!polls && strcmp(argv[2], "write") != 0)
		misuse("'%s' is neither ppoll nor write", argv[2]);
	for (int i = 4; i < argc; i++)
		enter(argv[i]);
	if (polls && setrlimit(RLIMIT_NOFILE, &files))
		die("setrlimit: %s", strerror(errno));
	series_init(&calls, MOST);
	memset(calls.ns, 0, MOST * sizeof(*calls.ns));
	for (uint64_t i = polls ? parse_number(argv[3], "BUSY", 0, 64) : 0; i > 0; i--)
		if (pthread_create(&thread, NULL, compute, NULL))
			die("cannot create a thread");
	reached("ready");
	gate("go");
	end += now_ns();
	if (polls)
		poll_until(end, &calls);
	else
		write_until(argv[3], end, &calls);
	report(argv[2], &calls);
	return 0;
}
