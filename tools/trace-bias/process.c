/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "process.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void lines_end(struct lines *l)
{
	l->text[l->n] = 0;
	if (l->n)
		l->each(l->text, l->context);
	l->n = 0;
}

void lines_feed(struct lines *l, const char *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		/* Programs that show progress overwrite their line after a carriage return. */
		if (data[i] == '\n' || data[i] == '\r')
			lines_end(l);
		else if (l->n + 1 < sizeof(l->text))
			l->text[l->n++] = data[i];
	}
}

static void run_child(char *const *command, int hold, int output)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), error;
	sigset_t none;
	char go;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* so that nothing is left if the parent is killed */
	dup2(null, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Shells make background programs ignore SIGINT, but this one is to exit by it. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	/* Report that it is held, and wait until it is released. */
	if (write(hold, "", 1) == 1 && read(hold, &go, 1) == 1) {
		execvp(command[0], command);
		error = errno;
		send(hold, &error, sizeof(error), MSG_NOSIGNAL);
	}
	_exit(127);
}

int process_start(struct process *p, char *const *command,
		  void (*each)(const char *line, void *context), void *context)
{
	int output[2] = {-1, -1}, hold[2] = {-1, -1}, err = 0;
	char held;

	*p = (struct process){.lines = {.each = each, .context = context}};
	if (pipe2(output, O_CLOEXEC) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, hold) ||
	    (p->pid = fork()) < 0)
		err = -errno;
	if (!err && !p->pid) {
		close(hold[0]);
		run_child(command, hold[1], output[1]);
	}
	close(output[1]);
	close(hold[1]);
	p->output = output[0];
	p->hold = hold[0];
	if (err) {
		close(p->output);
		close(p->hold);
		p->output = -1;
		p->pid = 0;
		return err;
	}
	setpgid(p->pid, p->pid); /* in the child, too, since either may be first */
	fcntl(p->output, F_SETFL, O_NONBLOCK);
	recv(p->hold, &held, 1, 0);
	return 0;
}

int process_release(struct process *p)
{
	int error;

	send(p->hold, "", 1, MSG_NOSIGNAL);
	/* exec closes the child's end of the socket, or errno arrives if it fails. */
	return recv(p->hold, &error, sizeof(error), MSG_WAITALL) == sizeof(error) ? -error : 0;
}

bool process_has_ended(const struct process *p)
{
	siginfo_t info = {0};

	return p->pid && !waitid(P_PID, p->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

void process_read(struct process *p)
{
	char data[65536]; /* as much as a pipe holds */
	ssize_t n;

	if (p->output < 0)
		return;
	n = read(p->output, data, sizeof(data));
	if (n > 0) {
		lines_feed(&p->lines, data, n);
	} else if (!n) {
		close(p->output);
		p->output = -1;
	}
}

void process_signal(const struct process *p, int signal)
{
	kill(-p->pid, signal);
}

void process_reap(struct process *p)
{
	siginfo_t info;

	/* Until it is reaped, its pid and process group cannot be reused. */
	waitid(P_PID, p->pid, &info, WEXITED | WNOWAIT);
	process_signal(p, SIGKILL);
	wait4(p->pid, &p->status, 0, &p->usage);
	process_read(p);
	lines_end(&p->lines);
	if (p->output >= 0)
		close(p->output);
	close(p->hold);
	p->output = -1;
	p->pid = 0;
}

const char *process_fate(const struct process *p, char *text, size_t size)
{
	if (WIFSIGNALED(p->status))
		snprintf(text, size, "was killed by signal %d", WTERMSIG(p->status));
	else
		snprintf(text, size, "ended with status %d", WEXITSTATUS(p->status));
	return text;
}
