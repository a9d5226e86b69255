// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* loop: sends over the loopback device for some time. */
#include "workload.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

const char usage[] = "Usage: loop tcp|udp SECONDS [SIZE]\n"
		     "Call sendto without a pause, SIZE (1024) bytes at a time, to 127.0.0.1, "
		     "until SECONDS are\n"
		     "over or SIGTERM or SIGINT comes. Over TCP another thread receives.\n"
		     "\n"
		     "Gates: ready, go.\n";

#define MAX_SIZE 65507 /* of a datagram */
#define MAX_KEPT (1U << 26)

static volatile sig_atomic_t stop;
static char buffer[MAX_SIZE];
static int sender, receiver;

static void on_signal(int signal)
{
	stop = 1;
}

static int checked(int result, const char *what)
{
	if (result < 0)
		die("%s: %s", what, strerror(errno));
	return result;
}

static struct sockaddr_in bind_loopback(int fd)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	checked(bind(fd, (void *)&address, sizeof(address)), "bind to 127.0.0.1");
	checked(getsockname(fd, (void *)&address, &length), "getsockname");
	return address;
}

static void *receive(void *unused)
{
	static char into[1 << 16];

	while (syscall(SYS_recvfrom, receiver, into, sizeof(into), 0, NULL, NULL) > 0)
		;
	return unused;
}

static void open_tcp(void)
{
	struct sockaddr_in address;
	pthread_t thread;
	int listener;

	listener = checked(socket(AF_INET, SOCK_STREAM, 0), "socket");
	address = bind_loopback(listener);
	checked(listen(listener, 1), "listen");
	sender = checked(socket(AF_INET, SOCK_STREAM, 0), "socket");
	checked(connect(sender, (void *)&address, sizeof(address)), "connect to 127.0.0.1");
	receiver = checked(accept(listener, NULL, NULL), "accept");
	if (pthread_create(&thread, NULL, receive, NULL))
		die("cannot create a thread");
}

/* The socket sends to itself; datagrams that do not fit into its buffer are dropped silently. */
static void open_udp(void)
{
	struct sockaddr_in address;

	sender = checked(socket(AF_INET, SOCK_DGRAM, 0), "socket");
	address = bind_loopback(sender);
	checked(connect(sender, (void *)&address, sizeof(address)), "connect to 127.0.0.1");
}

/* The first MAX_KEPT calls are kept for the percentiles; untouched pages cost nothing. */
static void kept_init(struct series *s)
{
	*s = (struct series){.room = MAX_KEPT};
	s->ns = mmap(NULL, s->room * sizeof(*s->ns), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->ns == MAP_FAILED)
		die("mmap: %s", strerror(errno));
}

static void send_until(uint64_t deadline, uint64_t size, struct series *s)
{
	uint64_t begin = now_ns(), end;
	long result;

	while (!stop && begin < deadline && s->count < s->room) {
		result = syscall(SYS_sendto, sender, buffer, size, MSG_NOSIGNAL, NULL, 0);
		end = now_ns();
		series_add(s, end - begin, result < 0);
		begin = now_ns();
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	uint64_t seconds, size = 1024;
	struct series s;
	char comm[16];

	help_if_asked(argc, argv);
	if (argc != 3 && argc != 4)
		misuse("tcp or udp, and SECONDS are needed");
	seconds = parse_number(argv[2], "SECONDS", 1, 86400);
	if (argc == 4)
		size = parse_number(argv[3], "SIZE", 1, MAX_SIZE);
	if (!strcmp(argv[1], "tcp"))
		open_tcp();
	else if (!strcmp(argv[1], "udp"))
		open_udp();
	else
		misuse("'%s' is neither tcp nor udp", argv[1]);
	own_comm(comm);
	kept_init(&s);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	reached("ready");
	gate("go");
	send_until(now_ns() + seconds * 1000000000, size, &s);
	report_begin();
	put_row(own_tid(), comm, "sendto", s.count, s.errors);
	put(",\"size\":%llu,", (unsigned long long)size);
	put_figures(&s);
	put("}");
	report_end();
	return 0;
}
