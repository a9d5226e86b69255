// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * unwound: computes below known callers that have no frame pointers, in frames of each kind that a
 * compiler makes.
 */
#include "workload.h"
#include <alloca.h>
#include <signal.h>
#include <sys/wait.h>

#pragma GCC optimize("omit-frame-pointer", "no-optimize-sibling-calls")

const char usage[] = "Usage: unwound KIND MS\n"
		     "Compute for MS in compute_known(), below callers of one KIND:\n"
		     "  plain    whose frames have a fixed size\n"
		     "  variable whose frame has not: alloca()\n"
		     "  aligned  whose frame is aligned to 64 bytes\n"
		     "  callback of a function of libc, qsort()\n"
		     "  signal   a signal handler, while a function computes\n"
		     "  thread   the first function of a thread\n"
		     "  deep     60 frames of one function\n"
		     "  forked   processes that are forked and end after 2 ms\n"
		     "  bare     whose frame has not, of bare_known(), which no unwind table has\n"
		     "\n"
		     "Each caller is of the name call_KIND(), and is called by begin_known().\n"
		     "Gates: ready, go.\n";

#define MS 1000000ULL

static uint64_t duration;
static volatile uint64_t sink;

/* Its registers are full, so that the frame pointer is one of them. */
__attribute__((noinline)) static void compute_known(void)
{
	const uint64_t end = now_ns() + duration;
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7;

	while (now_ns() < end)
		for (int i = 0; i < 20000; i++) {
			a += b ^ (c << 1);
			b += c ^ (d << 2);
			c += d ^ (e << 3);
			d += e ^ (f << 4);
			e += f ^ (g << 5);
			f += g ^ (a << 6);
			g += a ^ (b << 7);
		}
	sink = a + b + c + d + e + f + g;
}

__attribute__((noinline)) static void call_plain(void)
{
	volatile char room[200];

	room[0] = sink;
	compute_known();
	sink += room[0];
}

__attribute__((noinline)) static void call_variable(void)
{
	volatile char *room = alloca(100 + (now_ns() & 0xff));

	room[0] = sink;
	call_plain();
	sink += room[0];
}

__attribute__((noinline)) static void call_aligned(void)
{
	volatile char room[64] __attribute__((aligned(64)));

	room[0] = sink;
	call_plain();
	sink += room[0];
}

static int compare(const void *a, const void *b)
{
	if (duration)
		call_plain();
	duration = 0;
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void call_callback(void)
{
	int two[2] = {2, 1};

	qsort(two, 2, sizeof(two[0]), compare);
	sink += two[0];
}

static void handle(int number)
{
	sink += number;
	call_plain();
}

__attribute__((noinline)) static void call_signal(void)
{
	signal(SIGUSR1, handle);
	raise(SIGUSR1);
	sink++;
}

static void *call_thread(void *ignored)
{
	call_plain();
	return ignored;
}

__attribute__((noinline)) static void call_deep(int more)
{
	if (more)
		call_deep(more - 1);
	else
		compute_known();
	sink++;
}

void bare_known(uint64_t turns);

/* What is written like this is in no table. */
asm(".text\n"
    ".globl bare_known\n"
    ".type bare_known, @function\n"
    "bare_known:\n"
#if defined(__aarch64__)
    "	subs x0, x0, #1\n"
    "	b.ne bare_known\n"
#else
    "	dec %rdi\n"
    "	jnz bare_known\n"
#endif
    "	ret\n"
    ".size bare_known, . - bare_known\n");

/* Its caller's caller has a frame pointer, which would lead past both. */
__attribute__((noinline)) static void call_between(void)
{
	const uint64_t end = now_ns() + duration;

	while (now_ns() < end)
		bare_known(1000000);
	sink++;
}

__attribute__((noinline)) static void call_bare(void)
{
	volatile char *room = alloca(100 + (now_ns() & 0xff));

	room[0] = sink;
	call_between();
	sink += room[0];
}

#define FORKED_MS 2

__attribute__((noinline)) static void call_forked(void)
{
	uint64_t rest = duration / FORKED_MS / MS;

	/* So that the tables of their mother are known. */
	call_plain();
	for (duration = FORKED_MS * MS; rest; rest--) {
		const pid_t child = fork();

		if (child < 0)
			die("cannot fork");
		if (!child) {
			rename_self("c-forked");
			call_plain();
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	sink++;
}

__attribute__((noinline)) static void begin_known(const char *kind)
{
	pthread_t thread;

	if (!strcmp(kind, "plain"))
		call_plain();
	else if (!strcmp(kind, "variable"))
		call_variable();
	else if (!strcmp(kind, "aligned"))
		call_aligned();
	else if (!strcmp(kind, "callback"))
		call_callback();
	else if (!strcmp(kind, "signal"))
		call_signal();
	else if (!strcmp(kind, "deep"))
		call_deep(59);
	else if (!strcmp(kind, "forked"))
		call_forked();
	else if (!strcmp(kind, "bare"))
		call_bare();
	else if (strcmp(kind, "thread"))
		misuse("there is no kind '%s'", kind);
	else if (pthread_create(&thread, NULL, call_thread, NULL) || pthread_join(thread, NULL))
		die("cannot create a thread");
	sink++;
}

int main(int argc, char **argv)
{
	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("KIND and MS are needed");
	duration = parse_number(argv[2], "MS", 1, 60000) * MS;
	reached("ready");
	gate("go");
	report_begin();
	begin_known(argv[1]);
	put_plain_row(argv[1], 1, 0);
	report_end();
	return 0;
}
