/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* descriptors: a slow call, what its descriptor is, and what ends the call. */
#pragma once

#include "workload.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>

#define WAIT_NS 100000000
#define MOST    32

static struct slow {
	const char *name, *kind;
	char text[4200], returned[200];
	int fd, result;
} all[MOST];
static size_t n;

static struct slow *begin(const char *name, const char *kind, int fd)
{
	struct slow *s = &all[n++];

	*s = (struct slow){.name = name, .kind = kind, .fd = fd};
	return s;
}

/* As /proc has it. */
static void link_text(int fd, char *text, size_t size)
{
	char path[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	length = readlink(path, text, size - 1);
	text[length < 0 ? 0 : length] = 0;
}

static void address_text(const struct sockaddr_storage *address, char *text, size_t size)
{
	const struct sockaddr_in6 *six = (const void *)address;
	const struct sockaddr_in *four = (const void *)address;
	char plain[INET6_ADDRSTRLEN];

	if (address->ss_family == AF_INET6)
		snprintf(text, size, "[%s]:%u",
			 inet_ntop(AF_INET6, &six->sin6_addr, plain, sizeof(plain)),
			 ntohs(six->sin6_port));
	else
		snprintf(text, size, "%s:%u",
			 inet_ntop(AF_INET, &four->sin_addr, plain, sizeof(plain)),
			 ntohs(four->sin_port));
}

static void socket_text(int fd, bool peer, const char *before, char *text, size_t size)
{
	struct sockaddr_storage address = {};
	socklen_t length = sizeof(address);
	char plain[100];

	if ((peer ? getpeername : getsockname)(fd, (void *)&address, &length))
		die("a socket has no name: %s", strerror(errno));
	address_text(&address, plain, sizeof(plain));
	snprintf(text, size, "%s%s", before, plain);
}

/* The number is another file's now. */
static void reuse(int fd)
{
	int other = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (dup2(other, fd) != fd)
		die("dup2: %s", strerror(errno));
	close(other);
}

/* ---- what ends a call after a time ---- */

struct later {
	pthread_t thread;
	int fd, also;
	enum { WRITE, UNLOCK, CONNECT, CLOSE_AND_WRITE } what;
};

static void *do_later(void *context)
{
	const struct later *l = context;
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	uint64_t one = 1;

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = WAIT_NS},
		NULL);
	if (l->what == CLOSE_AND_WRITE)
		reuse(l->also);
	if (l->what == UNLOCK) {
		flock(l->fd, LOCK_UN);
	} else if (l->what == CONNECT) {
		getsockname(l->also, (void *)&address, &length);
		if (connect(l->fd, (void *)&address, length))
			die("connect: %s", strerror(errno));
	} else if (write(l->fd, &one, sizeof(one)) != sizeof(one)) {
		die("write: %s", strerror(errno));
	}
	return NULL;
}

static void start_later(struct later *l, int what, int fd, int also)
{
	l->what = what;
	l->fd = fd;
	l->also = also;
	if (pthread_create(&l->thread, NULL, do_later, l))
		die("pthread_create");
}

static void end_later(struct later *l)
{
	pthread_join(l->thread, NULL);
}

/* ---- the calls ---- */

static void slow_read(struct slow *s, int what, int from)
{
	struct later l;
	char bytes[8];

	start_later(&l, what, from, s->fd);
	s->result = syscall(SYS_read, s->fd, bytes, sizeof(bytes));
	reuse(s->fd);
	end_later(&l);
}
