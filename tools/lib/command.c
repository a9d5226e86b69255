/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * command: the program after "--".
 *
 * It must not make a system call before it is traced, not even one that waits,
 * which would end inside the trace without having begun there.  So the child
 * spins on a shared word, and is stopped from outside while it does.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <plumb/log.h>
#include <plumb/session.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_child(char **command, volatile int *go)
{
	sigset_t none;
	const char *slash = strrchr(command[0], '/');

	/* execve belongs to the name under which it is made: let it be the right one. */
	prctl(PR_SET_NAME, slash ? slash + 1 : command[0]);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	go[1] = 1;
	while (!go[0])
		;
	execvp(command[0], command);
	go[2] = errno;
	_exit(errno == ENOENT ? 127 : 126);
}

/* Does the command exist and may it be run?  Better asked before anything is attached. */
static int check(const char *name)
{
	char *path, *rest, *dir, try[4096];
	int err = ENOENT;

	if (strchr(name, '/'))
		return access(name, X_OK) ? errno : 0;
	path = rest = strdup(getenv("PATH") ?: "/bin:/usr/bin");
	while ((dir = strsep(&rest, ":"))) {
		snprintf(try, sizeof(try), "%s/%s", *dir ? dir : ".", name);
		if (!access(try, X_OK)) {
			err = 0;
			break;
		}
		if (errno != ENOENT)
			err = errno;
	}
	free(path);
	return err;
}

int plumb_command_start(struct plumb_session *s)
{
	char **command = s->options.command;
	int err = check(command[0]), status;

	if (err)
		return plumb_error(err, "cannot run %s: %s", command[0], strerror(err));
	s->child_go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->child_go == MAP_FAILED)
		return plumb_error(errno, "cannot start %s: %s", command[0], strerror(errno));
	s->child = fork();
	if (s->child < 0)
		return plumb_error(errno, "cannot start %s: %s", command[0], strerror(errno));
	if (!s->child)
		run_child(command, s->child_go);
	while (!s->child_go[1])
		usleep(50);
	kill(s->child, SIGSTOP);
	waitpid(s->child, &status, WUNTRACED);
	return 0;
}

void plumb_command_release(struct plumb_session *s)
{
	s->child_go[0] = 1;
	kill(s->child, SIGCONT);
}
