// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * userfuncs: functions of its own, each called a known number of times, which end in all the ways
 * in which a function can end, or not at all.
 */
#include "workload.h"
#include <setjmp.h>

const char usage[] =
	"Usage: userfuncs THREADS\n"
	"Call functions, whose names begin with user_, a known number of times: in THREADS "
	"threads,\n"
	"nested, recursive, ended by a jump, by longjmp(), with their thread or by exec, and in\n"
	"children of fork() and vfork(). One call goes on at the end.\n"
	"\n"
	"Gates: ready, go; at inside all but one have ended; leave.\n";

#define LEAVES     1009 /* of each thread */
#define SLEEPS     31
#define SLEEP_NS   3000000
#define JUMPS      7
#define RAISES     11
#define DEAD       5
#define CHILDREN   3
#define LOOPS      13
#define ROUNDS     50
#define MAX_LEVELS 70

/* Each is a function with an entry of its own, that is called. */
#define traced __attribute__((noipa, noinline))

static jmp_buf back;
static uint64_t errors;

traced int user_leaf(int n)
{
	return n % 3 ? n : -EINVAL;
}

traced void user_sleeps(uint64_t ns)
{
	pause_ns(ns);
}

traced int user_recurses(int levels)
{
	int below = levels > 1 ? user_recurses(levels - 1) : 0;

	asm volatile("" : "+r"(below)); /* not a loop */
	return below + 1;
}

/* The calls of the ends: the first jumps to the second. */
traced int user_tail_end(int n)
{
	return n + 1;
}

traced int user_tail(int n)
{
	return user_tail_end(n);
}

/* Jumps to its own beginning: N calls with one return. */
int user_loops(int n);
asm(".pushsection .text\n"
    ".globl user_loops\n.type user_loops, %function\n"
#ifdef __x86_64__
    "user_loops: push %rbx; pop %rbx; dec %edi; jnz user_loops; mov $1, %eax; ret\n"
#else
    "user_loops: nop; subs w0, w0, #1; b.ne user_loops; mov w0, #1; ret\n"
#endif
    ".size user_loops, . - user_loops\n.popsection");

traced void user_jumps(int n)
{
	longjmp(back, n + 1);
}

traced void user_jumps_middle(int n)
{
	user_jumps(n);
	asm volatile("");
}

traced void user_jumps_outer(int n)
{
	user_jumps_middle(n);
	asm volatile("");
}

static volatile int handled;

traced void user_handles(int number)
{
	handled += number;
}

traced void user_raises(void)
{
	syscall(SYS_tgkill, getpid(), own_tid(), SIGUSR1);
	user_handles(0);
}

traced void user_dies(void)
{
	syscall(SYS_exit, 0);
}

traced void user_exits(void)
{
	syscall(SYS_exit_group, 0);
}

traced void user_executes(void)
{
	execl("/proc/self/exe", "userfuncs", "--help", NULL);
	die("exec: %s", strerror(errno));
}

/* The child returns, too. */
traced pid_t user_forks(void)
{
	return fork_or_die();
}

traced pid_t user_vforks(void)
{
	pid_t child = vfork();

	if (!child) {
		execl("/proc/self/exe", "userfuncs", "--help", NULL);
		_exit(1);
	}
	return child;
}

traced void user_stays(void)
{
	reached("inside");
	gate("leave");
}

/* ---- */

static void *make_leaves(void *unused)
{
	uint64_t failed = 0;

	for (int i = 0; i < LEAVES; i++)
		failed += user_leaf(i) < 0;
	__atomic_add_fetch(&errors, failed, __ATOMIC_RELAXED);
	return unused;
}

static void run_leaves(unsigned int n)
{
	pthread_t threads[64];

	for (unsigned int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, make_leaves, NULL))
			die("cannot create a thread");
	for (unsigned int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* The handler has a stack of its own, below the others. */
static void run_signals(void)
{
	static char stack[1 << 16];
	const stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = user_handles, .sa_flags = SA_ONSTACK};

	if (sigaltstack(&own, NULL) || sigaction(SIGUSR1, &action, NULL))
		die("signals: %s", strerror(errno));
	for (int i = 0; i < RAISES; i++)
		user_raises();
}

/* A thread's end is the kernel's, without the library's: its memory is left behind. */
static int die_inside(void *unused)
{
	user_dies();
	return 1;
}

static void run_deaths(void)
{
	static char stacks[DEAD][1 << 16];
	static pid_t gone[DEAD];
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID;

	for (int i = 0; i < DEAD; i++) {
		gone[i] = 1;
		if (clone(die_inside, stacks[i] + sizeof(stacks[i]), flags, NULL, NULL, NULL,
			  &gone[i]) < 0)
			die("clone: %s", strerror(errno));
		while (__atomic_load_n(&gone[i], __ATOMIC_ACQUIRE))
			pause_ns(100000);
	}
}

static void run_children(void)
{
	int null = open_uncounted("/dev/null", O_WRONLY);
	pid_t child;

	dup2(null, 1); /* what --help prints */
	for (int i = 0; i < CHILDREN; i++) {
		child = fork_or_die();
		if (!child)
			user_exits();
		reap(child);
		child = fork_or_die();
		if (!child)
			user_executes();
		reap(child);
		child = user_forks();
		if (!child)
			_exit(0);
		reap(child);
		reap(user_vforks());
	}
}

static void put_calls(const char *name, uint64_t count, uint64_t failed)
{
	put_row_of("function", own_tid(), "userfuncs", name, count, failed);
	put("}");
}

static void run_series(struct series *sleeps, struct series *leaves)
{
	uint64_t start;

	for (int i = 0; i < SLEEPS; i++) {
		start = now_ns();
		user_sleeps(SLEEP_NS);
		series_add(sleeps, now_ns() - start, false);
	}
	for (int i = 0; i < ROUNDS; i++) {
		start = now_ns();
		user_tail(i);
		series_add(leaves, now_ns() - start, false);
	}
}

static void put_series(const char *name, struct series *s)
{
	put_row_of("function", own_tid(), "userfuncs", name, s->count, 0);
	put(",");
	put_figures(s);
	put("}");
}

static void report(unsigned int threads, struct series *sleeps, struct series *tails)
{
	report_begin();
	put_calls("user_leaf", threads * LEAVES, errors);
	put_calls("user_recurses", 20 + 63 + MAX_LEVELS, 0);
	put_calls("user_tail_end", ROUNDS, 0);
	put_calls("user_loops", 2 * LOOPS, 0);
	put_calls("user_jumps_outer", JUMPS, 0);
	put_calls("user_raises", RAISES, 0);
	put_calls("user_handles", 2 * RAISES, 0);
	put_calls("user_dies", DEAD, 0);
	put_calls("user_exits", CHILDREN, 0);
	put_calls("user_executes", CHILDREN, 0);
	put_calls("user_forks", CHILDREN, 0);
	put_calls("user_vforks", CHILDREN, 0);
	put_calls("user_stays", 1, 0);
	put_series("user_sleeps", sleeps);
	put_series("user_tail", tails);
	report_end();
}

int main(int argc, char **argv)
{
	struct series sleeps, tails;
	unsigned int threads;

	help_if_asked(argc, argv);
	if (argc != 2)
		misuse("THREADS is needed");
	threads = parse_number(argv[1], "THREADS", 1, 64);
	series_init(&sleeps, SLEEPS);
	series_init(&tails, ROUNDS);
	reached("ready");
	gate("go");
	run_leaves(threads);
	run_series(&sleeps, &tails);
	user_recurses(20);
	user_recurses(63);
	user_recurses(MAX_LEVELS);
	user_loops(LOOPS);
	user_loops(LOOPS);
	for (int i = 0; i < JUMPS; i++)
		if (!setjmp(back))
			user_jumps_outer(i);
	run_signals();
	run_deaths();
	run_children();
	report(threads, &sleeps, &tails);
	user_stays();
	return 0;
}
