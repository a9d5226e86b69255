/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* descriptors-known: what a descriptor is, as /proc, getpeername() and getsockname() say. */
#pragma once

#include "workload.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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
