// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* contend: many threads make the same call at the same time, more threads than CPUs. */
#include "workload.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

const char usage[] =
	"Usage: contend THREADS N CALL\n"
	"Make N of CALL in each of THREADS threads at the same time, each of which stamps its "
	"own,\n"
	"and join them. They are named contender.\n"
	"\n"
	"CALL      what it is\n"
	"getppid   the cheapest system call\n"
	"lseek     in /dev/null, by the kernel's function null_lseek\n"
	"pread     of 100 bytes of a file that has no name, in the page cache\n"
	"yield     sched_yield: the thread gives its CPU to another, if one waits for it\n"
	"sleep     nanosleep for 50 us\n"
	"send      of 100 bytes over TCP, each thread on a connection of its own, and a recv of\n"
	"          them by the same thread, which is not counted\n"
	"datagram  send of 100 bytes over UDP, to a socket that nobody reads: one socket buffer\n"
	"\n"
	"\"switches\" is how often the thread left its CPU meanwhile, by its own resource usage.\n"
	"Gates: ready (all threads are there), go.\n";

#define MAX_THREADS 64
#define SIZE        100

struct worker {
	pthread_t thread;
	pid_t tid;
	int fd, peer; /* where it sends, and what receives it */
	long voluntary, involuntary;
	struct series series;
};

struct kind {
	const char *name, *syscall;
	void (*prepare)(struct worker *w);
	long (*call)(const struct worker *w);
	void (*after)(const struct worker *w); /* not timed */
};

static const struct kind *kind;
static uint64_t repeats;
static pthread_barrier_t begin;
static char buffer[SIZE];

static long call_getppid(const struct worker *w)
{
	return syscall(SYS_getppid);
}

static void open_null(struct worker *w)
{
	w->fd = open_uncounted("/dev/null", O_RDWR | O_CLOEXEC);
	if (w->fd < 0)
		die("/dev/null: %s", strerror(errno));
}

static long call_lseek(const struct worker *w)
{
	return syscall(SYS_lseek, w->fd, 0, SEEK_SET);
}

/* The file is one of the folder's file system. */
static void open_file(struct worker *w)
{
	w->fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (w->fd < 0)
		die("O_TMPFILE: %s", strerror(errno));
	if (write(w->fd, "", 1) != 1 || ftruncate(w->fd, SIZE))
		die("write: %s", strerror(errno));
}

static long call_pread(const struct worker *w)
{
	char bytes[SIZE];

	return syscall(SYS_pread64, w->fd, bytes, sizeof(bytes), 0L);
}

static long call_yield(const struct worker *w)
{
	return syscall(SYS_sched_yield);
}

static void tighten_timers(struct worker *w)
{
	prctl(PR_SET_TIMERSLACK, 1UL);
}

static long call_sleep(const struct worker *w)
{
	struct timespec t = {.tv_nsec = 50000};

	return syscall(SYS_nanosleep, &t, NULL);
}

/* A socket of the loopback device, with an address. */
static int bound_socket(int type, struct sockaddr_in *name)
{
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(*name);

	*name = (struct sockaddr_in){.sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, (void *)name, size) || getsockname(fd, (void *)name, &size))
		die("a socket of 127.0.0.1: %s", strerror(errno));
	return fd;
}

static void connect_to(struct worker *w, int type, const struct sockaddr_in *name)
{
	w->fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	if (w->fd < 0 || connect(w->fd, (const void *)name, sizeof(*name)))
		die("connect: %s", strerror(errno));
}

static void open_connection(struct worker *w)
{
	struct sockaddr_in name;
	int listener = bound_socket(SOCK_STREAM, &name), on = 1;

	if (listen(listener, 1))
		die("listen: %s", strerror(errno));
	connect_to(w, SOCK_STREAM, &name);
	w->peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (w->peer < 0 || setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		die("accept: %s", strerror(errno));
	close(listener);
}

static void open_datagrams(struct worker *w)
{
	struct sockaddr_in name;

	w->peer = bound_socket(SOCK_DGRAM, &name);
	connect_to(w, SOCK_DGRAM, &name);
}

static long call_send(const struct worker *w)
{
	return syscall(SYS_sendto, w->fd, buffer, SIZE, MSG_NOSIGNAL, NULL, 0);
}

static void receive(const struct worker *w)
{
	char into[SIZE];

	if (recv(w->peer, into, SIZE, MSG_WAITALL) != SIZE)
		die("recv: %s", strerror(errno));
}

static const struct kind kinds[] = {
	{"getppid", "getppid", NULL, call_getppid, NULL},
	{"lseek", "lseek", open_null, call_lseek, NULL},
	{"pread", "pread64", open_file, call_pread, NULL},
	{"yield", "sched_yield", NULL, call_yield, NULL},
	{"sleep", "nanosleep", tighten_timers, call_sleep, NULL},
	{"send", "sendto", open_connection, call_send, receive},
	{"datagram", "sendto", open_datagrams, call_send, NULL},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static void *work(void *arg)
{
	struct rusage before, after;
	struct worker *w = arg;
	uint64_t i, start;
	long result;

	rename_self("contender");
	w->tid = own_tid();
	if (kind->prepare)
		kind->prepare(w);
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&begin);
	getrusage(RUSAGE_THREAD, &before);
	for (i = 0; i < repeats; i++) {
		start = now_ns();
		result = kind->call(w);
		series_add(&w->series, now_ns() - start, result < 0);
		if (kind->after)
			kind->after(w);
	}
	getrusage(RUSAGE_THREAD, &after);
	w->voluntary = after.ru_nvcsw - before.ru_nvcsw;
	w->involuntary = after.ru_nivcsw - before.ru_nivcsw;
	return NULL;
}

static void report(struct worker *workers, unsigned int n)
{
	report_begin();
	for (struct worker *w = workers; w < workers + n; w++) {
		put_row(w->tid, "contender", kind->syscall, w->series.count, w->series.errors);
		put(",\"switches\":{\"voluntary\":%ld,\"involuntary\":%ld},", w->voluntary,
		    w->involuntary);
		put_figures(&w->series);
		put("}");
	}
	report_end();
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	unsigned int i, n;

	help_if_asked(argc, argv);
	if (argc != 4)
		misuse("THREADS, N and a CALL are needed");
	n = parse_number(argv[1], "THREADS", 1, MAX_THREADS);
	repeats = parse_number(argv[2], "N", 1, 10000000);
	for (kind = kinds; kind < kinds + KINDS && strcmp(kind->name, argv[3]); kind++)
		;
	if (kind == kinds + KINDS)
		misuse("there is no call '%s'", argv[3]);
	pthread_barrier_init(&begin, NULL, n + 1);
	for (i = 0; i < n; i++) {
		series_init(&workers[i].series, repeats);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			die("cannot create a thread");
	}
	pthread_barrier_wait(&begin);
	reached("ready");
	gate("go");
	pthread_barrier_wait(&begin);
	for (i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	report(workers, n);
	return 0;
}
