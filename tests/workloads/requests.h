/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* requests: a server's socket, its thread, and connections to it. */
#pragma once

#include "workload.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define SIZE 64 /* bytes of a request, and of a reply */

/* Times of one request, by the clocks of its two ends, ns. */
struct sample {
	uint64_t asked, ask_done;       /* the client began to send it, and had */
	uint64_t replied, reply_done;   /* the same of the server and the reply */
	uint64_t planted;               /* what the server did on purpose meanwhile */
	uint64_t asleep, awake;         /* it slept from then to then, before it read */
	uint64_t busy_from, busy_until; /* it served another one then */
};

struct room {
	const char *comm; /* of the server's thread */
	void (*serve)(int fd);
	void (*serve_all)(const struct room *r); /* instead: accepts by itself */
	void (*ask)(int fd);
	const char *part;      /* of planted time; NULL: there is none */
	int family, kind;      /* 0: TCP */
	bool once;             /* a connection each */
	bool lost, unanswered; /* not separable; without a reply */
	int listener;
	pthread_t server;
	struct sockaddr_storage at;
	socklen_t length;
};

static inline int checked(int result, const char *what)
{
	if (result < 0)
		die("%s: %s", what, strerror(errno));
	return result;
}

static inline int room_accept(const struct room *r)
{
	return checked(accept4(r->listener, NULL, NULL, SOCK_CLOEXEC), "accept4");
}

static inline int room_socket(const struct room *r)
{
	return checked(socket(r->family ?: AF_INET, (r->kind ?: SOCK_STREAM) | SOCK_CLOEXEC, 0),
		       "socket");
}

static inline int room_connect(const struct room *r)
{
	int fd = room_socket(r), now = 1;

	if (!r->family)
		checked(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now)), "TCP_NODELAY");
	checked(connect(fd, (const void *)&r->at, r->length), "connect");
	return fd;
}

extern uint64_t count;

static void *room_serve(void *arg)
{
	const struct room *r = arg;
	int fd;

	rename_self(r->comm);
	if (r->serve_all) {
		r->serve_all(r);
		return NULL;
	}
	for (size_t i = 0; i < (r->once ? count : 1); i++) {
		fd = room_accept(r);
		r->serve(fd);
		close(fd);
	}
	return NULL;
}

static inline void room_open(struct room *r)
{
	struct sockaddr_in *in = (void *)&r->at;
	struct sockaddr_un *un = (void *)&r->at;

	if (r->family == AF_UNIX) {
		un->sun_family = AF_UNIX;
		r->length = offsetof(struct sockaddr_un, sun_path) +
			    snprintf(un->sun_path + 1, sizeof(un->sun_path) - 1, "%s", r->comm) + 1;
	} else {
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		r->length = sizeof(*in);
	}
	r->listener = room_socket(r);
	checked(bind(r->listener, (void *)&r->at, r->length), "bind");
	checked(listen(r->listener, 16), "listen");
	checked(getsockname(r->listener, (void *)&r->at, &r->length), "getsockname");
	if (pthread_create(&r->server, NULL, room_serve, r))
		die("no thread");
}

static inline void room_close(struct room *r)
{
	pthread_join(r->server, NULL);
	close(r->listener);
}
