// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * descriptors: slow calls on files, sockets, pipes and the like.
 *
 * For each the report has what the descriptor was, from /proc/self/fd, getpeername() and
 * getsockname() before the call.  Right after it the number is another file's.
 */
#include "descriptors-known.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>

const char usage[] = "Usage: descriptors DIRECTORY\n"
		     "Make calls of 100 ms on files in DIRECTORY and in /dev/shm, and others.\n"
		     "\n"
		     "Gates: ready, go.\n";

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

static void on_pipes(void)
{
	static const struct {
		const char *kind;
		int what;
	} both[] = {{"pipe", WRITE}, {"closed", CLOSE_AND_WRITE}};
	struct slow *s;
	int ends[2];

	for (int i = 0; i < 2; i++) {
		if (pipe2(ends, O_CLOEXEC))
			die("pipe2");
		s = begin("read", both[i].kind, ends[0]);
		link_text(ends[0], s->text, sizeof(s->text));
		strcat(s->text, " read end");
		if (i)
			strcpy(s->text, "closed");
		slow_read(s, both[i].what, ends[1]);
	}
}

static void nothing(int signal)
{
	(void)signal;
}

/* Of two pipes the second becomes ready; then the first alone does not; then a signal ends a poll.
 */
static void on_polls(void)
{
	const struct itimerval alarm = {.it_value.tv_usec = WAIT_NS / 1000};
	const struct sigaction ignored = {.sa_handler = nothing};
	const struct timespec soon = {.tv_nsec = WAIT_NS}, late = {.tv_sec = 100};
	int first[2], second[2];
	struct later l;
	struct slow *s;

	if (pipe2(first, O_CLOEXEC) || pipe2(second, O_CLOEXEC))
		die("pipe2");
	struct pollfd both[] = {{.fd = first[0], .events = POLLIN},
				{.fd = second[0], .events = POLLIN}};

	s = begin("ppoll", "pipe", second[0]);
	link_text(second[0], s->text, sizeof(s->text));
	strcat(s->text, " read end");
	start_later(&l, WRITE, second[1], -1);
	s->result = syscall(SYS_ppoll, both, 2, &late, NULL, 8);
	reuse(second[0]);
	end_later(&l);
	s = begin("ppoll", "pipe", first[0]);
	link_text(first[0], s->text, sizeof(s->text));
	strcat(s->text, " read end");
	s->result = syscall(SYS_ppoll, both, 1, &soon, NULL, 8);
	reuse(first[0]);
	if (pipe2(first, O_CLOEXEC) || sigaction(SIGALRM, &ignored, NULL) ||
	    setitimer(ITIMER_REAL, &alarm, NULL))
		die("setitimer");
	both[0].fd = first[0];
	syscall(SYS_ppoll, both, 1, &late, NULL, 8);
}

static void on_events(void)
{
	const struct itimerspec soon = {.it_value.tv_nsec = WAIT_NS};
	struct epoll_event event;
	struct slow *s;
	int fd;

	fd = eventfd(0, EFD_CLOEXEC);
	s = begin("read", "anon_inode", fd);
	link_text(fd, s->text, sizeof(s->text));
	slow_read(s, WRITE, dup(fd));

	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	s = begin("read", "anon_inode", fd);
	link_text(fd, s->text, sizeof(s->text));
	timerfd_settime(fd, 0, &soon, NULL);
	s->result = syscall(SYS_read, fd, &(uint64_t){0}, 8);
	reuse(fd);

	fd = epoll_create1(EPOLL_CLOEXEC);
	s = begin("epoll_pwait", "anon_inode", fd);
	link_text(fd, s->text, sizeof(s->text));
	s->result = syscall(SYS_epoll_pwait, fd, &event, 1, WAIT_NS / 1000000, NULL, 8);
	reuse(fd);
}

/* Waits for the lock of another open file of PATH; both are gone afterwards. */
static void on_file(const char *path, bool deleted)
{
	int holder = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct later l;
	struct slow *s;

	if (holder < 0 || fd < 0)
		die("%s: %s", path, strerror(errno));
	if (deleted)
		unlink(path);
	flock(holder, LOCK_EX);
	s = begin("flock", "file", fd);
	link_text(fd, s->text, sizeof(s->text));
	start_later(&l, UNLOCK, holder, -1);
	s->result = syscall(SYS_flock, fd, LOCK_EX);
	reuse(fd);
	end_later(&l);
	close(holder);
	if (!deleted)
		unlink(path);
}

static void on_files(void)
{
	char path[200], deep[1200] = ".";
	int memfd;

	on_file("plumb-file", false);
	on_file("plumb-deleted", true);
	on_file("plumb \\ odd\n<name>", false);
	if (!access("/dev/shm", W_OK)) {
		snprintf(path, sizeof(path), "/dev/shm/plumb-%d", getpid());
		on_file(path, false);
	}
	memfd = memfd_create("plumb", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memfd);
	if (memfd >= 0)
		on_file(path, false);
	/* Longer than what is kept. */
	for (int i = 0; i < 4; i++) {
		sprintf(deep + strlen(deep), "/%0100d", i);
		mkdir(deep, 0700);
	}
	strcat(deep, "/file");
	on_file(deep, false);
}

static int tcp_listener(int family)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in four = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 ||
	    (family == AF_INET ? bind(fd, (void *)&four, sizeof(four))
			       : bind(fd, (void *)&six, sizeof(six))) ||
	    listen(fd, 3))
		return -1;
	return fd;
}

static void on_tcp(int family)
{
	int listener = tcp_listener(family), client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    fd;
	struct later l;
	struct slow *s;

	if (listener < 0)
		return; /* there is no IPv6 */
	s = begin("accept4", "socket", listener);
	socket_text(listener, false, "tcp listening on ", s->text, sizeof(s->text));
	start_later(&l, CONNECT, client, listener);
	fd = s->result = syscall(SYS_accept4, listener, NULL, NULL, SOCK_CLOEXEC);
	socket_text(fd, true, "tcp ", s->returned, sizeof(s->returned));
	reuse(listener);
	end_later(&l);

	s = begin("read", "socket", fd);
	socket_text(fd, true, "tcp ", s->text, sizeof(s->text));
	slow_read(s, WRITE, client);
	close(client);
}

static void on_udp(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct timeval timeout = {.tv_usec = WAIT_NS / 1000};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct slow *s = begin("recvfrom", "socket", fd);

	bind(fd, (void *)&address, sizeof(address));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	socket_text(fd, false, "udp not connected, local ", s->text, sizeof(s->text));
	s->result = syscall(SYS_recvfrom, fd, &(char){0}, 1, 0, NULL, NULL);
	reuse(fd);
}

static void on_abstract(void)
{
	static const struct sockaddr_un address = {.sun_family = AF_UNIX,
						   .sun_path = "\0plumb\0two"};
	const socklen_t size = offsetof(struct sockaddr_un, sun_path) + sizeof("\0plumb\0two") - 1;
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct slow *s;

	if (bind(listener, (void *)&address, size) || listen(listener, 1) ||
	    connect(client, (void *)&address, size))
		die("an abstract name: %s", strerror(errno));
	s = begin("read", "socket", client);
	snprintf(s->text, sizeof(s->text), "unix to @plumb@two");
	slow_read(s, WRITE, accept(listener, NULL, NULL));
	close(listener);
}

static void on_unix(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "plumb.sock"};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, pair[2];
	struct slow *s;

	if (bind(listener, (void *)&address, sizeof(address)) || listen(listener, 1) ||
	    connect(client, (void *)&address, sizeof(address)))
		die("plumb.sock: %s", strerror(errno));
	fd = accept(listener, NULL, NULL);
	s = begin("read", "socket", client);
	snprintf(s->text, sizeof(s->text), "unix to %s", address.sun_path);
	slow_read(s, WRITE, dup(fd));
	client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	connect(client, (void *)&address, sizeof(address));
	fd = accept(listener, NULL, NULL);
	s = begin("read", "socket", fd);
	snprintf(s->text, sizeof(s->text), "unix %s", address.sun_path);
	slow_read(s, WRITE, client);
	unlink(address.sun_path);
	close(listener);

	on_abstract();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		die("socketpair");
	s = begin("read", "socket", pair[0]);
	link_text(pair[0], s->text, sizeof(s->text));
	memmove(s->text, "unix", 4); /* "socket:[123]" */
	memmove(s->text + 4, s->text + 6, strlen(s->text + 5));
	slow_read(s, WRITE, pair[1]);
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
	on_polls();
	on_events();
	on_files();
	on_tcp(AF_INET);
	on_tcp(AF_INET6);
	on_udp();
	on_unix();
	report_begin();
	for (size_t i = 0; i < n; i++) {
		put_row(own_tid(), "descriptors", all[i].name, 1, all[i].result < 0);
		put(",\"fd\":%d,\"ret\":%d,", all[i].fd, all[i].result);
		put_string("kind", all[i].kind);
		put(",");
		put_string("text", all[i].text);
		put(",");
		put_string("returned", all[i].returned);
		put("}");
	}
	report_end();
	return 0;
}
