// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * dying: threads that die inside a call, or by a call (exit).
 *
 * A blocked read that a fatal signal wakes returns before its thread dies, with ERESTARTSYS, which
 * the program never sees.
 */
#include "workload.h"

const char usage[] =
	"Usage: dying THREADS exit|exit-group|kill\n"
	"exit        THREADS threads end themselves by exit, one after the other\n"
	"exit-group  a child ends itself by exit_group while THREADS of its threads sleep in read\n"
	"kill        a child is killed by its parent while THREADS of its threads sleep in read\n"
	"\n"
	"Gates: ready, go (then the threads begin), blocked (all sleep inside read), end (then\n"
	"they die).\n";

#define MAX_THREADS 64

static int ends[2];
static atomic_int tids[MAX_THREADS];

static void *exit_now(void *unused)
{
	syscall(SYS_exit, 0);
	return unused;
}

static void run_exit(unsigned int n)
{
	pthread_t thread;
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (pthread_create(&thread, NULL, exit_now, NULL))
			die("cannot create a thread");
		pthread_join(thread, NULL);
	}
	report_begin();
	put_plain_row("exit", n, 0);
	report_end();
}

static void *block(void *arg)
{
	char byte;

	atomic_store((atomic_int *)arg, own_tid());
	syscall(SYS_read, ends[0], &byte, 1);
	die("a read came back");
}

/* Sets the first of SHARED for the parent when all threads sleep. */
static void be_child(unsigned int n, bool leave, atomic_int *shared)
{
	pthread_t thread;
	unsigned int i;

	for (i = 0; i < n; i++)
		if (pthread_create(&thread, NULL, block, &tids[i]))
			die("cannot create a thread");
	for (i = 0; i < n; i++) {
		while (!atomic_load(&tids[i]))
			pause_ns(50000);
		await_state(open_stat(getpid(), tids[i]), 'S');
	}
	atomic_store(shared, 1);
	while (atomic_load(shared) != 2)
		pause_ns(100000);
	if (leave)
		syscall(SYS_exit_group, 7);
	for (;;)
		pause_ns(1000000000);
}

static void run_child(unsigned int n, bool killed)
{
	atomic_int *shared = shared_memory(sizeof(*shared));
	int status;
	pid_t pid;

	make_pipe(ends);
	pid = fork_or_die();
	if (!pid)
		be_child(n, !killed, shared);
	while (atomic_load(shared) != 1) {
		if (waitpid(pid, &status, WNOHANG))
			die("the child ended too early");
		pause_ns(100000);
	}
	reached("blocked");
	gate("end");
	atomic_store(shared, killed ? 3 : 2);
	if (killed)
		syscall(SYS_kill, pid, SIGKILL);
	status = reap(pid);
	if (killed ? !WIFSIGNALED(status) : !WIFEXITED(status) || WEXITSTATUS(status) != 7)
		die("the child died otherwise than told: status %#x", status);
	report_begin();
	put_plain_row("read", n, n);
	put_plain_row("exit_group", killed ? 0 : 1, 0);
	put_plain_row("kill", killed ? 1 : 0, 0);
	report_end();
}

int main(int argc, char **argv)
{
	unsigned int n;

	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("THREADS and exit, exit-group or kill are needed");
	n = parse_number(argv[1], "THREADS", 1, MAX_THREADS);
	reached("ready");
	gate("go");
	if (!strcmp(argv[2], "exit"))
		run_exit(n);
	else if (!strcmp(argv[2], "exit-group"))
		run_child(n, false);
	else if (!strcmp(argv[2], "kill"))
		run_child(n, true);
	else
		misuse("'%s' is none of exit, exit-group and kill", argv[2]);
	return 0;
}
