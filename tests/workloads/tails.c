/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tails: slow calls of known times, one after the other without anything in between, so that only
 * the kernel knows where one ends and the next one begins.
 */
#include "workload.h"
#include <sys/socket.h>

const char usage[] =
	"Usage: tails MICROSECONDS TIMES\n"
	"8 threads \"sleeper\", 3 \"reader\", 2 \"waiter\" and 1 \"spinner\" each make TIMES calls "
	"of "
	"twice MICROSECONDS and\n"
	"more, and a tenth as many short ones: nanosleep; read of a pipe, into which a thread\n"
	"\"writer\" writes; recvfrom, which sleeps several times until it has all; getrandom.\n"
	"Thread \"quick\" calls getppid meanwhile. Reported are, for each thread, the times "
	"before\n"
	"and after each call, in ns since \"base\", which is in seconds since 1970; and the least\n"
	"that it can have taken.\n"
	"\n"
	"Gates: ready, go, done, end.\n";

enum { SLEEPERS = 8, READERS = 3, WAITERS = 2, SPINNERS = 1, PIECES = 5 };
enum { BUFFER = 64 << 20, MOST_QUICK = 10000 };

struct call {
	uint64_t begin, end, least;
};

struct maker {
	const char *name, *syscall;
	void (*make)(struct maker *m, struct call *c, uint64_t i);
	void *(*partner)(void *m); /* what ends its calls; NULL: nothing does */
	struct call *calls;
	int ends[2]; /* the maker's, its partner's */
	pthread_t thread, of_partner;
	pid_t tid;
	uint64_t times;
};

static uint64_t shortest, times; /* ns, of slow calls; those of each maker */
static size_t random_bytes;      /* take about twice the shortest time, and a half */
static char *buffer;
static atomic_bool is_done;

static bool is_short(uint64_t i)
{
	return i % 11 == 10;
}

static void sleep_once(struct maker *m, struct call *c, uint64_t i)
{
	const uint64_t ns = is_short(i) ? shortest / 8 : shortest * (2 + i % 3);
	struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	(void)m;
	c->least = ns;
	c->begin = now_ns();
	syscall(SYS_nanosleep, &t, NULL);
	c->end = now_ns();
}

static void read_once(struct maker *m, struct call *c, uint64_t i)
{
	char byte;

	(void)i;
	c->begin = now_ns();
	if (syscall(SYS_read, m->ends[0], &byte, 1) != 1)
		die("read: %s", strerror(errno));
	c->end = now_ns();
}

static void receive_once(struct maker *m, struct call *c, uint64_t i)
{
	char bytes[PIECES];

	(void)i;
	c->begin = now_ns();
	if (syscall(SYS_recvfrom, m->ends[0], bytes, PIECES, MSG_WAITALL, NULL, NULL) != PIECES)
		die("recvfrom: %s", strerror(errno));
	c->end = now_ns();
}

static void spin_once(struct maker *m, struct call *c, uint64_t i)
{
	const size_t bytes = is_short(i) ? 64 : random_bytes;

	(void)m;
	c->begin = now_ns();
	if (syscall(SYS_getrandom, buffer, bytes, 0) != (long)bytes)
		die("getrandom: %s", strerror(errno));
	c->end = now_ns();
}

/* Twice the time after the last byte, and more; or several times less. */
static void *write_bytes(void *argument)
{
	const struct maker *m = argument;
	const bool pieces = m->make == receive_once;

	rename_self("writer");
	for (uint64_t i = 0; i < times * (pieces ? PIECES : 1); i++) {
		pause_ns(pieces        ? shortest / 2 + shortest / 8
			 : is_short(i) ? shortest / 8
				       : shortest * 5 / 2);
		if (syscall(SYS_write, m->ends[1], "x", 1) != 1)
			die("write: %s", strerror(errno));
	}
	return NULL;
}

static void *make_calls(void *argument)
{
	struct maker *m = argument;

	rename_self(m->name);
	m->tid = own_tid();
	if (m->partner && pthread_create(&m->of_partner, NULL, m->partner, m))
		die("cannot create a thread");
	for (; m->times < times; m->times++)
		m->make(m, &m->calls[m->times], m->times);
	if (m->partner)
		pthread_join(m->of_partner, NULL);
	return NULL;
}

/* Keeps those that took long after all: something took the CPU from them. */
static void *be_quick(void *argument)
{
	struct maker *m = argument;
	struct call c = {};

	rename_self(m->name);
	m->tid = own_tid();
	m->calls = calloc(MOST_QUICK, sizeof(c));
	while (m->calls && !is_done) {
		c.begin = c.end ?: now_ns();
		syscall(SYS_getppid);
		c.end = now_ns();
		if (c.end - c.begin >= shortest && m->times < MOST_QUICK)
			m->calls[m->times++] = c;
	}
	return NULL;
}

/* How many random bytes take as long, on a CPU of its own. */
static void measure_random(void)
{
	uint64_t begin, ns = UINT64_MAX;

	buffer = malloc(BUFFER);
	if (!buffer)
		die("no memory");
	memset(buffer, 1, BUFFER);
	for (int i = 0; i < 5; i++) {
		begin = now_ns();
		if (syscall(SYS_getrandom, buffer, 1 << 18, 0) != 1 << 18)
			die("getrandom: %s", strerror(errno));
		if (now_ns() - begin < ns)
			ns = now_ns() - begin;
	}
	random_bytes = (double)shortest * 5 / 2 / ns * (1 << 18);
	if (random_bytes > BUFFER)
		random_bytes = BUFFER;
}

static void begin(struct maker *m)
{
	m->calls = calloc(times, sizeof(*m->calls));
	if (!m->calls)
		die("no memory");
	if (m->make == read_once)
		make_pipe(m->ends);
	else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, m->ends))
		die("socketpair: %s", strerror(errno));
	if (pthread_create(&m->thread, NULL, make_calls, m))
		die("cannot create a thread");
}

static void tell(const struct maker *m, uint64_t from)
{
	put_row(m->tid, m->name, m->syscall, m->times, 0);
	put(",\"times\":[");
	for (uint64_t i = 0; i < m->times; i++)
		put("%s[%llu,%llu,%llu]", i ? "," : "",
		    (unsigned long long)(m->calls[i].begin - from),
		    (unsigned long long)(m->calls[i].end - from),
		    (unsigned long long)m->calls[i].least);
	put("]}");
}

static const struct maker kinds[] = {
	{.name = "sleeper", .syscall = "nanosleep", .make = sleep_once},
	{.name = "reader", .syscall = "read", .make = read_once, .partner = write_bytes},
	{.name = "waiter", .syscall = "recvfrom", .make = receive_once, .partner = write_bytes},
	{.name = "spinner", .syscall = "getrandom", .make = spin_once},
};
static const int numbers[] = {SLEEPERS, READERS, WAITERS, SPINNERS};

int main(int argc, char **argv)
{
	static struct maker makers[SLEEPERS + READERS + WAITERS + SPINNERS];
	struct timespec t;
	static struct maker quick = {.name = "quick", .syscall = "getppid"};
	size_t n = 0;
	uint64_t from;

	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("MICROSECONDS and TIMES are needed");
	shortest = parse_number(argv[1], "MICROSECONDS", 100, 1000000) * 1000;
	times = parse_number(argv[2], "TIMES", 1, 10000);
	measure_random();
	reached("ready");
	gate("go");
	clock_gettime(CLOCK_REALTIME, &t);
	from = now_ns() - t.tv_nsec;
	if (pthread_create(&quick.thread, NULL, be_quick, &quick))
		die("cannot create a thread");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		for (int j = 0; j < numbers[i]; j++) {
			makers[n] = kinds[i];
			begin(&makers[n++]);
		}
	for (size_t i = 0; i < n; i++)
		pthread_join(makers[i].thread, NULL);
	is_done = true;
	pthread_join(quick.thread, NULL);
	report_begin();
	for (size_t i = 0; i < n; i++)
		tell(&makers[i], from);
	tell(&quick, from);
	put("],\"base\":%llu,\"rest\":[", (unsigned long long)t.tv_sec);
	report_end();
	reached("done");
	gate("end");
	return 0;
}
