// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * selects: a thread that a filter selects only later, and that then changes its CPU inside a call.
 *
 * On one CPU a filter rejects its read.  Then it gets the name, or its process the cgroup, that the
 * filter selects.  The next read begins on another CPU, sleeps, and ends on the first.
 */
#include "workload.h"
#include "cpus.h"

const char usage[] =
	"Usage: selects TIMES [FROM TO]\n"
	"Each time a thread named plumb-out makes a read that fails, is named plumb-in,\n"
	"makes a read that begins on one CPU and ends on the other, and is plumb-out\n"
	"again.  With FROM and TO, cgroup.procs files, it is plumb-in all the time, and\n"
	"its process moves from one to the other instead.  Reported are the reads that\n"
	"are to be taken.  Exits with 77 where there is one CPU only.\n"
	"\n"
	"Gates: ready, go.\n";

enum step { REJECTED, TAKEN, DONE };

static int here, there;       /* CPUs */
static const char *groups[2]; /* FROM, TO; NULL: names decide */
static int ends[2];
static uint64_t times;
static _Atomic pid_t tid;
static _Atomic uint64_t step, allowed; /* how many steps have been made, and may be */

static void await(_Atomic uint64_t *value, uint64_t wanted)
{
	uint64_t deadline = now_ns() + 20000000000ULL;

	while (*value < wanted) {
		if (now_ns() > deadline)
			die("the other thread has not come further for 20 s");
		pause_ns(20000);
	}
}

static void read_byte(int fd, ssize_t wanted)
{
	char byte;

	if (syscall(SYS_read, fd, &byte, 1) != wanted)
		die("read: %s", strerror(errno));
}

static void *read_bytes(void *unused)
{
	tid = own_tid();
	if (groups[0])
		rename_self("plumb-in");
	for (uint64_t i = 0; i < times; i++) {
		pin(0, here);
		await(&allowed, i * DONE + TAKEN);
		if (!groups[0])
			rename_self("plumb-out");
		read_byte(-1, -1);
		step = i * DONE + TAKEN;
		await(&allowed, i * DONE + DONE);
		if (!groups[0])
			rename_self("plumb-in");
		pin(0, there);
		step = i * DONE + DONE;
		read_byte(ends[0], 1);
	}
	return NULL;
}

static void move_to(const char *group)
{
	struct iovec pid;
	char text[16];
	int fd;

	if (!group)
		return;
	fd = open_uncounted(group, O_WRONLY | O_CLOEXEC);
	pid = (struct iovec){text, snprintf(text, sizeof(text), "%d", getpid())};
	if (fd < 0 || syscall(SYS_writev, fd, &pid, 1) < 0)
		die("%s: %s", group, strerror(errno));
	close(fd);
}

static void lead(int stat)
{
	for (uint64_t i = 0; i < times; i++) {
		move_to(groups[0]);
		allowed = i * DONE + TAKEN;
		await(&step, i * DONE + TAKEN);
		move_to(groups[1]);
		allowed = i * DONE + DONE;
		await(&step, i * DONE + DONE);
		await_state(stat, 'S');
		pin(tid, here);
		if (syscall(SYS_writev, ends[1], &(struct iovec){"", 1}, 1) != 1)
			die("writev: %s", strerror(errno));
	}
}

int main(int argc, char **argv)
{
	pthread_t reader;

	help_if_asked(argc, argv);
	if (argc != 2 && argc != 4)
		misuse("one number, and none or two files");
	times = parse_number(argv[1], "TIMES", 1, 100000);
	if (argc == 4)
		memcpy(groups, argv + 2, sizeof(groups));
	if (!last_two_cpus(&there, &here))
		return WORKLOAD_SKIP;
	make_pipe(ends);
	reached("ready");
	gate("go");
	if (pthread_create(&reader, NULL, read_bytes, NULL))
		die("pthread_create failed");
	while (!tid)
		pause_ns(20000);
	lead(open_stat(getpid(), tid));
	pthread_join(reader, NULL);
	report_begin();
	put_row(tid, "plumb-in", "read", times, 0);
	put("}");
	report_end();
	return 0;
}
