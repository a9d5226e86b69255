// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* lives: processes that begin and end, in known ways. */
#include "workload.h"
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

const char usage[] =
	"Usage: lives known\n"
	"       lives zombies\n"
	"       lives storm TIMES [PARENTS]\n"
	"       lives exit STATUS\n"
	"\n"
	"known: children of several kinds, each of a name of its own.\n"
	"zombies: children that end and for which nobody has waited at the gate done; \"clock\" "
	"is\n"
	"their CPU time by their clocks, which others can read; and l-held, of which a thread is "
	"not\n"
	"reaped.\n"
	"storm: PARENTS (1) processes begin and end TIMES each, as fast as they can.\n"
	"exit: what a child of the kind \"exe\" executes.\n"
	"\"least\" and \"most\" are bounds of the sum of the life times, by the clocks of child "
	"and\n"
	"parent; \"cpu\" is the CPU time by the child's clock, \"rusage\" by that of wait4(2).\n"
	"Gates: ready, go, done, end.\n";

#define MS 1000000ULL

/* Of one child, in shared memory. */
static struct {
	_Atomic uint64_t began, ended, cpu;
} * child;

struct kind {
	const char *comm, *status; /* as the tool has it */
	uint64_t count;
	void (*live)(void); /* does not return */
	uint64_t least, most, cpu, rusage, threads, clock;
};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void burn(uint64_t ns)
{
	struct timespec t;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000000000ULL + t.tv_nsec < ns);
}

static void note_end(void)
{
	child->cpu = cpu_ns();
	child->ended = now_ns();
}

static void fail(void)
{
	pause_ns(3 * MS);
	note_end();
	_exit(3);
}

static void be_killed(void)
{
	pause_ns(2 * MS);
	note_end();
	kill(getpid(), SIGKILL);
	for (;;)
		;
}

static void compute(void)
{
	burn(20 * MS);
	note_end();
	_exit(0);
}

static void *burn_thread(void *arg)
{
	burn(5 * MS);
	return NULL;
}

static pthread_t others[4];

/* The last thread to exit is not the first one. */
static void *burn_last(void *arg)
{
	for (int i = 0; i < 4; i++)
		pthread_join(others[i], NULL);
	pause_ns(5 * MS); /* the first one has exited */
	burn(5 * MS);
	note_end();
	return NULL;
}

static void compute_together(void)
{
	pthread_t last;

	for (int i = 0; i < 4; i++)
		pthread_create(&others[i], NULL, burn_thread, NULL);
	pthread_create(&last, NULL, burn_last, NULL);
	pthread_exit(NULL);
}

/* All threads exit at the same time. */
static void exit_together(void)
{
	for (int i = 0; i < 4; i++)
		pthread_create(&others[i], NULL, burn_thread, NULL);
	burn(2 * MS);
	note_end();
	_exit(9);
}

/* More than the tool keeps. */
static const char *long_argument(void)
{
	static char text[301];

	memset(text, 'x', sizeof(text) - 1);
	return text;
}

static void execute(void)
{
	child->ended = now_ns(); /* at least until here */
	execl("/proc/self/exe", "exe", "exit", "7", "a b", "\033[7m\\", long_argument(), NULL);
	_exit(127);
}

static struct kind kinds[] = {
	{.comm = "l-fails", .status = "3", .count = 23, .live = fail},
	{.comm = "l-killed", .status = "SIGKILL", .count = 17, .live = be_killed},
	{.comm = "l-computes", .status = "0", .count = 13, .live = compute},
	{.comm = "l-together", .status = "0", .count = 11, .live = compute_together, .threads = 5},
	{.comm = "l-at-once", .status = "9", .count = 19, .live = exit_together, .threads = 4},
	{.comm = "exe", .status = "7", .count = 7, .live = execute},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void live_once(struct kind *k)
{
	uint64_t before = now_ns();
	struct rusage used;
	pid_t pid = fork_or_die();

	if (!pid) {
		child->began = now_ns();
		rename_self(k->comm);
		k->live();
	}
	while (wait4(pid, NULL, 0, &used) < 0)
		if (errno != EINTR)
			die("wait4: %s", strerror(errno));
	k->most += now_ns() - before;
	k->least += child->ended - child->began;
	k->cpu += child->cpu;
	k->rusage += (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000ULL +
		     (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000ULL;
	child->cpu = 0;
}

static void live_known(void)
{
	for (size_t i = 0; i < KINDS; i++)
		for (uint64_t n = 0; n < kinds[i].count; n++)
			live_once(&kinds[i]);
}

static void report_known(void)
{
	for (size_t i = 0; i < KINDS; i++) {
		const struct kind *k = &kinds[i];

		put_row_of("status", 0, k->comm, k->status, k->count,
			   strcmp(k->status, "0") ? k->count : 0);
		put(",\"least\":%llu,\"most\":%llu,\"cpu\":%llu,\"rusage\":%llu,\"threads\":%llu}",
		    (unsigned long long)k->least, (unsigned long long)k->most,
		    (unsigned long long)k->cpu, (unsigned long long)k->rusage,
		    (unsigned long long)(k->threads * k->count));
	}
}

static struct kind dead[] = {
	{.comm = "l-zombie", .status = "0", .count = 13, .live = compute},
	{.comm = "l-zombies", .status = "0", .count = 3, .live = compute_together, .threads = 5},
};
#define DEAD (sizeof(dead) / sizeof(dead[0]))

static uint64_t clock_of(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		die("the clock of process %d: %s", pid, strerror(errno));
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void be_zombie(struct kind *k)
{
	siginfo_t info;
	pid_t pid = fork_or_die();

	if (!pid) {
		rename_self(k->comm);
		k->live();
	}
	if (waitid(P_PID, pid, &info, WEXITED | WNOWAIT))
		die("waitid: %s", strerror(errno));
	usleep(20000); /* it runs for a moment yet */
	k->clock += clock_of(pid);
}

static void *note_thread(void *arg)
{
	child->began = own_tid();
	pause();
	return NULL;
}

/* A process of which a thread that has exited is not reaped: this one traces it. */
static void hold_thread(void)
{
	pid_t pid = fork_or_die();

	if (!pid) {
		rename_self("l-held");
		pthread_create(&others[0], NULL, note_thread, NULL);
		while (!child->ended)
			usleep(1000);
		_exit(5);
	}
	while (!child->began)
		usleep(1000);
	if (ptrace(PTRACE_SEIZE, (pid_t)child->began, NULL, NULL))
		die("ptrace: %s", strerror(errno));
	child->ended = 1;
	usleep(50000);
}

static void die_unnoticed(void)
{
	for (size_t i = 0; i < DEAD; i++)
		for (uint64_t n = 0; n < dead[i].count; n++)
			be_zombie(&dead[i]);
	child->began = child->ended = 0;
	hold_thread();
}

static void report_dead(void)
{
	for (size_t i = 0; i < DEAD; i++) {
		put_row_of("status", 0, dead[i].comm, dead[i].status, dead[i].count, 0);
		put(",\"clock\":%llu}", (unsigned long long)dead[i].clock);
	}
}

static void live_shortly(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	if (pid < 0)
		die("vfork: %s", strerror(errno));
	reap(pid);
}

static uint64_t storm_all(uint64_t times, uint64_t parents)
{
	uint64_t began = now_ns();
	pid_t pids[64];

	for (uint64_t i = 0; i < parents; i++) {
		pids[i] = fork_or_die();
		if (!pids[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			rename_self("l-storm");
			for (uint64_t n = 0; n < times; n++)
				live_shortly();
			_exit(0);
		}
	}
	for (uint64_t i = 0; i < parents; i++)
		reap(pids[i]);
	return now_ns() - began;
}

int main(int argc, char **argv)
{
	uint64_t times = argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
		 parents = argc > 3 ? strtoull(argv[3], NULL, 10) : 1, took = 0;
	bool known = argc == 2 && !strcmp(argv[1], "known");
	bool zombies = argc == 2 && !strcmp(argv[1], "zombies");

	if (argc >= 3 && !strcmp(argv[1], "exit"))
		return times;
	if (!known && !zombies && (argc < 3 || strcmp(argv[1], "storm") || parents > 64))
		die("%s", usage);
	child = shared_memory(sizeof(*child));
	reached("ready");
	gate("go");
	if (known)
		live_known();
	else if (zombies)
		die_unnoticed();
	else
		took = storm_all(times, parents);
	reached("done");
	gate("end");
	report_begin();
	if (known) {
		report_known();
	} else if (zombies) {
		report_dead();
	} else {
		put_row_of("status", 0, "l-storm", "0", (times + 1) * parents, 0);
		put(",\"took\":%llu}", (unsigned long long)took);
	}
	report_end();
	return 0;
}
