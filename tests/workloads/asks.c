// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* asks: clients of a server of HTTP, that log each request by their own clock. */
#include "workload.h"
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

const char usage[] =
	"Usage: asks PORT PATH COUNT CLIENTS\n"
	"\n"
	"CLIENTS clients, each by a connection to PORT of the loopback device, ask for PATH COUNT\n"
	"times, one request after the other.  \"least\" and \"most\" are bounds of the time from\n"
	"the arrival of a request at the server to the reply: from when the client had sent it,\n"
	"or was about to, until the reply arrived at the client, as the kernel stamps it.\n";

#define REPLY 65536

static struct sockaddr_in server = {.sin_family = AF_INET};
static char request[512];
static size_t length;
static uint64_t count, clients;

struct client {
	pthread_t thread;
	struct series least, most;
};

static uint64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Read more; *ARRIVED: when the last of it did. */
static size_t hear(int fd, char *bytes, size_t size, uint64_t *arrived)
{
	char control[CMSG_SPACE(sizeof(struct timespec))];
	struct iovec io = {bytes, size};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	const ssize_t n = recvmsg(fd, &m, 0);
	struct cmsghdr *c;
	struct timespec t;

	if (n <= 0)
		die("no reply: %s", n ? strerror(errno) : "closed");
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_type != SCM_TIMESTAMPNS)
		die("no time of arrival");
	memcpy(&t, CMSG_DATA(c), sizeof(t));
	*arrived = t.tv_sec * 1000000000ULL + t.tv_nsec;
	return n;
}

/* A reply, with as much as its head says. */
static uint64_t hear_reply(int fd)
{
	static const char field[] = "\r\ncontent-length:";
	char bytes[REPLY], *head = NULL, *size;
	size_t n = 0, wanted = sizeof(bytes);
	uint64_t arrived = 0;

	while (n < wanted) {
		n += hear(fd, bytes + n, sizeof(bytes) - n - 1, &arrived);
		bytes[n] = 0;
		if (head || !(head = strstr(bytes, "\r\n\r\n")))
			continue;
		size = strcasestr(bytes, field);
		if (!size)
			die("a reply of unknown size");
		wanted = head + 4 - bytes + strtoul(size + sizeof(field) - 1, NULL, 10);
		if (wanted >= sizeof(bytes))
			die("a reply of %zu bytes", wanted);
	}
	return arrived;
}

static void *run(void *arg)
{
	struct client *c = arg;
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	uint64_t began, sent, arrived;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) ||
	    connect(fd, (const void *)&server, sizeof(server)))
		die("connect: %s", strerror(errno));
	pause_ns(100000000); /* until the kernel stamps what arrives */
	for (uint64_t i = 0; i < count; i++) {
		began = real_ns();
		if (send(fd, request, length, MSG_NOSIGNAL) != (ssize_t)length)
			die("send: %s", strerror(errno));
		sent = real_ns();
		arrived = hear_reply(fd);
		series_add(&c->least, arrived > sent ? arrived - sent : 0, false);
		series_add(&c->most, arrived > began ? arrived - began : 0, false);
	}
	close(fd);
	return NULL;
}

static void put_all(const char *name, const struct client *all, bool most)
{
	struct series sum;

	series_init(&sum, clients * count);
	for (uint64_t i = 0; i < clients; i++)
		for (uint64_t j = 0; j < count; j++)
			series_add(&sum, (most ? &all[i].most : &all[i].least)->ns[j], false);
	put(",\"%s\":{", name);
	put_figures(&sum);
	put("}");
	free(sum.ns);
}

int main(int argc, char **argv)
{
	static struct client all[64];

	help_if_asked(argc, argv);
	if (argc != 5)
		misuse("PORT PATH COUNT CLIENTS");
	server.sin_port = htons(parse_number(argv[1], "PORT", 1, 65535));
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	count = parse_number(argv[3], "COUNT", 1, 1000000);
	clients = parse_number(argv[4], "CLIENTS", 1, 64);
	length = snprintf(request, sizeof(request),
			  "GET %.400s HTTP/1.1\r\nHost: localhost\r\n\r\n", argv[2]);
	for (uint64_t i = 0; i < clients; i++) {
		series_init(&all[i].least, count);
		series_init(&all[i].most, count);
		if (pthread_create(&all[i].thread, NULL, run, &all[i]))
			die("no thread");
	}
	for (uint64_t i = 0; i < clients; i++)
		pthread_join(all[i].thread, NULL);
	report_begin();
	put_row_of("path", 0, argv[2], "", clients * count, 0);
	put_all("least", all, false);
	put_all("most", all, true);
	put("}");
	report_end();
	return 0;
}
