// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* turns: threads that wait for a CPU, for known times. */
#include "workload.h"
#include "cpus.h"

const char usage[] =
	"Usage: turns spin MS THREADS\n"
	"       turns held MS TIMES\n"
	"\n"
	"spin: THREADS share one CPU, each of them busy for MS; they begin behind the gate go.\n"
	"held: a thread of another process, turns-sleeper, is woken TIMES times onto a CPU that\n"
	"a real-time thread holds for MS.\n"
	"\n"
	"Counts, and \"delay\", are what /proc/PID/schedstat says of a thread's waits: of a\n"
	"spinner's since its birth, of a sleeper's since it is woken. \"sum\" and \"max\" are\n"
	"bounds by the threads' own clocks.\n"
	"Gates: sleeper-PID (held), ready, go, done, end.\n";

#define MAX_THREADS 64
#define MAX_TIMES   4096

struct account {
	unsigned long long on_cpu, delay, waits;
};

static struct account account_of(pid_t pid, pid_t tid)
{
	struct account a;
	char path[64], text[128];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
	fd = open_uncounted(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	n = syscall(SYS_pread64, fd, text, sizeof(text) - 1, (off_t)0);
	text[n > 0 ? n : 0] = 0;
	if (sscanf(text, "%llu %llu %llu", &a.on_cpu, &a.delay, &a.waits) != 3)
		die("%s is not as expected: %s", path, text);
	close(fd);
	return a;
}

static void spin_until(uint64_t ns)
{
	while (now_ns() < ns)
		;
}

static void await_asleep(pid_t pid, pid_t tid)
{
	int fd = open_stat(pid, tid);

	await_state(fd, 'S');
	close(fd);
}

static void read_byte(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		die("read: %s", strerror(errno));
}

static void write_byte(int fd)
{
	if (write(fd, "", 1) != 1)
		die("write: %s", strerror(errno));
}

/* ---- spin ---- */

struct spinner {
	pthread_t thread;
	_Atomic pid_t tid;
	_Atomic bool over;
	int until[2]; /* a pipe: when it is over, it sleeps until a byte comes */
	uint64_t ns, wall, busy;
};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void *spin(void *arg)
{
	uint64_t begin = now_ns(), busy = cpu_ns();
	struct spinner *s = arg;

	s->tid = own_tid();
	spin_until(begin + s->ns);
	s->wall = now_ns() - begin;
	s->busy = cpu_ns() - busy;
	s->over = true;
	read_byte(s->until[0]);
	return NULL;
}

static void report_spinner(const struct spinner *s, const struct account *a, int cpu)
{
	put_row_of("work", s->tid, "turns", "spin", a->waits, 0);
	put(",\"cpu\":%d,\"delay\":%llu,\"wall\":%llu,\"busy\":%llu}", cpu, a->delay,
	    (unsigned long long)s->wall, (unsigned long long)s->busy);
}

static void spin_all(uint64_t ns, size_t threads)
{
	static struct spinner all[MAX_THREADS];
	struct account accounts[MAX_THREADS];
	int cpu = pin_to_last_cpu();

	reached("ready");
	gate("go");
	for (size_t i = 0; i < threads; i++) {
		all[i].ns = ns;
		make_pipe(all[i].until);
		if (pthread_create(&all[i].thread, NULL, spin, &all[i]))
			die("cannot create a thread");
	}
	for (size_t i = 0; i < threads; i++) {
		while (!all[i].over)
			pause_ns(1000000);
		await_asleep(getpid(), all[i].tid);
		accounts[i] = account_of(getpid(), all[i].tid);
	}
	reached("done");
	gate("end");
	report_begin();
	for (size_t i = 0; i < threads; i++) {
		write_byte(all[i].until[1]);
		pthread_join(all[i].thread, NULL);
		report_spinner(&all[i], &accounts[i], cpu);
	}
	report_end();
}

/* ---- held ---- */

struct shared {
	_Atomic uint64_t times;   /* that the sleeper has been woken */
	uint64_t back[MAX_TIMES]; /* when it had its CPU again */
};

static void sleep_in_turns(int fd, struct shared *shared, uint64_t times)
{
	rename_self("turns-sleeper");
	while (shared->times < times) {
		read_byte(fd);
		shared->back[shared->times] = now_ns();
		shared->times++;
	}
	read_byte(fd); /* until the parent has read the account */
	_exit(0);
}

/* Lower and upper bounds of the sum of the waits, and of the longest one. */
struct bounds {
	uint64_t low, high, low_max, high_max;
};

static void hold(int fd, pid_t sleeper, struct shared *shared, uint64_t ns, struct bounds *b)
{
	uint64_t before, after, end, i = shared->times;

	await_asleep(sleeper, sleeper);
	before = now_ns();
	write_byte(fd);
	after = now_ns();
	spin_until(after + ns);
	end = now_ns();
	/* Long enough that these checks do not interrupt the sleeper. */
	while (shared->times == i)
		pause_ns(5000000);
	b->low += end - after;
	b->high += shared->back[i] - before;
	if (end - after > b->low_max)
		b->low_max = end - after;
	if (shared->back[i] - before > b->high_max)
		b->high_max = shared->back[i] - before;
}

static void report_held(pid_t sleeper, uint64_t times, const struct account *asleep,
			const struct account *after, const struct bounds *b)
{
	report_begin();
	put_row_of("work", sleeper, "turns-sleeper", "held", after->waits - asleep->waits, 0);
	put(",\"times\":%llu,\"delay\":%llu,\"sum\":[%llu,%llu],\"max\":[%llu,%llu]}",
	    (unsigned long long)times, after->delay - asleep->delay, (unsigned long long)b->low,
	    (unsigned long long)b->high, (unsigned long long)b->low_max,
	    (unsigned long long)b->high_max);
	report_end();
}

static void hold_all(uint64_t ns, uint64_t times)
{
	struct shared *shared = shared_memory(sizeof(*shared));
	struct account asleep, after;
	struct bounds bounds = {};
	char name[32];
	pid_t sleeper;
	int ends[2];

	pin_to_last_cpu();
	make_pipe(ends);
	sleeper = fork_or_die();
	if (!sleeper)
		sleep_in_turns(ends[0], shared, times);
	if (!become_realtime(50)) {
		fprintf(stderr, "turns: no real-time priority: %s\n", strerror(errno));
		exit(WORKLOAD_SKIP);
	}
	await_asleep(sleeper, sleeper);
	snprintf(name, sizeof(name), "sleeper-%d", sleeper);
	reached(name);
	reached("ready");
	gate("go");
	asleep = account_of(sleeper, sleeper);
	while (shared->times < times)
		hold(ends[1], sleeper, shared, ns, &bounds);
	await_asleep(sleeper, sleeper);
	after = account_of(sleeper, sleeper);
	reached("done");
	gate("end");
	write_byte(ends[1]);
	reap(sleeper);
	report_held(sleeper, times, &asleep, &after, &bounds);
}

int main(int argc, char **argv)
{
	uint64_t ns;

	help_if_asked(argc, argv);
	if (argc != 4)
		misuse("what to do, and two numbers are needed");
	ns = parse_number(argv[2], "MS", 1, 60000) * 1000000;
	if (!strcmp(argv[1], "spin"))
		spin_all(ns, parse_number(argv[3], "THREADS", 1, MAX_THREADS));
	else if (!strcmp(argv[1], "held"))
		hold_all(ns, parse_number(argv[3], "TIMES", 1, MAX_TIMES));
	else
		misuse("'%s' is neither spin nor held", argv[1]);
	return 0;
}
