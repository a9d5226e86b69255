/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "audit-parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <plumb/core/cli.h>
#include <plumb/guard/audit.h>
#include <plumb/guard/confine.h>

#define SEC_NS      1000000000ULL
#define PREPARATION (60 * SEC_NS) /* beyond the limit, until the trace begins */
#define PATIENCE    (10 * SEC_NS) /* after SIGTERM, until SIGKILL */

/* What the tool says; smaller numbers are those of signals that end it. */
enum { BEGIN = 'b', END = 'e', FAREWELL = 'f', LIMIT = 'l' };

static struct {
	uint64_t limit, deadline; /* ns; DEADLINE: CLOCK_BOOTTIME, 0: none */
	bool was_over;            /* at the end of the trace */
	int to;                   /* a socket */
	pid_t pid, tool;
	timer_t timer;
} watcher = {.to = -1};

/* Time of a suspended machine counts. */
static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * SEC_NS + t.tv_nsec;
}

/* --- in the watcher --- */

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void close_others(const struct plumb_watch *watch, int from, int tool)
{
	int keep[8], n = 0, first = 0;

	keep[n++] = from;
	keep[n++] = tool;
	for (size_t i = 0; i < watch->n_keep; i++)
		keep[n++] = watch->keep[i];
	qsort(keep, n, sizeof(*keep), by_number);
	for (int i = 0; i < n; i++) {
		if (keep[i] > first)
			close_range(first, keep[i] - 1, 0);
		first = keep[i] + 1;
	}
	close_range(first, ~0U, 0);
}

/* Returns whether the tool said farewell. */
static bool take_words(int from, uint64_t *deadline, int *signal)
{
	char words[16];
	ssize_t n = read(from, words, sizeof(words));

	for (ssize_t i = 0; i < n; i++) {
		if (words[i] == FAREWELL)
			return true;
		if (words[i] < NSIG || words[i] == LIMIT)
			*signal = words[i];
		else
			*deadline = words[i] == BEGIN ? now() + watcher.limit + PATIENCE : 0;
	}
	return false;
}

/* Waits until the tool has ended, which it does not miss even if the tool's pid is used again. */
static void watch_over(const struct plumb_watch *watch, int from, int tool)
{
	uint64_t deadline = watcher.limit ? watcher.deadline + PATIENCE : 0, t;
	struct pollfd fds[] = {{.fd = tool, .events = POLLIN}, {.fd = from, .events = POLLIN}};
	struct timespec left;
	bool late = false;
	int signal = 0;

	for (;;) {
		t = now();
		if (deadline && t >= deadline) {
			syscall(SYS_pidfd_send_signal, tool, SIGKILL, NULL, 0);
			deadline = 0;
			late = true;
			continue;
		}
		left = (struct timespec){(deadline - t) / SEC_NS, (deadline - t) % SEC_NS};
		if (ppoll(fds, 2, deadline ? &left : NULL, NULL) < 0 && errno != EINTR)
			_exit(1);
		if (fds[1].revents & POLLIN && take_words(from, &deadline, &signal))
			_exit(0);
		/* The end of the stream is not the tool's: a child may have it a little longer. */
		if (fds[1].revents & ~POLLIN)
			fds[1].fd = -1;
		if (fds[0].revents)
			break;
	}
	watch->ended(late || signal == LIMIT, signal);
	_exit(0);
}

static void be_watcher(const struct plumb_watch *watch, int from, int tool)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "plumb-audit");
	setsid();
	close_others(watch, from, tool);
	if (chdir("/"))
		_exit(1);
	/* It goes on if it cannot: the record of the end matters more. */
	if (watch->capabilities || watch->calls)
		plumb_retain(watch->capabilities, watch->calls, "the last audit record");
	plumb_retain(0, PLUMB_CALLS_SIGNAL, "the end of the trace");
	plumb_confine();
	watch_over(watch, from, tool);
}

/* --- in the tool --- */

static void set_timer(uint64_t from_now)
{
	struct itimerspec at = {.it_value = {from_now / SEC_NS, from_now % SEC_NS}};

	timer_settime(watcher.timer, 0, &at, NULL);
	watcher.deadline = now() + from_now;
}

static void tell(char word)
{
	ssize_t n;

	do
		n = send(watcher.to, &word, 1, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
}

/*
 * A signal that ends the tool before it takes signals itself: the watcher's record has its name,
 * or that it was the limit.
 * From the socket whose other end the watcher had, it means that the watcher has been killed.
 */
static void end_by(int number, siginfo_t *info, void *unused)
{
	static const char died[] = ": " PLUMB_WATCHER_DIED "\n";
	struct iovec parts[] = {
		{program_invocation_short_name, strlen(program_invocation_short_name)},
		{(void *)died, strlen(died)}};
	sigset_t set;
	ssize_t n;

	/* A child that is going to be the traced command has no watcher. */
	if (getpid() == watcher.tool && plumb_watcher_has_died()) {
		n = writev(STDERR_FILENO, parts, 2);
		(void)n;
		_exit(PLUMB_EXIT_FAILED);
	}
	if (getpid() == watcher.tool)
		tell(info->si_code == SI_TIMER ? LIMIT : number);
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	_exit(128 + number);
}

static void take_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	const struct sigaction ours = {.sa_sigaction = end_by, .sa_flags = SA_SIGINFO};
	struct sigaction was;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!sigaction(numbers[i], NULL, &was) && was.sa_handler == SIG_DFL)
			sigaction(numbers[i], &ours, NULL);
	/* The kernel tells the end of the other end's only process, even if this one is stopped. */
	fcntl(watcher.to, F_SETOWN, getpid());
	fcntl(watcher.to, F_SETSIG, SIGTERM);
	fcntl(watcher.to, F_SETFL, O_ASYNC);
}

int plumb_watcher_start(const struct plumb_watch *watch)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM};
	int ends[2], tool;

	watcher.limit = watch->limit;
	if (watcher.limit && timer_create(CLOCK_BOOTTIME, &event, &watcher.timer))
		return -errno;
	if (watcher.limit)
		set_timer(watcher.limit + PREPARATION);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	tool = syscall(SYS_pidfd_open, getpid(), 0);
	if (tool >= 0)
		watcher.pid = fork();
	if (tool < 0 || watcher.pid < 0) {
		watcher.pid = 0;
		return -errno;
	}
	if (!watcher.pid)
		be_watcher(watch, ends[0], tool);
	close(ends[0]);
	close(tool);
	watcher.to = ends[1];
	watcher.tool = getpid();
	take_signals();
	return 0;
}

void plumb_audit_begin_limit(void)
{
	/* The signal may have been taken for one that ends only the attaching of probes. */
	if (plumb_watcher_has_died())
		raise(SIGTERM);
	if (!watcher.limit)
		return;
	set_timer(watcher.limit);
	tell(BEGIN);
}

void plumb_watcher_end_limit(void)
{
	if (!watcher.limit)
		return;
	watcher.was_over = plumb_watcher_is_over();
	set_timer(0);
	watcher.deadline = 0;
	tell(END);
}

void plumb_watcher_dismiss(void)
{
	if (!watcher.pid)
		return;
	fcntl(watcher.to, F_SETOWN, 0); /* F_SETFL may be refused by now */
	tell(FAREWELL);
	while (waitpid(watcher.pid, NULL, 0) < 0 && errno == EINTR)
		;
	watcher.pid = 0;
}

bool plumb_watcher_is_over(void)
{
	return watcher.was_over || (watcher.deadline && now() >= watcher.deadline);
}

uint64_t plumb_watcher_deadline(void)
{
	return watcher.deadline;
}

uint64_t plumb_watcher_late(void)
{
	const uint64_t t = now();

	return watcher.deadline && t > watcher.deadline ? t - watcher.deadline : 0;
}

bool plumb_watcher_has_died(void)
{
	struct pollfd fd = {.fd = watcher.to};

	return watcher.pid && poll(&fd, 1, 0) > 0;
}

pid_t plumb_audit_watcher(void)
{
	return watcher.pid;
}
