// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* futexes: threads that wait for locks, in ways that they know. */
#include "workload.h"

#include <linux/futex.h>

const char usage[] =
	"Usage: futexes WHAT THREADS TIMES MS\n"
	"Each of THREADS threads, named locker, does TIMES times:\n"
	"\n"
	"WHAT       what it is\n"
	"word       takes a lock of the workload's own, lock_word, for MS/10, and keeps all times\n"
	"mutex      takes the mutex lock_mutex for MS, asleep, and then sleeps for MS/10\n"
	"heap       the same, of a mutex that is allocated\n"
	"pi         the same, of the mutex lock_pi, with priority inheritance\n"
	"writer     the same, of the read-write lock lock_rw\n"
	"held       takes lock_mutex for no time, and a thread named holder for MS\n"
	"condition  waits for lock_condition until a thread named waker, which sleeps for MS each\n"
	"           time, has signalled it\n"
	"timeout    waits for lock_word, which nobody wakes, for MS\n"
	"signal     waits for lock_word until a signal comes, after MS\n"
	"several    waits for lock_word and another word at once, for MS (futex_waitv)\n"
	"many       waits for another word each time, for MS/50, beside a thread named waiter\n"
	"           that waits for lock_word for MS * 100\n"
	"\n"
	"Of a thread, \"count\" is the number of its calls of futex that waited (word, timeout,\n"
	"signal, many) or of its acquisitions of more than 100 us, \"sum\" and \"max\" are their\n"
	"times, ns, \"changed\" its calls that did not wait, \"held\" how long locks were held,\n"
	"ns, in \"holds\" holds, from the first to the last wait.  In the first row \"contended\"\n"
	"is how long at least one thread waited, \"most\" how many did at once.\n"
	"Gates: ready, go, done, end.\n";

#define MAX_THREADS 64
#define LONG        100000 /* ns */

struct wait {
	uint64_t begin, end;
};

struct locker {
	pthread_t thread;
	const char *name; /* of the other */
	pid_t tid;
	struct wait *waits;
	uint64_t n, changed, sum, max, holds, held;
};

/* Not static, since the test asks for their names. */
_Atomic uint32_t lock_word;
pthread_mutex_t lock_mutex = PTHREAD_MUTEX_INITIALIZER, lock_pi;
pthread_rwlock_t lock_rw = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t lock_condition = PTHREAD_COND_INITIALIZER;

static pthread_mutex_t *mutex = &lock_mutex;
static struct locker lockers[MAX_THREADS], other;
static uint64_t threads, times, ms;
static const char *what;
static _Atomic uint32_t *own_words;
static _Atomic bool over;
static uint64_t tokens; /* under lock_mutex */

static long futex_of(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL,
		       FUTEX_BITSET_MATCH_ANY);
}

static long futex(int op, uint32_t value, const struct timespec *timeout)
{
	return futex_of(&lock_word, op, value, timeout);
}

static void keep(struct locker *l, uint64_t begin, uint64_t end)
{
	l->waits[l->n++] = (struct wait){begin, end};
	l->sum += end - begin;
	if (end - begin > l->max)
		l->max = end - begin;
}

static bool is(const char *name)
{
	return !strcmp(what, name);
}

/* ---- word: 0, 1: taken, 2: taken, and threads wait ---- */

static void take_word(struct locker *l)
{
	uint32_t free = 0;
	uint64_t begin;

	if (atomic_compare_exchange_strong(&lock_word, &free, 1))
		return;
	while (atomic_exchange(&lock_word, 2)) {
		begin = now_ns();
		if (!futex(FUTEX_WAIT, 2, NULL))
			keep(l, begin, now_ns());
		else if (errno == EAGAIN)
			l->changed++;
		else
			die("futex: %s", strerror(errno));
	}
}

static void by_word(struct locker *l)
{
	uint64_t begin;

	take_word(l);
	for (begin = now_ns(); now_ns() < begin + ms * 100000;)
		;
	l->holds++;
	l->held += now_ns() - begin;
	if (atomic_exchange(&lock_word, 0) == 2)
		futex(FUTEX_WAKE, 1, NULL);
}

/* ---- locks of the C library ---- */

static void take(void)
{
	if (is("writer") ? pthread_rwlock_wrlock(&lock_rw) : pthread_mutex_lock(mutex))
		die("cannot lock");
}

static void give(void)
{
	if (is("writer"))
		pthread_rwlock_unlock(&lock_rw);
	else
		pthread_mutex_unlock(mutex);
}

static void by_library(struct locker *l, uint64_t held)
{
	uint64_t begin = now_ns(), end, given;

	take();
	end = now_ns();
	if (held)
		pause_ns(held);
	given = now_ns();
	give();
	l->holds++;
	l->held += given - end;
	if (end - begin > LONG)
		keep(l, begin, end);
	pause_ns(ms * 100000);
}

static void by_condition(struct locker *l)
{
	uint64_t begin;

	take();
	begin = now_ns();
	while (!tokens)
		pthread_cond_wait(&lock_condition, mutex);
	keep(l, begin, now_ns());
	tokens--;
	give();
}

static void *be_other(void *arg)
{
	(void)arg;
	rename_self(other.name);
	other.tid = own_tid();
	while (!over) {
		if (is("held")) {
			by_library(&other, ms * 1000000);
			other.n = 0;
			continue;
		}
		pause_ns(ms * 1000000);
		take();
		tokens++;
		pthread_cond_signal(&lock_condition);
		give();
	}
	return NULL;
}

/* ---- waits that nobody ends by waking ---- */

static void wait_for_signal(struct locker *l)
{
	uint64_t begin = now_ns();

	if (futex(FUTEX_WAIT, 0, NULL) != -1 || errno != EINTR)
		die("futex: %s", strerror(errno));
	keep(l, begin, now_ns());
}

static void wait_in_vain(struct locker *l, _Atomic uint32_t *word, uint64_t ns)
{
	const struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	uint64_t begin = now_ns();

	if (futex_of(word, FUTEX_WAIT, 0, &t) != -1 || errno != ETIMEDOUT)
		die("futex: %s", strerror(errno));
	keep(l, begin, now_ns());
}

static void wait_for_several(struct locker *l)
{
	static uint32_t second;
	struct futex_waitv both[2] = {
		{.uaddr = (uintptr_t)&lock_word, .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG},
		{.uaddr = (uintptr_t)&second, .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG},
	};
	uint64_t begin = now_ns(), end = begin + ms * 1000000;
	const struct timespec t = {.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000};

	if (syscall(SYS_futex_waitv, both, 2, 0, &t, CLOCK_MONOTONIC) != -1 || errno != ETIMEDOUT)
		die("futex_waitv: %s", strerror(errno));
	keep(l, begin, now_ns());
}

static void on_signal(int signal)
{
	(void)signal;
}

static void *be_waiter(void *arg)
{
	rename_self(other.name);
	other.tid = own_tid();
	while (!over)
		wait_in_vain(&other, &lock_word, ms * 100000000);
	return arg;
}

/* A signal that came before the wait would be missed: they come until all is over. */
static void *be_signaller(void *arg)
{
	while (!over) {
		pause_ns(ms * 1000000);
		for (uint64_t i = 0; i < threads && !over; i++)
			pthread_kill(lockers[i].thread, SIGUSR1);
	}
	return arg;
}

/* ---- */

static void *be_locker(void *arg)
{
	struct locker *l = arg;

	rename_self("locker");
	l->tid = own_tid();
	gate("go");
	for (uint64_t i = 0; i < times; i++)
		if (is("word"))
			by_word(l);
		else if (is("condition"))
			by_condition(l);
		else if (is("timeout"))
			wait_in_vain(l, &lock_word, ms * 1000000);
		else if (is("signal"))
			wait_for_signal(l);
		else if (is("several"))
			wait_for_several(l);
		else if (is("many"))
			wait_in_vain(l, &own_words[(l - lockers) * times + i], ms * 20000);
		else
			by_library(l, is("held") ? 0 : ms * 1000000);
	return NULL;
}

static int by_begin(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Puts for how long at least one thread waited, and how many did at once. */
static void put_contention(void)
{
	uint64_t n = 0, contended = 0, until = 0, most = 0, at;
	struct wait *all;

	for (uint64_t i = 0; i < threads; i++)
		n += lockers[i].n;
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		die("no memory");
	n = 0;
	for (uint64_t i = 0; i < threads; i++)
		for (uint64_t j = 0; j < lockers[i].n; j++)
			all[n++] = lockers[i].waits[j];
	qsort(all, n, sizeof(*all), by_begin);
	for (uint64_t i = 0; i < n; i++) {
		at = 1;
		for (uint64_t j = i; j-- > 0 && i - j < 16 * threads;)
			at += all[j].end > all[i].begin;
		if (at > most)
			most = at;
		if (all[i].begin > until)
			until = all[i].begin;
		if (all[i].end > until) {
			contended += all[i].end - until;
			until = all[i].end;
		}
	}
	put(",\"contended\":%llu,\"most\":%llu", (unsigned long long)contended,
	    (unsigned long long)most);
	free(all);
}

static void put_locker(const struct locker *l, const char *name)
{
	put_row_of("lock", l->tid, name, what, l->n, 0);
	put(",\"sum\":%llu,\"max\":%llu,\"changed\":%llu,\"holds\":%llu,\"held\":%llu",
	    (unsigned long long)l->sum, (unsigned long long)l->max, (unsigned long long)l->changed,
	    (unsigned long long)l->holds, (unsigned long long)l->held);
	if (l == lockers)
		put_contention();
	put("}");
}

static void prepare(void)
{
	pthread_mutexattr_t attributes;

	if (is("heap")) {
		mutex = malloc(sizeof(*mutex));
		pthread_mutex_init(mutex, NULL);
	}
	if (is("several") && syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) && errno == ENOSYS)
		exit(WORKLOAD_SKIP);
	if (!is("pi"))
		return;
	mutex = &lock_pi;
	pthread_mutexattr_init(&attributes);
	if (pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) ||
	    pthread_mutex_init(mutex, &attributes))
		exit(WORKLOAD_SKIP);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"word",   "mutex",   "heap",      "pi",
					    "writer", "held",    "condition", "timeout",
					    "signal", "several", "many"};
	const struct sigaction handler = {.sa_handler = on_signal};
	void *(*be)(void *);
	bool known = false;

	help_if_asked(argc, argv);
	if (argc != 5)
		misuse("WHAT THREADS TIMES MS");
	what = argv[1];
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		known |= is(names[i]);
	if (!known)
		misuse("no '%s' is known", what);
	threads = parse_number(argv[2], "THREADS", 1, MAX_THREADS);
	times = parse_number(argv[3], "TIMES", 1, 1000000);
	ms = parse_number(argv[4], "MS", 1, 10000);
	sigaction(SIGUSR1, &handler, NULL);
	prepare();
	other.name = is("held") ? "holder" : is("many") ? "waiter" : "waker";
	other.waits = calloc(times * 64, sizeof(struct wait));
	own_words = calloc(threads * times, sizeof(*own_words));
	be = is("signal")                    ? be_signaller
	     : is("many")                    ? be_waiter
	     : is("held") || is("condition") ? be_other
					     : NULL;
	for (uint64_t i = 0; i < threads; i++) {
		lockers[i].waits = calloc(times * 64, sizeof(struct wait));
		if (!lockers[i].waits ||
		    pthread_create(&lockers[i].thread, NULL, be_locker, &lockers[i]))
			die("cannot create a thread");
	}
	reached("ready");
	gate("go");
	if (be && pthread_create(&other.thread, NULL, be, NULL))
		die("cannot create a thread");
	/* By looking: pthread_join() is a wait, too. */
	for (uint64_t i = 0; i < threads; i++)
		while (pthread_tryjoin_np(lockers[i].thread, NULL) == EBUSY)
			pause_ns(1000000);
	over = true;
	while (be && pthread_tryjoin_np(other.thread, NULL) == EBUSY)
		pause_ns(1000000);
	reached("done");
	gate("end");
	report_begin();
	for (uint64_t i = 0; i < threads; i++)
		put_locker(&lockers[i], "locker");
	if (other.tid)
		put_locker(&other, other.name);
	report_end();
	return 0;
}
