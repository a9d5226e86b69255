// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * slow: calls of known arguments and results, some of which take long.
 *
 * For each call the report has the values passed in all six registers, the result, the time that
 * the call had to take ("least"), and the time measured around it ("outside").
 */
#include "workload.h"

const char usage[] = "Usage: slow SLOW FAST\n"
		     "Make SLOW nanosleep of 3 ms, as many rt_sigtimedwait that time out after\n"
		     "that, and FAST nanosleep of no time.\n"
		     "\n"
		     "Gates: ready, go.\n";

#define MS 1000000ULL

static struct timespec no_time, three_ms = {.tv_nsec = 3 * MS};

struct call {
	const char *name;
	uint64_t arguments[6], least, outside;
	long result;
};

/* The user frame in which the call is made, for tests of stacks. */
__attribute__((noinline)) static long sleep_here(long nr, const uint64_t a[6])
{
#ifdef __x86_64__
	register uint64_t r10 asm("r10") = a[3], r8 asm("r8") = a[4], r9 asm("r9") = a[5];
	long result;

	asm volatile("syscall"
		     : "=a"(result)
		     : "a"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return result;
#else
	register uint64_t x0 asm("x0") = a[0], x1 asm("x1") = a[1], x2 asm("x2") = a[2];
	register uint64_t x3 asm("x3") = a[3], x4 asm("x4") = a[4], x5 asm("x5") = a[5];
	register long x8 asm("x8") = nr;

	asm volatile("svc 0"
		     : "+r"(x0)
		     : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8)
		     : "memory");
	return x0;
#endif
}

/* Both calls use their second argument only if they do not time out. */
static struct call nap(uint64_t i, const struct timespec *time)
{
	return (struct call){
		.name = "nanosleep",
		.arguments = {(uintptr_t)time, 0x1000 + i, 1ULL << 62 | i, ~i, 23, i},
		.least = time->tv_nsec,
	};
}

static struct call wait_in_vain(uint64_t i)
{
	static const uint64_t no_signals;

	return (struct call){
		.name = "rt_sigtimedwait",
		.arguments = {(uintptr_t)&no_signals, 0x1000 + i, (uintptr_t)&three_ms,
			      sizeof(no_signals), i, ~i},
		.least = three_ms.tv_nsec,
	};
}

static void make(struct call *c)
{
	long nr = *c->name == 'n' ? SYS_nanosleep : SYS_rt_sigtimedwait;
	uint64_t begin = now_ns();

	c->result = sleep_here(nr, c->arguments);
	c->outside = now_ns() - begin;
}

static void tell(const struct call *c)
{
	put_row(own_tid(), "slow", c->name, 1, c->result < 0);
	put(",\"ret\":%ld,\"least\":%llu,\"outside\":%llu,\"arguments\":[", c->result,
	    (unsigned long long)c->least, (unsigned long long)c->outside);
	for (int i = 0; i < 6; i++)
		put("%s%lld", i ? "," : "", (long long)c->arguments[i]);
	put("]}");
}

int main(int argc, char **argv)
{
	uint64_t slow, fast, n;
	struct call *calls;

	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("SLOW and FAST are needed");
	slow = parse_number(argv[1], "SLOW", 0, 200);
	fast = parse_number(argv[2], "FAST", 0, 1000);
	n = 2 * slow + fast;
	calls = calloc(n + 1, sizeof(*calls));
	if (!calls)
		die("no memory");
	prctl(PR_SET_TIMERSLACK, 1UL);
	reached("ready");
	gate("go");
	for (uint64_t i = 0; i < n; i++) {
		if (i >= 2 * slow)
			calls[i] = nap(i, &no_time);
		else
			calls[i] = i % 2 ? wait_in_vain(i) : nap(i, &three_ms);
		make(&calls[i]);
	}
	report_begin();
	for (uint64_t i = 0; i < n; i++)
		tell(&calls[i]);
	report_end();
	return 0;
}
