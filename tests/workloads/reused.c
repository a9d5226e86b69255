// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* reused: a process and a thread end, and others get their numbers. */
#include "numbers.h"

const char usage[] =
	"Usage: reused\n"
	"\n"
	"A child calls getppid 1009 times and ends, then a thread 1013 times. New processes get "
	"the\n"
	"numbers of both and call it 777 times each. At last the process calls it 503 times.\n"
	"Both numbers are on stdout before. Exits with 77 where a number cannot be asked for.\n"
	"Gates: ready, go.\n";

static _Atomic pid_t tid;

static void call(unsigned int times)
{
	while (times--)
		syscall(SYS_getppid);
}

static void *run_thread(void *unused)
{
	tid = own_tid();
	gate("go");
	call(1013);
	return unused;
}

static pid_t fork_caller(unsigned int times)
{
	pid_t child = fork_or_die();

	if (child)
		return child;
	gate("go");
	call(times);
	_exit(0);
}

static void run_another(pid_t number)
{
	pid_t child = fork_numbered(number);

	if (!child) {
		call(777);
		_exit(0);
	}
	if (reap(child))
		die("the process of number %d failed", number);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t child;

	help_if_asked(argc, argv);
	if (argc != 1)
		misuse("no arguments");
	child = fork_caller(1009);
	if (pthread_create(&thread, NULL, run_thread, NULL))
		die("no thread");
	while (!tid)
		pause_ns(1000000);
	dprintf(STDOUT_FILENO, "%d %d\n", child, tid);
	reached("ready");
	gate("go");
	reap(child);
	pthread_join(thread, NULL);
	run_another(child);
	run_another(tid);
	call(503);
	report_begin();
	put_plain_row("getppid", 503, 0);
	report_end();
	return 0;
}
