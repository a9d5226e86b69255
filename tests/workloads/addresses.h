/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* addresses: IPv4 and IPv6 addresses as text, and the loopback device. */
#pragma once

#include "workload.h"
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static inline int checked(int result, const char *what)
{
	if (result < 0)
		die("%s: %s", what, strerror(errno));
	return result;
}

static inline socklen_t address_length(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static inline void parse_address(const char *text, uint16_t port, struct sockaddr_storage *a)
{
	struct sockaddr_in *v4 = (void *)a;
	struct sockaddr_in6 *v6 = (void *)a;

	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
	} else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
	} else {
		misuse("'%s' is not an address", text);
	}
}

static inline uint16_t port_of(const struct sockaddr_storage *a)
{
	return ntohs(a->ss_family == AF_INET ? ((const struct sockaddr_in *)a)->sin_port
					     : ((const struct sockaddr_in6 *)a)->sin6_port);
}

static inline const char *address_text(const struct sockaddr_storage *a,
				       char text[INET6_ADDRSTRLEN])
{
	const void *bytes = a->ss_family == AF_INET
				    ? (const void *)&((const struct sockaddr_in *)a)->sin_addr
				    : (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr;

	return inet_ntop(a->ss_family, bytes, text, INET6_ADDRSTRLEN);
}

static inline void raise_loopback(void)
{
	struct ifreq request = {.ifr_name = "lo"};
	int fd = checked(socket(AF_INET, SOCK_DGRAM, 0), "socket");

	checked(ioctl(fd, SIOCGIFFLAGS, &request), "lo");
	if (!(request.ifr_flags & IFF_UP)) {
		request.ifr_flags |= IFF_UP;
		checked(ioctl(fd, SIOCSIFFLAGS, &request), "lo cannot be brought up");
	}
	syscall(SYS_close, fd);
}
