/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * command: the program after "--".
 *
 * Its process must not be inside a system call, not even one that waits, when tracing starts: that
 * call would return in the trace without an entry.  So the child spins on a shared word, and the
 * tool stops it with SIGSTOP meanwhile.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/command.h>
#include <plumb/core/log.h>
#include <plumb/core/run.h>

/* What the parent and the child share. */
enum { GO, SPINNING };

static void run_child(const char *path, char **command, volatile int *shared, pid_t tool)
{
	const char *slash = strrchr(path, '/');
	sigset_t none;

	/* If the tool is killed, the command is killed too; if it was killed before, exit. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != tool)
		_exit(126);
	/* execve() is recorded with the thread's name at entry: set the command's. */
	prctl(PR_SET_NAME, slash ? slash + 1 : path);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	shared[SPINNING] = 1;
	while (!shared[GO])
		;
	execv(path, command);
	plumb_warn("cannot run %s: %s", path, strerror(errno));
	_exit(126);
}

/* Whether the file can be executed: 0 or errno.  Checked before anything is attached. */
static int check(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	return access(path, X_OK) ? errno : 0;
}

/* Finds the file of command NAME as a shell does; malloc'd, or NULL with errno set. */
static char *find(const char *name)
{
	char *path, *rest, *dir, *file = NULL;
	int err = ENOENT, found;

	if (strchr(name, '/')) {
		errno = check(name);
		return errno ? NULL : strdup(name);
	}
	path = rest = strdup(getenv("PATH") ?: "/bin:/usr/bin");
	while (!file && (dir = strsep(&rest, ":"))) {
		if (asprintf(&file, "%s/%s", *dir ? dir : ".", name) < 0)
			file = NULL;
		found = file ? check(file) : ENOMEM;
		if (!found)
			break;
		if (found == EACCES)
			err = found;
		free(file);
		file = NULL;
	}
	free(path);
	errno = err;
	return file;
}

int plumb_command_start(struct plumb_run *run)
{
	char **command = run->options.command, *path = find(command[0]);
	pid_t tool = getpid();
	int status;

	if (!path)
		return plumb_error(errno, "cannot run %s: %s", command[0], strerror(errno));
	run->child_go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->child_go != MAP_FAILED)
		run->child = fork();
	if (run->child_go == MAP_FAILED || run->child < 0)
		return plumb_error(errno, "cannot start %s: %s", command[0], strerror(errno));
	if (!run->child)
		run_child(path, command, run->child_go, tool);
	free(path);
	while (!run->child_go[SPINNING])
		usleep(50);
	kill(run->child, SIGSTOP);
	waitpid(run->child, &status, WUNTRACED);
	return 0;
}

void plumb_command_release(struct plumb_run *run)
{
	run->child_go[GO] = 1;
	kill(run->child, SIGCONT);
}

bool plumb_command_has_ended(struct plumb_run *run)
{
	if (run->child_status < 0 && waitpid(run->child, &run->child_status, WNOHANG) != run->child)
		run->child_status = -1;
	return run->child_status >= 0;
}

/* Whether a signal other than that of a child came within MS milliseconds (-1: for ever). */
static bool is_interrupted(int signals, int ms)
{
	struct pollfd fd = {.fd = signals, .events = POLLIN};
	struct signalfd_siginfo info;

	if (poll(&fd, 1, ms) <= 0)
		return false;
	while (read(signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			return true;
	return false;
}

void plumb_command_end(struct plumb_run *run, int signals)
{
	const char *name = run->options.command[0];
	uint64_t patience = plumb_now() + PLUMB_SECOND, now;
	bool said = false;

	if (run->child_status >= 0 || !run->child_go[GO])
		return;
	kill(run->child, SIGTERM);
	kill(run->child, SIGCONT);
	while (!plumb_command_has_ended(run)) {
		now = plumb_now();
		if (!said && now >= patience) {
			plumb_warn("waiting for %s to exit after SIGTERM; Ctrl-C kills it", name);
			said = true;
		}
		if (is_interrupted(signals, said ? -1 : (int)((patience - now) / 1000000) + 1))
			break;
	}
	/* Needed since the kernel clears PR_SET_PDEATHSIG when a setuid program is executed. */
	if (run->child_status < 0)
		kill(run->child, SIGKILL);
}
