/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * starved: threads that wait for a mutex, one of which gets no CPU when it is woken for it.
 *
 *	starved ROUNDS MS	in each round "holder" has the mutex, "first" and then "second" wait
 *				for it, and once it is free, the CPU of "first" is busy for MS * 10;
 *				then "first" has it for MS, asleep
 *
 * Of "first", "held" is how long it had the mutex, ns, in all rounds, and "since" the longest time
 * from when it could have a CPU until the mutex was free again.  Gates: ready, go.
 */
#include "cpus.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct waiter {
	const char *name;
	pthread_t thread;
	uint64_t ns; /* for which it has the mutex */
	uint64_t held, since;
	_Atomic pid_t tid;
	atomic_int turn, done; /* rounds */
} first = {.name = "first"}, second = {.name = "second"};
static _Atomic uint64_t busy_until;
static int rounds;

static void *wait_for_mutex(void *arg)
{
	struct waiter *w = arg;
	uint64_t got, since;

	rename_self(w->name);
	atomic_store(&w->tid, own_tid());
	for (int r = 1; r <= rounds; r++) {
		while (atomic_load(&w->turn) < r)
			pause_ns(200000);
		pthread_mutex_lock(&mutex);
		got = now_ns();
		if (w->ns)
			pause_ns(w->ns);
		w->held += now_ns() - got;
		pthread_mutex_unlock(&mutex);
		since = now_ns() - busy_until;
		if (since > w->since)
			w->since = since;
		atomic_store(&w->done, r);
	}
	return arg;
}

static void begin(struct waiter *w)
{
	if (pthread_create(&w->thread, NULL, wait_for_mutex, w))
		die("pthread_create");
	while (!atomic_load(&w->tid))
		pause_ns(100000);
}

/* Until it waits for the mutex. */
static void let(struct waiter *w, int round)
{
	int f = open_of_thread(getpid(), w->tid, "syscall");
	char text[128] = "";

	atomic_store(&w->turn, round);
	while (atoi(text) != SYS_futex) {
		pause_ns(100000);
		if (syscall(SYS_pread64, f, text, sizeof(text) - 1, (off_t)0) <= 0)
			die("cannot see what a thread waits for");
	}
	close(f);
}

/* With a realtime priority, on the CPU of "first". */
static void hold(int round, uint64_t busy_ns)
{
	uint64_t until;

	pthread_mutex_lock(&mutex);
	let(&first, round);
	let(&second, round);
	until = now_ns() + busy_ns;
	atomic_store(&busy_until, until);
	pthread_mutex_unlock(&mutex);
	while (now_ns() < until)
		;
	while (atomic_load(&first.done) < round || atomic_load(&second.done) < round)
		pause_ns(1000000);
}

static void put_waiter(const struct waiter *w)
{
	put_row_of("lock", w->tid, w->name, "mutex", rounds, 0);
	put(",\"held\":%llu,\"since\":%llu}", (unsigned long long)w->held,
	    (unsigned long long)w->since);
}

int main(int argc, char **argv)
{
	int ms;

	if (argc != 3)
		die("usage: starved ROUNDS MS");
	rounds = atoi(argv[1]);
	ms = atoi(argv[2]);
	first.ns = ms * 1000000ULL;
	begin(&second);
	pin_to_last_cpu();
	begin(&first);
	if (!become_realtime(1))
		exit(WORKLOAD_SKIP);
	reached("ready");
	gate("go");
	for (int r = 1; r <= rounds; r++)
		hold(r, ms * 10000000ULL);
	leave_realtime();
	for (struct waiter *w = &first; w; w = w == &first ? &second : NULL)
		while (pthread_tryjoin_np(w->thread, NULL) == EBUSY)
			pause_ns(1000000);
	report_begin();
	put_waiter(&first);
	put_waiter(&second);
	report_end();
	return 0;
}
