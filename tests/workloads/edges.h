/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* edges: the sockets of edges.c, what they drop, and what the kernel counts. */
#pragma once

#include "addresses.h"
#include <linux/filter.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <sys/un.h>

enum { CONNECTIONS = 23, PAIRS = 8, BULK = 2000000, STORM = 500, CROWD = 6, CROWD_EACH = 100 };

static struct sockaddr_storage at;
static socklen_t at_length;
static int ends[2 * CONNECTIONS + 2]; /* who connected, who accepted */

/* --- what the kernel counts --- */

static const char *const counters[][2] = {
	{"snmp", "RetransSegs"},        {"netstat", "TCPSynRetrans"},
	{"netstat", "TCPFastRetrans"},  {"netstat", "TCPSlowStartRetrans"},
	{"netstat", "TCPTimeouts"},     {"netstat", "TCPLossProbes"},
	{"netstat", "ListenOverflows"}, {"netstat", "ListenDrops"},
};

/* The number below NAME in two lines "Tcp: NAME..." and "Tcp: NUMBER...". */
static inline long long counter(const char *file, const char *name)
{
	static char names[8192], values[8192];
	char path[64], *n, *v, *rest_n, *rest_v;
	long long found = -1;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/self/net/%s", file);
	in = fopen(path, "re");
	while (in && found < 0 && fgets(names, sizeof(names), in) &&
	       fgets(values, sizeof(values), in)) {
		n = strtok_r(names, " \n", &rest_n);
		v = strtok_r(values, " \n", &rest_v);
		for (; n && v && strcmp(n, name) != 0; v = strtok_r(NULL, " \n", &rest_v))
			n = strtok_r(NULL, " \n", &rest_n);
		if (n && v)
			found = atoll(v);
	}
	if (in)
		fclose(in);
	return found;
}

static inline void put_counters(void)
{
	char link[64] = "";

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		put(",\"%s\":%lld", counters[i][1], counter(counters[i][0], counters[i][1]));
	if (readlink("/proc/self/ns/net", link, sizeof(link) - 1) > 0)
		put(",\"netns\":%s", strtok(strchr(link, '[') + 1, "]"));
}

/* --- sockets --- */

static inline int new_socket(int flags)
{
	return checked(socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0), "socket");
}

static inline int listen_at(uint16_t port, int backlog)
{
	int fd = new_socket(0);

	if (at.ss_family != AF_UNIX)
		((struct sockaddr_in *)&at)->sin_port = htons(port);
	checked(bind(fd, (void *)&at, at_length), "bind");
	checked(listen(fd, backlog), "listen");
	return fd;
}

static inline int connect_or_die(void)
{
	int fd = new_socket(0);

	checked(connect(fd, (void *)&at, at_length), "connect");
	return fd;
}

/* A connection that is not waited for. */
static inline int begin_connect(int fd)
{
	if (connect(fd, (void *)&at, at_length) && errno != EINPROGRESS)
		die("connect: %s", strerror(errno));
	return fd;
}

static inline int accepted(int listener)
{
	return checked(accept4(listener, NULL, NULL, SOCK_CLOEXEC), "accept");
}

/* --- packets that are dropped by a filter of the socket that receives them --- */

static inline void filter(int fd, struct sock_filter *code, unsigned short n)
{
	struct sock_fprog program = {.len = n, .filter = code};

	checked(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)), "filter");
}

static inline void drop_all(int fd)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, 0)};

	filter(fd, code, 1);
}

static inline void drop_tenth(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_RANDOM),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, UINT32_MAX / 10, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};

	filter(fd, code, 4);
}

static inline void drop_none(int fd)
{
	int unused = 0;

	checked(setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused)), "filter");
}

static inline void pause_ms(uint64_t ms)
{
	pause_ns(ms * 1000000);
}
