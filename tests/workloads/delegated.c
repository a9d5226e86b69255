// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* delegated: runs a command as root of a user namespace, with a bpffs that delegates BPF to it. */
#include "workload.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

const char usage[] = "Usage: delegated DIR COMMAND [ARG...]\n"
		     "Run COMMAND as root of a user namespace, which is nobody outside, with a "
		     "bpffs on DIR that\n"
		     "delegates all of bpf(2) to that namespace (Linux 6.9).  It takes root.\n";

#define NOBODY 65534

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("%s: %s", path, strerror(errno));
	close(fd);
}

static void send_fd(int socket, int fd)
{
	char control[CMSG_SPACE(sizeof(fd))] = {0}, byte = 0;
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(socket, &m, 0) != 1)
		die("sendmsg: %s", strerror(errno));
}

static int receive_fd(int socket)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	int fd;

	if (recvmsg(socket, &m, 0) != 1 || !CMSG_FIRSTHDR(&m))
		exit(1); /* the other side has said why */
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

/* The namespace's part: the file system belongs to the namespace in which it is opened. */
static void run(int socket, const char *dir, char **command)
{
	int fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		die("unshare: %s", strerror(errno));
	fd = syscall(SYS_fsopen, "bpf", FSOPEN_CLOEXEC);
	if (fd < 0)
		die("fsopen: %s", strerror(errno));
	send_fd(socket, fd);
	fd = receive_fd(socket);
	if (setresgid(0, 0, 0) || setresuid(0, 0, 0))
		die("setresuid: %s", strerror(errno));
	if (syscall(SYS_move_mount, fd, "", AT_FDCWD, dir, MOVE_MOUNT_F_EMPTY_PATH))
		die("move_mount: %s", strerror(errno));
	execvp(command[0], command);
	die("%s: %s", command[0], strerror(errno));
}

/* The host's part: only who has CAP_SYS_ADMIN there delegates. */
static int delegate(int fs)
{
	static const char *const what[] = {"delegate_cmds", "delegate_maps", "delegate_progs",
					   "delegate_attachs"};
	int mount;

	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++)
		if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, what[i], "any", 0))
			die("%s: %s", what[i], strerror(errno));
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		die("bpffs: %s", strerror(errno));
	mount = syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	if (mount < 0)
		die("fsmount: %s", strerror(errno));
	return mount;
}

static void map_ids(pid_t child)
{
	char path[64], map[32];

	snprintf(map, sizeof(map), "0 %d 1", NOBODY);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", child);
	write_file(path, map);
	snprintf(path, sizeof(path), "/proc/%d/gid_map", child);
	write_file(path, map);
}

int main(int argc, char **argv)
{
	int sockets[2], status, fs;
	pid_t child;

	help_if_asked(argc, argv);
	if (argc < 3)
		misuse("DIR and COMMAND are needed");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		die("socketpair: %s", strerror(errno));
	child = fork();
	if (child < 0)
		die("fork: %s", strerror(errno));
	if (!child) {
		close(sockets[0]);
		run(sockets[1], argv[1], argv + 2);
	}
	close(sockets[1]);
	fs = receive_fd(sockets[0]);
	map_ids(child);
	send_fd(sockets[0], delegate(fs));
	if (waitpid(child, &status, 0) != child)
		die("waitpid: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
