// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* edges: connections that are made, accepted and lose segments, in a network namespace of its own.
 */
#include "edges-listeners.h"
#include "edges-losses.h"

const char usage[] =
	"Usage: edges MODE ADDRESS\n"
	"In a new network namespace, at ADDRESS (127.0.0.1, ::1; to be accepted also unix, "
	"abstract):\n"
	"  lose     23 connections: one message on each, whose receiver drops all for 50 ms, and "
	"one for\n"
	"           300 ms; then one whose SYN is dropped for 300 ms, and one whose SYN-ACK is\n"
	"  random   8 connections, of as many threads: 300,000 bytes on each, of which the "
	"receiver drops\n"
	"           each 10th packet\n"
	"  connect  23 connections; 7 that are refused; 3 that time out; 5 that are closed before; "
	"and one\n"
	"           that is still being made when it waits at the gate end\n"
	"  accept   23 connections that wait for 50 ms; of TCP then 8 at a listener with a backlog "
	"of 2, of\n"
	"           which 3 are accepted after 1.2 s, and 3 that are not, before their listener is "
	"closed\n"
	"  copies   a connection whose SYN-ACKs are dropped for 2.3 s, and one of which all "
	"acknowledgements\n"
	"           are; what was sent arrived\n"
	"  hang     4 connections, of TCP 8, to a listener with a backlog of 2 that accepts none, "
	"the "
	"first\n"
	"           before the gate ready; they wait at the gate end\n"
	"  share    40 connections to two listeners of one port, one of another process, with a "
	"backlog of\n"
	"           2 each, that accept none; they wait at the gate end\n"
	"  again    a process that listens ends, and another gets its number, listens at the same "
	"port with\n"
	"           a backlog of 2 and accepts none of 8 connections; they wait at the gate end\n"
	"  queue    a connection each 2 ms, before the gate ready until the gate go; none is "
	"accepted\n"
	"  crowd    6 threads, each 100 connections to one listener with a backlog of 2\n"
	"  storm    8 threads, each 500 connections to a listener of its own, which it accepts\n"
	"What the kernel counts in that namespace is in the report.\n"
	"\n"
	"Gates: ready, go, done, end (connect).\n";

/* --- modes --- */

/* A row of connections that ended as RESULT; the caller closes the brace. */
static void put_result(const char *result, struct series *took)
{
	char comm[16];

	own_comm(comm);
	put_row_of("result", own_tid(), comm, result, took->count, 0);
	put(",");
	put_figures(took);
	put("}");
}

static void time_out(struct series *took)
{
	struct pollfd polled[3];
	uint64_t began[3];
	unsigned int ms = 500;

	for (int i = 0; i < 3; i++) {
		polled[i] = (struct pollfd){.fd = new_socket(SOCK_NONBLOCK), .events = POLLOUT};
		checked(setsockopt(polled[i].fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms)),
			"TCP_USER_TIMEOUT");
		began[i] = now_ns();
		begin_connect(polled[i].fd);
	}
	for (int i = 0; i < 3; i++) {
		checked(poll(&polled[i], 1, 20000), "poll");
		series_add(took, now_ns() - began[i], true);
	}
}

/* In one of three ways. */
static void give_up(int fd, int way)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};

	if (way % 3 == 0)
		close(fd);
	else if (way % 3 == 1)
		checked(shutdown(fd, SHUT_RDWR), "shutdown");
	else
		checked(connect(fd, &none, sizeof(none)), "connect to AF_UNSPEC");
}

static void connect_each(void)
{
	int listener = listen_at(7101, 64), fds[5];
	struct series took[4];
	uint64_t began[5];

	for (int i = 0; i < 4; i++)
		series_init(&took[i], CONNECTIONS);
	for (int i = 0; i < CONNECTIONS; i++) {
		began[0] = now_ns();
		close(connect_or_die());
		series_add(&took[0], now_ns() - began[0], false);
		close(accepted(listener));
	}
	((struct sockaddr_in *)&at)->sin_port = htons(7199);
	for (int i = 0; i < 7; i++) {
		int fd = new_socket(0);

		began[0] = now_ns();
		if (!connect(fd, (void *)&at, at_length) || errno != ECONNREFUSED)
			die("connect to a port without a listener: %s", strerror(errno));
		series_add(&took[1], now_ns() - began[0], true);
		close(fd);
	}
	((struct sockaddr_in *)&at)->sin_port = htons(7101);
	drop_all(listener);
	time_out(&took[2]);
	for (int i = 0; i < 5; i++) {
		began[i] = now_ns();
		fds[i] = begin_connect(new_socket(SOCK_NONBLOCK));
	}
	pause_ms(100);
	for (int i = 0; i < 5; i++) {
		give_up(fds[i], i);
		series_add(&took[3], now_ns() - began[i], false);
	}
	begin_connect(new_socket(SOCK_NONBLOCK));
	reached("done");
	gate("end");
	put_result("established", &took[0]);
	put_result("refused", &took[1]);
	put_result("timed-out", &took[2]);
	put_result("closed", &took[3]);
}

/* The listener has room for 3: one more than its backlog. */
static void overflow(void)
{
	int listener = listen_at(7200, 2), fds[8];

	for (int i = 0; i < 8; i++)
		fds[i] = begin_connect(new_socket(SOCK_NONBLOCK));
	pause_ms(1200);
	for (int i = 0; i < 3; i++)
		close(accepted(listener));
	for (int i = 0; i < 8; i++)
		close(fds[i]);
	close(listener);
	listener = listen_at(7300, 8);
	for (int i = 0; i < 3; i++)
		connect_or_die();
	close(listener);
}

static void accept_each(void)
{
	int listener = listen_at(7101, 64);
	uint64_t before[CONNECTIONS], after[CONNECTIONS], now;
	struct series least, most;

	series_init(&least, CONNECTIONS);
	series_init(&most, CONNECTIONS);
	for (int i = 0; i < CONNECTIONS; i++) {
		before[i] = now_ns();
		connect_or_die();
		after[i] = now_ns();
	}
	pause_ms(50);
	for (int i = 0; i < CONNECTIONS; i++) {
		now = now_ns();
		accepted(listener);
		series_add(&least, now - after[i], false);
		series_add(&most, now_ns() - before[i], false);
	}
	put_result("least", &least);
	put_result("most", &most);
	if (at.ss_family != AF_UNIX)
		overflow();
}

static void *connect_in_crowd(void *end)
{
	(void)end;
	for (int i = 0; i < CROWD_EACH; i++)
		close(connect_or_die());
	return NULL;
}

static void crowd(void)
{
	pthread_t threads[CROWD];
	int listener = listen_at(7500, 2);

	for (int i = 0; i < CROWD; i++)
		if (pthread_create(&threads[i], NULL, connect_in_crowd, NULL))
			die("cannot create a thread");
	for (int i = 0; i < CROWD * CROWD_EACH; i++)
		close(accepted(listener));
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	put_plain_row("accept", CROWD * CROWD_EACH, 0);
	json_length--;
}

static void *connect_often(void *end)
{
	struct sockaddr_storage own = at;
	socklen_t length = at_length;
	int listener = new_socket(0), fd;

	(void)end;
	((struct sockaddr_in *)&own)->sin_port = 0;
	checked(bind(listener, (void *)&own, length), "bind");
	checked(listen(listener, 8), "listen");
	checked(getsockname(listener, (void *)&own, &length), "getsockname");
	for (int i = 0; i < STORM; i++) {
		fd = new_socket(0);
		checked(connect(fd, (void *)&own, length), "connect");
		close(accepted(listener));
		close(fd);
	}
	close(listener);
	return NULL;
}

static void storm(void)
{
	in_threads(connect_often, NULL);
	put_plain_row("connect", PAIRS * STORM, 0);
	json_length--;
}

static const struct {
	const char *name;
	void (*run)(void);
	bool closed; /* it closed the brace of its last row */
	void (*before)(void);
} modes[] = {
	{"lose", lose, .closed = false},           {"random", lose_randomly, .closed = false},
	{"copies", lose_answers, .closed = false}, {"connect", connect_each, .closed = true},
	{"accept", accept_each, .closed = true},   {"hang", hang, .before = hang_before},
	{"share", share, .before = share_before},  {"again", again, .before = again_before},
	{"queue", queue, .before = queue_before},  {"crowd", crowd, .closed = false},
	{"storm", storm, .closed = false},
};

static void set_address(const char *text)
{
	static const char path[] = "plumb-edges.sock", name[] = "\0plumb\0\x1b[\"\xff";
	struct sockaddr_un *un = (void *)&at;
	const bool abstract = !strcmp(text, "abstract");
	const size_t length = abstract ? sizeof(name) - 1 : sizeof(path) - 1;

	if (strcmp(text, "unix") && !abstract) {
		parse_address(text, 0, &at);
		at_length = address_length(&at);
		return;
	}
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path, abstract ? name : path, length);
	at_length = offsetof(struct sockaddr_un, sun_path) + length;
	unlink(path);
}

int main(int argc, char **argv)
{
	size_t mode = 0;

	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("MODE and ADDRESS are needed");
	while (mode < sizeof(modes) / sizeof(*modes) && strcmp(modes[mode].name, argv[1]) != 0)
		mode++;
	if (mode == sizeof(modes) / sizeof(*modes))
		misuse("no such mode: %s", argv[1]);
	set_address(argv[2]);
	if (unshare(CLONE_NEWNET)) {
		fprintf(stderr, "edges: no network namespace: %s\n", strerror(errno));
		return WORKLOAD_SKIP;
	}
	raise_loopback();
	if (modes[mode].before)
		modes[mode].before();
	reached("ready");
	gate("go");
	report_begin();
	modes[mode].run();
	if (modes[mode].closed) {
		put(",{");
		put_string("comm", "kernel");
	}
	put_counters();
	put("}");
	report_end();
	return 0;
}
