// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* accepts: a server that sends on connections that it accepted, and the client that made them. */
#include "workload.h"
#include <arpa/inet.h>
#include <sys/socket.h>

const char usage[] =
	"Usage: accepts LISTEN CONNECT CONNECTIONS COUNT\n"
	"Listen on address LISTEN, at a port that the kernel chooses; a thread named client opens\n"
	"CONNECTIONS to it at CONNECT, every other one from a port that it bound before. Then\n"
	"COUNT times the server sends 100 bytes on each, and the client sends 100 bytes back.\n"
	"The loopback device is to be up. There is a row for each of the two, with \"port\", the\n"
	"server's.\n"
	"\n"
	"Gates: ready (all are connected), go.\n";

#define MAX_CONNECTIONS 64
#define SIZE            100

static struct sockaddr_storage listens, connects;
static uint64_t connections, rounds;
static int server_ends[MAX_CONNECTIONS], client_ends[MAX_CONNECTIONS];
static pid_t client_tid;

static int checked(int result, const char *what)
{
	if (result < 0)
		die("%s: %s", what, strerror(errno));
	return result;
}

static socklen_t parse_address(const char *text, struct sockaddr_storage *a)
{
	struct sockaddr_in *v4 = (void *)a;
	struct sockaddr_in6 *v6 = (void *)a;

	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) != 1)
		misuse("'%s' is not an address", text);
	v6->sin6_family = AF_INET6;
	return sizeof(*v6);
}

static int new_socket(const struct sockaddr_storage *a)
{
	int fd = socket(a->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 && errno == EAFNOSUPPORT) {
		fprintf(stderr, "accepts: no IPv6 here\n");
		exit(WORKLOAD_SKIP);
	}
	return checked(fd, "socket");
}

/* The port is at the same offset in addresses of both families. */
static in_port_t *port_of(struct sockaddr_storage *a)
{
	return &((struct sockaddr_in *)a)->sin_port;
}

static void connect_all(const char *listen_at, const char *connect_to)
{
	socklen_t listen_size = parse_address(listen_at, &listens);
	socklen_t connect_size = parse_address(connect_to, &connects);
	struct sockaddr_storage own = connects;
	int listener = new_socket(&listens);

	checked(bind(listener, (void *)&listens, listen_size), listen_at);
	checked(listen(listener, 1), "listen");
	checked(getsockname(listener, (void *)&listens, &listen_size), "getsockname");
	*port_of(&connects) = *port_of(&listens);
	for (uint64_t i = 0; i < connections; i++) {
		client_ends[i] = new_socket(&connects);
		if (i % 2)
			checked(bind(client_ends[i], (void *)&own, connect_size), "bind");
		checked(connect(client_ends[i], (void *)&connects, connect_size), connect_to);
		server_ends[i] = checked(accept(listener, NULL, NULL), "accept");
	}
}

static void send_on(int fd)
{
	static const char message[SIZE];

	if (syscall(SYS_sendto, fd, message, SIZE, MSG_NOSIGNAL, NULL, 0) != SIZE)
		die("send: %s", strerror(errno));
}

static void receive_on(int fd)
{
	char message[SIZE];

	if (syscall(SYS_recvfrom, fd, message, SIZE, MSG_WAITALL, NULL, NULL) != SIZE)
		die("receive: %s", strerror(errno));
}

static void *answer(void *unused)
{
	rename_self("client");
	client_tid = own_tid();
	for (uint64_t i = 0; i < rounds * connections; i++) {
		receive_on(client_ends[i % connections]);
		send_on(client_ends[i % connections]);
	}
	return unused;
}

static void report(pid_t tid, const char *comm)
{
	put_row(tid, comm, "sendto", rounds * connections, 0);
	put(",\"port\":%u}", ntohs(*port_of(&listens)));
}

int main(int argc, char **argv)
{
	pthread_t client;

	help_if_asked(argc, argv);
	if (argc != 5)
		misuse("LISTEN, CONNECT, CONNECTIONS and COUNT are needed");
	connections = parse_number(argv[3], "CONNECTIONS", 1, MAX_CONNECTIONS);
	rounds = parse_number(argv[4], "COUNT", 0, 1000000);
	connect_all(argv[1], argv[2]);
	reached("ready");
	gate("go");
	if (pthread_create(&client, NULL, answer, NULL))
		die("cannot create a thread");
	for (uint64_t i = 0; i < rounds * connections; i++) {
		send_on(server_ends[i % connections]);
		receive_on(server_ends[i % connections]);
	}
	pthread_join(client, NULL);
	report_begin();
	report(own_tid(), "accepts");
	report(client_tid, "client");
	report_end();
	return 0;
}
