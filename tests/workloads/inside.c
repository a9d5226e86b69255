// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* inside: system calls in which the kernel works, and others in which it sleeps a known time. */
#include "workload.h"

#include <sys/random.h>

const char usage[] =
	"Usage: inside N SIZE READS MS\n"
	"Make N calls of getrandom() of SIZE bytes, and READS of read() on a pipe, each of which\n"
	"gets its byte MS milliseconds after it fell asleep. The row of getrandom has in \"long\"\n"
	"how many of its calls took three quarters of that.\n"
	"\n"
	"Gates: ready, go.\n";

#define MAX_SIZE (64 << 20)

static char buffer[MAX_SIZE];

/* Writes a byte for each request, DELAY ns after the reader (stat file STAT) has gone to sleep. */
static void answer(int asked, int answers, int stat, uint64_t delay)
{
	char byte;

	while (syscall(SYS_read, asked, &byte, 1) == 1) {
		await_state(stat, 'S');
		pause_ns(delay);
		if (syscall(SYS_write, answers, &byte, 1) != 1)
			die("write: %s", strerror(errno));
	}
}

static void read_late(struct series *s, uint64_t n, uint64_t delay)
{
	int asked[2], answers[2], stat = open_stat(getpid(), own_tid());
	struct iovec one = {.iov_base = buffer, .iov_len = 1};
	uint64_t begin;
	pid_t child;

	make_pipe(asked);
	make_pipe(answers);
	child = fork_or_die();
	if (!child) {
		syscall(SYS_close, asked[1]);
		answer(asked[0], answers[1], stat, delay);
		_exit(0);
	}
	for (; s->count < n; series_add(s, now_ns() - begin, false)) {
		if (syscall(SYS_writev, asked[1], &one, 1) != 1)
			die("writev: %s", strerror(errno));
		begin = now_ns();
		if (syscall(SYS_read, answers[0], buffer, 1) != 1)
			die("read: %s", strerror(errno));
	}
	syscall(SYS_close, asked[1]);
	if (reap(child))
		die("who answers has failed");
}

static void get_random(struct series *s, uint64_t n, uint64_t size)
{
	uint64_t begin;

	while (s->count < n) {
		begin = now_ns();
		if (syscall(SYS_getrandom, buffer, size, 0) < 0)
			die("getrandom: %s", strerror(errno));
		series_add(s, now_ns() - begin, false);
	}
}

static void report_series(const char *name, struct series *s, uint64_t limit)
{
	uint64_t i, over = 0;
	char comm[16];

	for (i = 0; i < s->count; i++)
		over += s->ns[i] >= limit;
	own_comm(comm);
	put_row(own_tid(), comm, name, s->count, s->errors);
	put(",\"long\":%llu,", (unsigned long long)over);
	put_figures(s);
	put("}");
}

int main(int argc, char **argv)
{
	uint64_t n, size, reads, delay;
	struct series random, late;

	help_if_asked(argc, argv);
	if (argc != 5)
		misuse("N, SIZE, READS and MS are needed");
	n = parse_number(argv[1], "N", 0, 1000000);
	size = parse_number(argv[2], "SIZE", 1, MAX_SIZE);
	reads = parse_number(argv[3], "READS", 0, 1000000);
	delay = parse_number(argv[4], "MS", 0, 10000) * 1000000;
	series_init(&random, n);
	series_init(&late, reads);
	memset(buffer, 1, size); /* no page faults in the calls */
	reached("ready");
	gate("go");
	get_random(&random, n, size);
	read_late(&late, reads, delay);
	report_begin();
	report_series("getrandom", &random, delay / 4 * 3);
	report_series("read", &late, delay / 4 * 3);
	report_end();
	return 0;
}
