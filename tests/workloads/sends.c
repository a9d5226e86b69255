// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sends: known numbers of sends of known sizes, over the loopback device. */
#include "workload.h"
#include "addresses.h"
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>

const char usage[] =
	"Usage: sends ADDRESS[@PORT],COUNT,SIZE[,HOW]...\n"
	"Send SIZE bytes to ADDRESS (IPv4, IPv6, or IPv4 mapped to IPv6; PORT if given), COUNT "
	"times,\n"
	"and so on, one after the other, from the main thread. Others, named receiver, receive.\n"
	"\n"
	"HOW        what it is\n"
	"send       over TCP, by send (that is, sendto); each sends all\n"
	"spread     the same by sendto, write, writev, sendmsg and sendmmsg in turn; a sendmmsg "
	"is\n"
	"           two sends\n"
	"file       over TCP, from a file in memory, by sendfile and splice in turn; SIZE is at "
	"most\n"
	"           a page, so that each is one send\n"
	"stall:MS   by send, to a receiver that lets the sender sleep for MS milliseconds each "
	"time;\n"
	"           SIZE has to be more than the sockets' buffers hold, 1000000 is\n"
	"epipe      by send, on a connection that was shut down for sending: EPIPE\n"
	"eagain     by send that does not wait, to a receiver that does not read, until COUNT of\n"
	"           them got EAGAIN\n"
	"udp        over UDP, by send; nobody reads\n"
	"\n"
	"There is a row for each destination and system call. In it, count is of system calls, "
	"sends\n"
	"of what TCP or UDP is asked for; asked and sent are bytes, failed tells errors by name. "
	"The\n"
	"times are of system calls; \"least\" is what a stall had to take.\n"
	"\n"
	"Gates: ready (all are connected), go.\n";

#define MAX_TARGETS 16
#define MAX_SIZE    (16 << 20)
#define MAX_FILLING 65536 /* sends until a buffer is full */
#define BUFFER_SIZE 131072

enum how { SEND, SPREAD, FILE_, STALL, EPIPE_, EAGAIN_, UDP };

static const char *const hows[] = {
	[SEND] = "send",    [SPREAD] = "spread",  [FILE_] = "file", [STALL] = "stall",
	[EPIPE_] = "epipe", [EAGAIN_] = "eagain", [UDP] = "udp",
};
#define HOWS (sizeof(hows) / sizeof(*hows))

enum { SENDTO, WRITE, WRITEV, SENDMSG, SENDMMSG, SENDFILE, SPLICE, SYSCALLS };

static const char *const syscalls[] = {"sendto",   "write",    "writev", "sendmsg",
				       "sendmmsg", "sendfile", "splice"};

/* What was sent to one target by one system call. */
struct account {
	struct series series;
	uint64_t sends, asked, sent;
};

struct target {
	enum how how;
	uint64_t count, size, stall_ns;
	struct sockaddr_storage remote, local;
	int sender, receiver;
	pthread_t thread;
	struct series least; /* of stalls */
	atomic_ulong turn;   /* the sender's next step is its turn-th send */
	struct account by[SYSCALLS];
	int error; /* the errno of its failed sends, all of which have the same */
};

static struct target targets[MAX_TARGETS];
static unsigned int ntargets;
static char *buffer;
static int sender_stat;
static int file, pipe_ends[2]; /* of FILE_ */

/* ---- connections ---- */

static int open_socket(const struct target *t)
{
	int type = t->how == UDP ? SOCK_DGRAM : SOCK_STREAM, size = BUFFER_SIZE;
	int fd = socket(t->remote.ss_family, type | SOCK_CLOEXEC, 0);

	if (fd < 0 && errno == EAFNOSUPPORT) {
		fprintf(stderr, "sends: no IPv6 here\n");
		exit(WORKLOAD_SKIP);
	}
	checked(fd, "socket");
	/* Fixed sizes, since buffers otherwise grow during a stall. */
	if (t->how == STALL) {
		checked(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), "SO_SNDBUF");
		checked(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), "SO_RCVBUF");
	}
	return fd;
}

static void connect_target(struct target *t)
{
	socklen_t length = sizeof(t->remote);
	char text[INET6_ADDRSTRLEN];
	int fd = open_socket(t), yes = 1;

	checked(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), "SO_REUSEADDR");
	checked(bind(fd, (void *)&t->remote, address_length(&t->remote)),
		address_text(&t->remote, text));
	checked(getsockname(fd, (void *)&t->remote, &length), "getsockname");
	if (t->how != UDP)
		checked(listen(fd, 1), "listen");
	t->sender = open_socket(t);
	checked(connect(t->sender, (void *)&t->remote, length), address_text(&t->remote, text));
	t->receiver = t->how == UDP ? fd : checked(accept(fd, NULL, NULL), "accept");
	length = sizeof(t->local);
	checked(getsockname(t->sender, (void *)&t->local, &length), "getsockname");
	if (t->how == EPIPE_)
		checked(shutdown(t->sender, SHUT_WR), "shutdown");
}

/* ---- receiving ---- */

static uint64_t receive(struct target *t, uint64_t most)
{
	static __thread char into[65536];
	uint64_t got = 0;
	long n;

	while (got < most) {
		n = syscall(SYS_recvfrom, t->receiver, into,
			    most - got < sizeof(into) ? most - got : sizeof(into), 0, NULL, NULL);
		if (n <= 0)
			break;
		got += n;
	}
	return got;
}

static void *receive_all(void *arg)
{
	struct target *t = arg;

	rename_self("receiver");
	receive(t, UINT64_MAX);
	return NULL;
}

/* A send that sleeps has filled all buffers: it cannot return before its data is read. */
static void *receive_late(void *arg)
{
	struct target *t = arg;
	uint64_t i;

	rename_self("receiver");
	prctl(PR_SET_TIMERSLACK, 1UL);
	for (i = 1; i <= t->count; i++) {
		while (atomic_load(&t->turn) < i)
			pause_ns(50000);
		await_state(sender_stat, 'S');
		pause_ns(t->stall_ns);
		if (receive(t, t->size) != t->size)
			die("a connection was lost");
	}
	return NULL;
}

static void start_receiver(struct target *t)
{
	void *(*work)(void *) = t->how == STALL ? receive_late : receive_all;

	if (t->how != SEND && t->how != SPREAD && t->how != FILE_ && t->how != STALL)
		return;
	if (pthread_create(&t->thread, NULL, work, t))
		die("cannot create a thread");
}

/* ---- sending ---- */

/* Send by one system call, as MESSAGES sends; returns bytes, or -1. */
static long send_by(const struct target *t, int kind, unsigned int messages)
{
	struct iovec all = {.iov_base = buffer, .iov_len = t->size};
	struct mmsghdr m[2] = {{.msg_hdr = {.msg_iov = &all, .msg_iovlen = 1}},
			       {.msg_hdr = {.msg_iov = &all, .msg_iovlen = 1}}};
	int flags = MSG_NOSIGNAL | (t->how == EAGAIN_ ? MSG_DONTWAIT : 0);
	off_t offset = 0;
	long n;

	switch (kind) {
	case SENDTO:
		return syscall(SYS_sendto, t->sender, buffer, t->size, flags, NULL, 0);
	case WRITE:
		return syscall(SYS_write, t->sender, buffer, t->size);
	case WRITEV:
		return syscall(SYS_writev, t->sender, &all, 1);
	case SENDMSG:
		return syscall(SYS_sendmsg, t->sender, &m[0].msg_hdr, flags);
	case SENDFILE:
		return syscall(SYS_sendfile, t->sender, file, &offset, t->size);
	case SPLICE:
		n = syscall(SYS_splice, file, &offset, pipe_ends[1], NULL, t->size, 0);
		return n < 0 ? n
			     : syscall(SYS_splice, pipe_ends[0], NULL, t->sender, NULL, t->size, 0);
	}
	n = syscall(SYS_sendmmsg, t->sender, m, messages, flags);
	if (n >= 0 && n < (long)messages)
		die("sendmmsg sent %ld of %u messages", n, messages);
	return n < 0 ? n : (long)(m[0].msg_len + (messages > 1 ? m[1].msg_len : 0));
}

/* Returns the number of sends made. */
static unsigned int send_once(struct target *t, int kind, uint64_t left)
{
	unsigned int messages = kind == SENDMMSG && left > 1 ? 2 : 1;
	struct account *a = &t->by[kind];
	uint64_t begin = now_ns();
	long n = send_by(t, kind, messages);

	series_add(&a->series, now_ns() - begin, n < 0);
	if (n < 0)
		t->error = errno;
	else if (t->how != EAGAIN_ && (uint64_t)n != messages * t->size)
		die("only %ld of %llu bytes were sent at once", n, (unsigned long long)t->size);
	a->sends += messages;
	a->asked += messages * t->size;
	a->sent += n < 0 ? 0 : n;
	return messages;
}

static int kind_of(enum how how, uint64_t call)
{
	return how == SPREAD ? call % SENDFILE : how == FILE_ ? SENDFILE + call % 2 : SENDTO;
}

static void send_all(struct target *t)
{
	uint64_t i, calls = 0;

	for (i = 0; i < t->count; calls++) {
		atomic_fetch_add(&t->turn, 1);
		i += send_once(t, kind_of(t->how, calls), t->count - i);
		if (t->how == STALL)
			series_add(&t->least, t->stall_ns, false);
		if (t->how == EAGAIN_)
			i = t->by[SENDTO].series.errors;
	}
	if (t->error && t->error != (t->how == EPIPE_ ? EPIPE : t->how == EAGAIN_ ? EAGAIN : 0))
		die("send: %s", strerror(t->error));
}

/* ---- arguments and report ---- */

static void parse_how(char *text, struct target *t)
{
	char *ms = strchr(text, ':');
	unsigned int i;

	if (ms)
		*ms++ = 0;
	for (i = 0; i < HOWS && strcmp(hows[i], text); i++)
		;
	if (i == HOWS || (i == STALL) != !!ms)
		misuse("unknown HOW: %s", text);
	t->how = i;
	t->stall_ns = ms ? parse_number(ms, "MS", 1, 10000) * 1000000 : 0;
}

static void parse_target(char *text, struct target *t)
{
	char *address = strsep(&text, ","), *count = strsep(&text, ",");
	char *size = strsep(&text, ","), *port = strchr(address, '@');

	if (!size)
		misuse("ADDRESS,COUNT,SIZE is needed, not '%s'", address);
	if (port)
		*port++ = 0;
	parse_address(address, port ? parse_number(port, "PORT", 1, 65535) : 0, &t->remote);
	t->count = parse_number(count, "COUNT", 0, 1000000);
	t->size = parse_number(size, "SIZE", 0, MAX_SIZE);
	if (text)
		parse_how(text, t);
	if (t->how == FILE_ && t->size > (uint64_t)getpagesize())
		misuse("file: SIZE is at most %d", getpagesize());
}

/* One page, the data of all sends of FILE_. */
static void make_file(void)
{
	file = checked(memfd_create("sends", MFD_CLOEXEC), "memfd_create");
	checked(ftruncate(file, getpagesize()), "ftruncate");
	checked(pipe2(pipe_ends, O_CLOEXEC), "pipe");
}

static void prepare(struct target *t)
{
	uint64_t room = t->count + (t->how == EAGAIN_ ? MAX_FILLING : 0);
	unsigned int kind;

	connect_target(t);
	for (kind = 0; kind < SYSCALLS; kind++)
		series_init(&t->by[kind].series, room);
	series_init(&t->least, t->count);
	start_receiver(t);
}

static void put_endpoint(const char *side, const struct sockaddr_storage *a)
{
	char text[INET6_ADDRSTRLEN];

	put(",\"%s_address\":\"%s\",\"%s_port\":%u", side, address_text(a, text), side, port_of(a));
}

static void report_account(struct target *t, int kind)
{
	struct account *a = &t->by[kind];
	char comm[16];

	own_comm(comm);
	put_row(own_tid(), comm, syscalls[kind], a->series.count, a->series.errors);
	put(",\"how\":\"%s\"", hows[t->how]);
	put_endpoint("remote", &t->remote);
	put_endpoint("local", &t->local);
	put(",\"sends\":%llu,\"size\":%llu,\"asked\":%llu,\"sent\":%llu,\"failed\":{",
	    (unsigned long long)a->sends, (unsigned long long)t->size, (unsigned long long)a->asked,
	    (unsigned long long)a->sent);
	if (a->series.errors)
		put("\"%s\":%llu", strerrorname_np(t->error), (unsigned long long)a->series.errors);
	put("},");
	put_figures(&a->series);
	if (t->how == STALL) {
		put(",\"least\":{");
		put_figures(&t->least);
		put("}");
	}
	put("}");
}

int main(int argc, char **argv)
{
	unsigned int i;
	int kind;

	help_if_asked(argc, argv);
	if (argc < 2 || argc > MAX_TARGETS + 1)
		misuse("1 to %d ADDRESS,COUNT,SIZE are needed", MAX_TARGETS);
	for (ntargets = 0; ntargets < (unsigned int)argc - 1; ntargets++)
		parse_target(argv[ntargets + 1], &targets[ntargets]);
	buffer = calloc(1, MAX_SIZE);
	if (!buffer)
		die("no memory");
	make_file();
	raise_loopback();
	sender_stat = open_stat(getpid(), own_tid());
	for (i = 0; i < ntargets; i++)
		prepare(&targets[i]);
	reached("ready");
	gate("go");
	for (i = 0; i < ntargets; i++)
		send_all(&targets[i]);
	report_begin();
	for (i = 0; i < ntargets; i++)
		for (kind = 0; kind < SYSCALLS; kind++)
			if (targets[i].by[kind].series.count)
				report_account(&targets[i], kind);
	report_end();
	return 0;
}
