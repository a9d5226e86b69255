// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * parts: calls whose time has known parts.  Each kind of call has a named thread of its own.
 *
 * All threads that make calls are SCHED_FIFO and share one CPU with a thread of a higher priority,
 * the holder, which takes that CPU away for times that it measures.  Their partner, which writes to
 * their pipe or resolves their page fault, is a thread on another CPU, or the holder. parts-known.h
 * has what is known of a row.
 */
#include "workload.h"
#include "cpus.h"
#include "parts-known.h"
#include <linux/userfaultfd.h>
#include <semaphore.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

const char usage[] =
	"Usage: parts\n"
	"Make calls that are preempted, blocked, on the run queue, always on the CPU, and two of\n"
	"these: 23 getrandom, 101 and 29 read, 1009 sched_get_priority_max, 11 getrandom.\n"
	"Exit status 77: no second CPU, or no SCHED_FIFO.\n"
	"\n"
	"Gates: ready, go.\n";

static struct batch {
	const char *name, *syscall;
	uint64_t n;
	pid_t tid;
	int status;
	struct call *calls;
} batches[KINDS] = {
	[PREEMPTED] = {"preempted", "getrandom", 23},
	[BLOCKED] = {"blocked", "read", 101},
	[RUNQ] = {"runq", "read", 29},
	[ON_CPU] = {"on-cpu", "sched_get_priority_max", 1009},
	[MIXED] = {"mixed", "getrandom", 11},
};

#define MS 1000000ULL

static int calling_cpu, other_cpu;
static int ends[2], faults = -1;
static char *buffer; /* its first page is not present when a mixed call begins */
static size_t size;  /* getrandom of that takes some 20 ms */

/* The worker is at its turn-th call, or has made it. */
static atomic_uint turn;

static uint64_t thread_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		return 0;
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void start(pthread_t *thread, void *(*body)(void *), void *argument)
{
	if (pthread_create(thread, NULL, body, argument))
		die("cannot create a thread");
}

/* ---- the holder ---- */

static void wake(struct call *c, enum kind kind)
{
	struct uffdio_zeropage zero = {.range = {(uintptr_t)buffer, 4096}};
	long result;

	c->waking = now_ns();
	if (kind == MIXED)
		result = ioctl(faults, UFFDIO_ZEROPAGE, &zero);
	else
		result = syscall(SYS_write, ends[1], "", 1);
	c->woken = now_ns();
	if (result < 0)
		die("waking: %s", strerror(errno));
}

static sem_t hold_wanted, hold_over;
static struct call *hold_of;
static enum kind hold_kind;
static uint64_t hold_ns;
static atomic_uint holds; /* odd: the CPU is held */

static void *hold(void *unused)
{
	pin(0, calling_cpu);
	if (!become_realtime(2))
		die("sched_setscheduler: %s", strerror(errno));
	for (;; sem_post(&hold_over)) {
		while (sem_wait(&hold_wanted))
			;
		hold_of->held = now_ns();
		hold_of->held_cpu = thread_ns(CLOCK_THREAD_CPUTIME_ID);
		/* A wakeup from another CPU might wait until this CPU processes its queue. */
		if (hold_kind == RUNQ)
			wake(hold_of, hold_kind);
		atomic_fetch_add(&holds, 1);
		while (now_ns() < hold_of->held + hold_ns)
			;
		hold_of->held_cpu = thread_ns(CLOCK_THREAD_CPUTIME_ID) - hold_of->held_cpu;
		hold_of->released = now_ns();
		atomic_fetch_add(&holds, 1);
	}
	return unused;
}

/*
 * Both words are 0 before a getrandom.  The call is in progress if it has written the first word
 * and not the last one.
 */
static volatile uint64_t *first_word(void)
{
	return (void *)(buffer + 4096);
}

static volatile uint64_t *last_word(void)
{
	return (void *)(buffer + size - sizeof(uint64_t)); /* of MIXED, which begins at buffer */
}

static void take_cpu(struct batch *b, struct call *c, uint64_t ns)
{
	unsigned int before = atomic_load(&holds);
	bool computing;

	hold_of = c;
	hold_kind = b - batches;
	hold_ns = ns;
	sem_post(&hold_wanted);
	while (atomic_load(&holds) == before)
		;
	/* The worker does not run until that CPU is released; its call may be over. */
	computing = *first_word() && !*last_word() && atomic_load(&turn) == c - b->calls + 1;
	c->computing = computing && atomic_load(&holds) == before + 1;
	while (sem_wait(&hold_over))
		;
}

/* ---- the threads that make the calls ---- */

/* Traced as a function, too: with an entry of its own. */
__attribute__((noipa, noinline)) static long parts_call(enum kind kind)
{
	char byte;

	switch (kind) {
	case PREEMPTED:
		return syscall(SYS_getrandom, buffer + 4096, size, 0);
	case MIXED:
		return syscall(SYS_getrandom, buffer, size, 0);
	case ON_CPU:
		return syscall(SYS_sched_get_priority_max, 0);
	default:
		return syscall(SYS_read, ends[0], &byte, 1);
	}
}

static void measure(enum kind kind, struct call *c)
{
	struct rusage then, now;

	if (kind == MIXED && madvise(buffer, 4096, MADV_DONTNEED))
		die("madvise: %s", strerror(errno));
	*first_word() = *last_word() = 0;
	getrusage(RUSAGE_THREAD, &then);
	c->sleeps = then.ru_nvcsw;
	c->before = now_ns();
	c->cpu_before = thread_ns(CLOCK_THREAD_CPUTIME_ID);
	atomic_fetch_add(&turn, 1);
	if (parts_call(kind) < 0)
		die("%s: %s", batches[kind].syscall, strerror(errno));
	c->cpu_after = thread_ns(CLOCK_THREAD_CPUTIME_ID);
	c->after = now_ns();
	getrusage(RUSAGE_THREAD, &now);
	c->voluntary = now.ru_nvcsw - then.ru_nvcsw;
	c->involuntary = now.ru_nivcsw - then.ru_nivcsw;
}

static sem_t born;

static void *work(void *argument)
{
	struct batch *b = argument;
	enum kind kind = b - batches;

	rename_self(b->name);
	b->tid = own_tid();
	pin(0, calling_cpu);
	/* Else a busy neighbour takes the CPU first, and the holder takes it from that one. */
	become_realtime(1);
	b->status = open_uncounted("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
	if (b->status < 0)
		die("/proc/thread-self/status: %s", strerror(errno));
	sem_post(&born);
	for (uint64_t i = 0; i < b->n; i++)
		measure(kind, &b->calls[i]);
	return NULL;
}

/* ---- their partner ---- */

/* How often a thread has gone to sleep; -1: it has ended. */
static long sleeps_of(const struct batch *b)
{
	static const char field[] = "\nvoluntary_ctxt_switches:";
	char text[8192], *at;
	ssize_t n = syscall(SYS_pread64, b->status, text, sizeof(text) - 1, (off_t)0);

	text[n > 0 ? n : 0] = 0;
	at = strstr(text, field);
	return at ? strtol(at + strlen(field), NULL, 10) : -1;
}

/* By the count, since the state is set before the switch, and the thread can be preempted there. */
static void await_sleep(const struct batch *b, struct call *c)
{
	long sleeps;

	do {
		sleeps = sleeps_of(b);
		if (sleeps < 0)
			die("a thread is gone that should sleep");
	} while (sleeps == c->sleeps);
	c->asleep = now_ns();
}

static void await_fault(void)
{
	struct uffd_msg message;
	struct iovec all = {&message, sizeof(message)};

	if (syscall(SYS_readv, faults, &all, 1) != sizeof(message))
		die("userfaultfd: %s", strerror(errno));
}

/* Act on a call in flight.  MORE: ns by which the calls differ. */
static void attend(struct batch *b, struct call *c, uint64_t more)
{
	switch (b - batches) {
	case PREEMPTED:
		pause_ns(MS);
		take_cpu(b, c, 26 * MS + more);
		break;
	case BLOCKED:
		await_sleep(b, c);
		pause_ns(MS + more);
		wake(c, BLOCKED);
		break;
	case RUNQ:
		await_sleep(b, c);
		pause_ns(MS + more);
		take_cpu(b, c, 12 * MS + more);
		break;
	case MIXED:
		await_fault();
		await_sleep(b, c);
		pause_ns(5 * MS + more);
		wake(c, MIXED);
		pause_ns(MS);
		take_cpu(b, c, 5 * MS + more);
		break;
	}
}

static void run(struct batch *b)
{
	pthread_t thread;

	b->calls = calloc(b->n, sizeof(*b->calls));
	if (!b->calls)
		die("no memory");
	atomic_store(&turn, 0);
	start(&thread, work, b);
	while (sem_wait(&born))
		;
	for (uint64_t i = 0; i < b->n && b != &batches[ON_CPU]; i++) {
		while (atomic_load(&turn) <= i)
			pause_ns(20000);
		attend(b, &b->calls[i], i * 10000);
	}
	pthread_join(thread, NULL);
	close(b->status);
}

/* ---- requirements ---- */

static void skip_unless(bool possible, const char *what)
{
	if (possible)
		return;
	fprintf(stderr, "parts: %s: %s\n", what, strerror(errno));
	exit(WORKLOAD_SKIP);
}

static void choose_cpus(void)
{
	errno = ENODEV;
	skip_unless(last_two_cpus(&other_cpu, &calling_cpu), "a second CPU");
	pin(0, other_cpu);
	skip_unless(become_realtime(1), "SCHED_FIFO");
	leave_realtime();
}

/* Set the size by reads of /dev/urandom, which cost as much as getrandom and are not counted. */
static void choose_size(void)
{
	int fd = open_uncounted("/dev/urandom", O_RDONLY | O_CLOEXEC);
	const size_t most = 64 << 20, page = 4096;
	uint64_t begin, least, took;

	buffer =
		mmap(NULL, most + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || buffer == MAP_FAILED)
		die("/dev/urandom: %s", strerror(errno));
	madvise(buffer, most + page, MADV_NOHUGEPAGE);
	for (size = 64 << 10; size < most; size *= 2) {
		memset(buffer, 0, size + page);
		least = UINT64_MAX;
		for (int i = 0; i < 5; i++) {
			begin = thread_ns(CLOCK_THREAD_CPUTIME_ID);
			if (syscall(SYS_pread64, fd, buffer, size, (off_t)0) != (ssize_t)size)
				die("/dev/urandom: %s", strerror(errno));
			took = thread_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
			if (took < least)
				least = took;
		}
		if (least > 12 * MS)
			break;
	}
	close(fd);
}

static bool can_fault(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register page = {
		.range = {(uintptr_t)buffer, 4096},
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	faults = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults >= 0 && !ioctl(faults, UFFDIO_API, &api) &&
	    !ioctl(faults, UFFDIO_REGISTER, &page))
		return true;
	fprintf(stderr, "parts: no mixed calls: userfaultfd: %s\n", strerror(errno));
	return false;
}

/* ---- the report ---- */

static void tell(enum kind kind)
{
	const struct batch *b = &batches[kind];
	struct known k = {};

	for (uint64_t i = 0; i < b->n; i++)
		add_up(&k, &b->calls[i], kind);
	put_row(b->tid, b->name, b->syscall, b->n, 0);
	put(",\"sum\":%llu,\"switches\":{\"voluntary\":%ld,\"involuntary\":%ld}",
	    (unsigned long long)k.sum, k.voluntary, k.involuntary);
	put_three("must", k.must);
	put_three("mostly", k.mostly);
	put(",\"holder\":%llu", (unsigned long long)k.holder);
	put(",\"can\":{\"off\":%llu,\"blocked\":%llu,\"runq\":%llu}}", (unsigned long long)k.off,
	    (unsigned long long)k.can[0], (unsigned long long)k.can[1]);
}

int main(int argc, char **argv)
{
	enum kind kinds = KINDS;
	pthread_t holder;

	help_if_asked(argc, argv);
	if (argc > 1)
		misuse("too many arguments");
	choose_cpus();
	choose_size();
	if (!can_fault())
		kinds = MIXED;
	make_pipe(ends);
	sem_init(&hold_wanted, 0, 0);
	sem_init(&hold_over, 0, 0);
	sem_init(&born, 0, 0);
	start(&holder, hold, NULL);
	reached("ready");
	gate("go");
	report_begin();
	for (enum kind kind = 0; kind < kinds; kind++) {
		run(&batches[kind]);
		tell(kind);
	}
	report_end();
	return 0;
}
