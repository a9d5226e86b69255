// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * peers: slow calls on pipes and sockets whose other ends children have open.
 *
 * Each child has a name, and sends or takes something after 200 ms.  All children, but for those
 * that are to exit, live until the gate "end".
 */
#include "workload.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

const char usage[] = "Usage: peers DIRECTORY\n"
		     "Make calls of 200 ms, with a unix socket in DIRECTORY.\n"
		     "\n"
		     "Gates: ready, go, done, end.\n";

#define WAIT_NS 200000000
#define MOST    32

struct slow {
	const char *name, *case_name, *comm;
	int fd, result, others, credentials;
	bool returned; /* the other end is that of the descriptor that the call returned */
	pid_t peer;    /* 0: there is none */
};

static struct slow all[MOST];
static size_t n;
static pid_t children[MOST];
static size_t n_children;

static void later(void)
{
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = WAIT_NS},
		NULL);
}

/* In the child: what it does is done, and it stays as it is. */
__attribute__((noreturn)) static void stay(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause_ns(1000000000);
}

/* 0: in the child, which has this name. */
static pid_t child(const char *name)
{
	pid_t pid = fork_or_die();

	if (!pid)
		rename_self(name);
	else
		children[n_children++] = pid;
	return pid;
}

static struct slow *begin(const char *case_name, const char *call, int fd, pid_t peer,
			  const char *comm)
{
	struct slow *s = &all[n++];

	*s = (struct slow){
		.name = call, .case_name = case_name, .comm = comm, .fd = fd, .peer = peer};
	return s;
}

static void slow_read(const char *case_name, int fd, pid_t peer, const char *comm)
{
	struct slow *s = begin(case_name, "read", fd, peer, comm);

	s->result = syscall(SYS_read, fd, &(char){0}, 1);
}

static void writes(int fd)
{
	later();
	if (syscall(SYS_write, fd, "x", 1) != 1)
		die("write: %s", strerror(errno));
}

static void on_pipes(void)
{
	int ends[2];
	struct slow *s;
	pid_t pid, other;

	make_pipe(ends);
	pid = child("pipe writer");
	if (!pid) {
		close(ends[0]);
		writes(ends[1]);
		stay();
	}
	close(ends[1]);
	slow_read("a pipe's writer", ends[0], pid, "pipe writer");

	make_pipe(ends);
	fcntl(ends[1], F_SETPIPE_SZ, 4096);
	while (fcntl(ends[1], F_SETFL, O_NONBLOCK), write(ends[1], (char[512]){0}, 512) > 0)
		;
	fcntl(ends[1], F_SETFL, 0);
	pid = child("pipe reader");
	if (!pid) {
		close(ends[1]);
		later();
		while (read(ends[0], (char[4096]){0}, 4096) > 0)
			;
		stay();
	}
	close(ends[0]);
	s = begin("a pipe's reader", "write", ends[1], pid, "pipe reader");
	s->result = syscall(SYS_write, ends[1], (char[512]){0}, 512);

	/* The one that writes is the second; the first has the pipe open, too. */
	make_pipe(ends);
	other = child("pipe bystander");
	if (!other)
		stay();
	pid = child("one of two");
	if (!pid) {
		writes(ends[1]);
		stay();
	}
	close(ends[1]);
	slow_read("a pipe's writers", ends[0], pid, "one of two");
	all[n - 1].others = 1;
}

/* Its writer is gone when the call is printed. */
static void on_short_lived(void)
{
	int ends[2];
	pid_t pid;

	make_pipe(ends);
	pid = child("short lived");
	if (!pid) {
		writes(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	slow_read("a writer that has exited", ends[0], pid, "short lived");
}

static int credentials_of(int fd)
{
	struct ucred who = {};
	socklen_t length = sizeof(who);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length);
	return who.pid;
}

static void on_pair(void)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		die("socketpair");
	pid = child("pair");
	if (!pid) {
		close(pair[0]);
		writes(pair[1]);
		stay();
	}
	close(pair[1]);
	slow_read("a pair of sockets", pair[0], pid, "pair");
	all[n - 1].credentials = credentials_of(pair[0]);
}

/* A child serves one connection. */
static void serve(int listener)
{
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		die("accept: %s", strerror(errno));
	writes(fd);
	stay();
}

/* The connection is taken by another process than the one that listened. */
static void on_server(const char *case_name, int listener, const struct sockaddr *address,
		      socklen_t length, const char *comm)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid = child(comm);

	if (!pid) {
		close(fd);
		serve(listener);
	}
	close(listener);
	if (connect(fd, address, length))
		die("connect: %s", strerror(errno));
	slow_read(case_name, fd, pid, comm);
	if (address->sa_family == AF_UNIX)
		all[n - 1].credentials = credentials_of(fd);
}

static void on_unix(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "peers.sock"};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;

	if (bind(listener, (void *)&address, sizeof(address)) || listen(listener, 1))
		die("peers.sock: %s", strerror(errno));
	/* Nobody accepts this one: only who listened is known. */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_usec = WAIT_NS / 1000},
		   sizeof(struct timeval));
	if (connect(fd, (void *)&address, sizeof(address)))
		die("connect: %s", strerror(errno));
	slow_read("a connection that is not accepted", fd, getpid(), "peers");
	all[n - 1].credentials = credentials_of(fd);
	close(accept(listener, NULL, NULL));
	on_server("a unix server", listener, (void *)&address, sizeof(address), "unix server");
	unlink(address.sun_path);
}

static int bound(int family, int type, struct sockaddr_storage *address, socklen_t *length)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in four = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	*length = family == AF_INET ? sizeof(four) : sizeof(six);
	if (fd < 0 || bind(fd, family == AF_INET ? (void *)&four : (void *)&six, *length))
		return -1;
	getsockname(fd, (void *)address, length);
	return fd;
}

static void on_tcp(int family, const char *case_name, const char *comm)
{
	struct sockaddr_storage address;
	socklen_t length;
	int listener = bound(family, SOCK_STREAM, &address, &length);

	if (listener < 0 || listen(listener, 3))
		return; /* there is no IPv6 */
	on_server(case_name, listener, (void *)&address, length, comm);
}

static void on_udp(void)
{
	struct sockaddr_storage theirs, own;
	socklen_t length, own_length;
	int server = bound(AF_INET, SOCK_DGRAM, &theirs, &length),
	    fd = bound(AF_INET, SOCK_DGRAM, &own, &own_length);
	pid_t pid;

	connect(fd, (void *)&theirs, length);
	pid = child("udp server");
	if (!pid) {
		close(fd);
		later();
		sendto(server, "x", 1, 0, (void *)&own, own_length);
		stay();
	}
	close(server);
	slow_read("a server of datagrams", fd, pid, "udp server");
}

static void on_accept(void)
{
	struct sockaddr_storage address;
	socklen_t length;
	int listener = bound(AF_INET, SOCK_STREAM, &address, &length);
	struct slow *s;
	pid_t pid;

	listen(listener, 3);
	pid = child("tcp client");
	if (!pid) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		close(listener);
		later();
		connect(fd, (void *)&address, length);
		stay();
	}
	s = begin("a client", "accept4", listener, pid, "tcp client");
	s->returned = true;
	s->result = syscall(SYS_accept4, listener, NULL, NULL, SOCK_CLOEXEC);
}

static void report(void)
{
	report_begin();
	for (size_t i = 0; i < n; i++) {
		put_row(own_tid(), "peers", all[i].name, 1, all[i].result < 0);
		put(",\"fd\":%d,\"peer\":%d,\"others\":%d,\"credentials\":%d,\"returned\":%s,",
		    all[i].returned ? all[i].result : all[i].fd, all[i].peer, all[i].others,
		    all[i].credentials, all[i].returned ? "true" : "false");
		put_string("case", all[i].case_name);
		put(",");
		put_string("peer_comm", all[i].comm);
		put("}");
	}
	report_end();
}

int main(int argc, char **argv)
{
	help_if_asked(argc, argv);
	if (argc != 2)
		misuse("DIRECTORY is needed");
	if (chdir(argv[1]))
		die("%s: %s", argv[1], strerror(errno));
	reached("ready");
	gate("go");
	on_pipes();
	on_short_lived();
	on_pair();
	on_unix();
	on_tcp(AF_INET, "a TCP server", "tcp server");
	on_tcp(AF_INET6, "a TCP server, IPv6", "tcp6 server");
	on_udp();
	on_accept();
	reached("done");
	gate("end");
	for (size_t i = 0; i < n_children; i++) {
		kill(children[i], SIGKILL);
		reap(children[i]);
	}
	report();
	return 0;
}
