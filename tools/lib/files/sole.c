/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/files/sole.h>

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <plumb/core/log.h>

static int owner_of(int fd, const struct sockaddr_un *address, socklen_t size)
{
	struct ucred who = {};
	socklen_t n = sizeof(who);

	if (connect(fd, (const struct sockaddr *)address, size) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n))
		return 0;
	/* Anybody can bind the name. */
	return who.uid == 0 || who.uid == geteuid() ? who.pid : 0;
}

/* The process that has it; 0: this one, from now on.  An abstract socket's name is free again when
 * its process has ended, however that was. */
static int claim(int folder, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	uint64_t hash = 0xcbf29ce484222325;
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size;
	struct stat st;
	int pid = 0;

	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	if (fd < 0 || fstat(folder, &st))
		return 0;
	size = offsetof(struct sockaddr_un, sun_path) + 1 +
	       snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
			"plumb-%" PRIx64 "-%" PRIx64 "-%" PRIx64, (uint64_t)st.st_dev,
			(uint64_t)st.st_ino, hash);
	/* Of a tool that was killed, a child may live a little longer. */
	for (int i = 0; i < 20; i++) {
		if (!bind(fd, (struct sockaddr *)&address, size) && !listen(fd, 1))
			return 0;
		if (errno != EADDRINUSE)
			break;
		usleep(50000);
	}
	if (errno == EADDRINUSE)
		pid = owner_of(fd, &address, size);
	close(fd);
	return pid;
}

int sole_claim(const char *option, const char *path, int folder, const char *name)
{
	const int other = claim(folder, name);

	return other ? plumb_error(EBUSY, "%s: %s is written by process %d: name another file",
				   option, path, other)
		     : 0;
}
