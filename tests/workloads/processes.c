// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* processes: system calls that create processes, or replace their program. */
#include "workload.h"
#include <linux/sched.h>

const char usage[] =
	"Usage: processes N fork|vfork|clone3|exec|exec-thread\n"
	"fork, vfork, clone3  make N children, one after the other, that each make one call of\n"
	"                     getppid (but vfork's) and exit; the row says which call it was\n"
	"exec                 call execve N times; the last image tells\n"
	"exec-thread          the same, each time from a thread that is not the leader\n"
	"\n"
	"Gates: ready, go.\n";

static void die_in_child(bool visit)
{
	if (visit)
		syscall(SYS_getppid);
	syscall(SYS_exit_group, 0);
}

static pid_t raw_fork(void)
{
#ifdef SYS_fork
	return syscall(SYS_fork);
#else
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

static pid_t raw_clone3(void)
{
	struct clone_args args = {.exit_signal = SIGCHLD};

	return syscall(SYS_clone3, &args, sizeof(args));
}

static void run_forks(uint64_t n, pid_t (*make)(void))
{
	uint64_t i;
	pid_t pid;

	for (i = 0; i < n; i++) {
		pid = make();
		if (!pid)
			die_in_child(true);
		if (pid < 0)
			die("cannot fork: %s", strerror(errno));
		reap(pid);
	}
}

/* A function of its own, because the child uses the same frame. */
static __attribute__((noinline)) pid_t vfork_once(void)
{
	pid_t pid = vfork();

	if (!pid)
		die_in_child(false);
	return pid;
}

static void run_vforks(uint64_t n)
{
	uint64_t i;
	pid_t pid;

	for (i = 0; i < n; i++) {
		pid = vfork_once();
		if (pid < 0)
			die("cannot vfork: %s", strerror(errno));
		reap(pid);
	}
}

static void report(const char *call, uint64_t count, const char *visited, uint64_t visits)
{
	report_begin();
	put_plain_row(call, count, 0);
	if (visited)
		put_plain_row(visited, visits, 0);
	report_end();
}

/* ---- exec ---- */

static char **next_argv;

/* The link itself would give the new image the name "exe". */
static void exec_next(void)
{
	static char path[PATH_MAX];

	if (syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof(path) - 1) < 0)
		die("/proc/self/exe: %s", strerror(errno));
	syscall(SYS_execve, path, next_argv, environ);
	die("execve: %s", strerror(errno));
}

static void *exec_thread(void *unused)
{
	exec_next();
	return unused;
}

/* The count is passed on in argv: "processes LEFT HOW DONE". */
static void run_exec(uint64_t left, const char *how, uint64_t done)
{
	char left_text[24], done_text[24];
	pthread_t thread;
	char *args[] = {program_invocation_name, left_text, (char *)how, done_text, NULL};

	if (!left) {
		report("execve", done, NULL, 0);
		return;
	}
	snprintf(left_text, sizeof(left_text), "%llu", (unsigned long long)left - 1);
	snprintf(done_text, sizeof(done_text), "%llu", (unsigned long long)done + 1);
	next_argv = args;
	if (!strcmp(how, "exec"))
		exec_next();
	if (pthread_create(&thread, NULL, exec_thread, NULL))
		die("cannot create a thread");
	for (;;)
		pause_ns(1000000000);
}

int main(int argc, char **argv)
{
	uint64_t n, done = 0;
	const char *how;

	help_if_asked(argc, argv);
	if (argc != 3 && argc != 4)
		misuse("N and a call are needed");
	n = parse_number(argv[1], "N", 0, 1000000);
	how = argv[2];
	if (argc == 4)
		done = parse_number(argv[3], "DONE", 1, 1000000);
	if (!done) {
		reached("ready");
		gate("go");
	}
	if (!strcmp(how, "exec") || !strcmp(how, "exec-thread")) {
		run_exec(n, how, done);
	} else if (!strcmp(how, "fork")) {
		run_forks(n, raw_fork);
#ifdef SYS_fork
		report("fork", n, "getppid", n);
#else
		report("clone", n, "getppid", n);
#endif
	} else if (!strcmp(how, "vfork")) {
		run_vforks(n);
#ifdef SYS_vfork
		report("vfork", n, NULL, 0);
#else
		report("clone", n, NULL, 0);
#endif
	} else if (!strcmp(how, "clone3")) {
		run_forks(n, raw_clone3);
		report("clone3", n, "getppid", n);
	} else {
		misuse("there is no call '%s'", how);
	}
	return 0;
}
