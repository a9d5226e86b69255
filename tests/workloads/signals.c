// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * signals: handlers, and calls that signals interrupt.
 *
 * A row's errors are those at the call's exit in the kernel, which is before signals are handled:
 * ERESTARTSYS, ERESTART_RESTARTBLOCK, ERESTARTNOHAND.  The program may see another result.  A
 * restarted call enters the kernel again.
 */
#include "workload.h"
#include "cpus.h"

const char usage[] =
	"Usage: signals N self|suspend|preempted|read-eintr|read-restart|nanosleep|stop\n"
	"self          N signals by tgkill to itself, each handled\n"
	"suspend       N times rt_sigsuspend; its EINTR is what rt_sigreturn restores\n"
	"preempted     the same, on a CPU that a realtime thread takes each 30 us, also while a "
	"signal is\n"
	"              delivered\n"
	"read-eintr    N reads, each interrupted for good\n"
	"read-restart  N reads, each interrupted and made anew (SA_RESTART), then satisfied\n"
	"nanosleep     N sleeps, each interrupted for good\n"
	"stop          N sleeps, each stopped and continued, thus ended by restart_syscall\n"
	"\n"
	"Gates: ready, go.\n";

#define STOPPED_SLEEP 999999999ULL

struct shared {
	atomic_ulong turn;    /* the main thread's next step is its turn-th call */
	atomic_ulong handled; /* signals */
	atomic_ulong began;   /* ns: for stop, when the call began */
};

static struct shared *shared;
static int ends[2];
static uint64_t n;

static void handle(int signal)
{
	atomic_fetch_add(&shared->handled, 1);
}

static void install(int flags)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = flags};

	if (sigaction(SIGUSR1, &action, NULL))
		die("sigaction: %s", strerror(errno));
}

static void signal_self(void)
{
	if (syscall(SYS_tgkill, getpid(), own_tid(), SIGUSR1))
		die("tgkill: %s", strerror(errno));
}

/* ---- the helper: a child, because "stop" stops the whole process ---- */

static void send(int signal)
{
	if (syscall(SYS_kill, getppid(), signal))
		die("kill: %s", strerror(errno));
}

/* A helper that fails does not leave its parent stopped. */
static void continue_parent(void)
{
	kill(getppid(), SIGCONT);
}

static void stop_and_continue(int stat, uint64_t began)
{
	send(SIGSTOP);
	await_state(stat, 'T');
	/* Whether the sleep was over before the stop cannot be determined later. */
	if (now_ns() > began + STOPPED_SLEEP)
		die("too slow: the sleep was over before it was stopped");
	send(SIGCONT);
}

static void help(bool stop, bool satisfy)
{
	int stat = open_stat(getppid(), getppid());
	uint64_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	atexit(continue_parent);
	for (i = 1; i <= n; i++) {
		while (atomic_load(&shared->turn) < i)
			pause_ns(50000);
		await_state(stat, 'S');
		if (stop) {
			stop_and_continue(stat, atomic_load(&shared->began));
			continue;
		}
		send(SIGUSR1);
		if (!satisfy)
			continue;
		while (atomic_load(&shared->handled) < i)
			pause_ns(50000);
		await_state(stat, 'S');
		if (syscall(SYS_write, ends[1], "", 1) != 1)
			die("write: %s", strerror(errno));
	}
	syscall(SYS_exit_group, 0);
}

/* ---- the calls ---- */

/* Make CALL N times, with a helper; CALL returns whether it ended as expected. */
static void run_helped(bool (*call)(void), bool stop, bool satisfy)
{
	uint64_t i;
	pid_t pid = fork_or_die();

	if (!pid)
		help(stop, satisfy);
	for (i = 1; i <= n; i++) {
		atomic_store(&shared->began, now_ns());
		atomic_store(&shared->turn, i);
		if (!call())
			die("call %llu did not end as it should: %s", (unsigned long long)i,
			    strerror(errno));
	}
	if (reap(pid))
		die("the helper failed");
}

static bool read_fails(void)
{
	char byte;

	return syscall(SYS_read, ends[0], &byte, 1) == -1 && errno == EINTR;
}

static bool read_succeeds(void)
{
	char byte;

	return syscall(SYS_read, ends[0], &byte, 1) == 1;
}

static bool sleep_fails(void)
{
	struct timespec t = {.tv_sec = 20};

	return syscall(SYS_nanosleep, &t, NULL) == -1 && errno == EINTR;
}

static bool sleep_succeeds(void)
{
	struct timespec t = {.tv_nsec = STOPPED_SLEEP};

	return syscall(SYS_nanosleep, &t, NULL) == 0;
}

static void run_self(void)
{
	uint64_t i;

	install(0);
	for (i = 0; i < n; i++)
		signal_self();
	put_plain_row("tgkill", n, 0);
	put_plain_row("rt_sigreturn", shared->handled, 0);
}

static void run_suspend(void)
{
	uint64_t usr1 = 1ULL << (SIGUSR1 - 1), none = 0, i;

	install(0);
	if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, &usr1, NULL, sizeof(usr1)))
		die("rt_sigprocmask: %s", strerror(errno));
	for (i = 0; i < n; i++) {
		signal_self();
		if (syscall(SYS_rt_sigsuspend, &none, sizeof(none)) != -1 || errno != EINTR)
			die("rt_sigsuspend did not end as it should");
	}
	put_plain_row("rt_sigsuspend", n, n);
	put_plain_row("rt_sigreturn", shared->handled, 0);
}

static void run_preempted(void)
{
	pid_t pid;

	pin_to_last_cpu();
	pid = fork_or_die();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!become_realtime(1))
			die("sched_setscheduler: %s", strerror(errno));
		for (;;)
			pause_ns(30000);
	}
	run_suspend();
	kill(pid, SIGKILL);
	reap(pid);
}

static void run(const char *what)
{
	if (!strcmp(what, "self")) {
		run_self();
	} else if (!strcmp(what, "suspend")) {
		run_suspend();
	} else if (!strcmp(what, "preempted")) {
		run_preempted();
	} else if (!strcmp(what, "read-eintr")) {
		install(0);
		run_helped(read_fails, false, false);
		put_plain_row("read", n, n);
		put_plain_row("rt_sigreturn", shared->handled, 0);
	} else if (!strcmp(what, "read-restart")) {
		install(SA_RESTART);
		run_helped(read_succeeds, false, true);
		put_plain_row("read", 2 * n, n);
		put_plain_row("rt_sigreturn", shared->handled, 0);
	} else if (!strcmp(what, "nanosleep")) {
		install(SA_RESTART); /* no effect on nanosleep */
		run_helped(sleep_fails, false, false);
		put_plain_row("nanosleep", n, n);
		put_plain_row("rt_sigreturn", shared->handled, 0);
	} else if (!strcmp(what, "stop")) {
		run_helped(sleep_succeeds, true, false);
		put_plain_row("nanosleep", n, n);
		put_plain_row("restart_syscall", n, 0);
	} else {
		misuse("there is no '%s'", what);
	}
}

int main(int argc, char **argv)
{
	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("N and what to do are needed");
	n = parse_number(argv[1], "N", 0, 100000);
	shared = shared_memory(sizeof(*shared));
	make_pipe(ends);
	reached("ready");
	gate("go");
	report_begin();
	run(argv[2]);
	report_end();
	return 0;
}
