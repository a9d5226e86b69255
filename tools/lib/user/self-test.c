/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <plumb/bpf/key/key.h>
#include <plumb/core/clock.h>
#include <plumb/core/memory.h>
#include <plumb/syscalls/syscalls.h>
#include <plumb/user/self-test.h>

#define LOOP_CALLS 200
#define MIN_LOOPS  4

void plumb_self_test_keep_function(void)
{
	char name[64];

	plumb_syscall_function(PLUMB_CALIBRATION_NR, name, sizeof(name));
	plumb_functions_remember(name);
}

int plumb_self_test_find_function(const char *btf_file, struct plumb_functions *found)
{
	char name[64];
	const char *const pattern = name;

	plumb_syscall_function(PLUMB_CALIBRATION_NR, name, sizeof(name));
	return plumb_functions_find(&pattern, 1, btf_file, found);
}

void plumb_self_test_syscall(void)
{
	syscall(PLUMB_CALIBRATION_NR, -1);
}

int plumb_self_test_find_tracepoint(struct plumb_tracepoints *found)
{
	int tracefs = plumb_tracefs_open(), err;

	if (tracefs < 0)
		return tracefs;
	err = plumb_tracepoints_find(tracefs, "task:task_rename", found);
	close(tracefs);
	return err;
}

void plumb_self_test_rename(void)
{
	static char name[PLUMB_COMM_LEN];

	if (!*name)
		prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, name);
}

/* The kernel emulates its first instruction: on x86 a push, as that of most functions. */
__attribute__((noinline)) void plumb_self_test_call(void)
{
#if defined(__x86_64__)
	asm volatile("" : : : "memory", "rbx");
#else
	asm volatile("b 1f\n1:" : : : "memory");
#endif
}

/* Its first instruction is single-stepped, which takes microseconds more. */
__attribute__((noinline)) void plumb_self_test_call_stepped(void)
{
#if defined(__x86_64__)
	asm volatile("mov %%eax, %%eax" : : : "memory");
#else
	asm volatile("mov w9, w9" : : : "memory");
#endif
}

/* Finds the offset of a function in its file; the first object is the program itself. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *offset)
{
	uint64_t address = *(uint64_t *)offset - info->dlpi_addr;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && address - p->p_vaddr < p->p_filesz)
			*(uint64_t *)offset = address - p->p_vaddr + p->p_offset;
	}
	return 1;
}

/* The offset in the function of its only return instruction, which no other bytes look like. */
static size_t find_return(void (*function)(void))
{
#if defined(__x86_64__)
	static const unsigned char instruction[] = {0xc3};
#else
	static const unsigned char instruction[] = {0xc0, 0x03, 0x5f, 0xd6};
#endif
	const char *code = (const char *)function;

	return (const char *)memmem(code, 32, instruction, sizeof(instruction)) - code;
}

int plumb_self_test_find_userfunc(void (*function)(void), struct plumb_userfuncs *found)
{
	const uint64_t address = (uintptr_t)function;
	uint64_t offset = address;
	struct plumb_userfunc *u;

	dl_iterate_phdr(find_offset, &offset);
	*found = (struct plumb_userfuncs){.path = realpath("/proc/self/exe", NULL)};
	if (offset == address || !found->path) {
		plumb_userfuncs_free(found);
		return -ENOENT;
	}
	u = plumb_append(found->list, found->n);
	*u = (struct plumb_userfunc){.name = plumb_copied("self_test"), .offset = offset};
	*plumb_append(u->returns, u->n_returns) = offset + find_return(function);
	return 0;
}

/* Returns the time in the fastest loop; slower ones were disturbed. */
double plumb_self_test_ns(void (*trigger)(void), uint64_t budget)
{
	uint64_t best = UINT64_MAX, end = plumb_now() + budget, start, took;
	int loops = 0;

	do {
		start = plumb_now();
		for (int i = 0; i < LOOP_CALLS; i++)
			trigger();
		took = plumb_now() - start;
		if (took < best)
			best = took;
	} while (++loops < MIN_LOOPS || start + took < end);
	return (double)best / LOOP_CALLS;
}

#define ARITHMETIC_STEPS 4000

/* On a busy CPU a self-test may take this many times its budget, to complete all loops. */
#define PATIENCE 8

static uint64_t time_arithmetic(void)
{
	uint64_t start = plumb_now(), x = start;

	for (int i = 0; i < ARITHMETIC_STEPS; i++) {
		x = x * 3 + 1;
		asm volatile("" : "+r"(x)); /* each step waits for the one before */
	}
	return plumb_now() - start;
}

static uint64_t time_calls(void (*trigger)(void), uint64_t n)
{
	uint64_t start = plumb_now();

	for (uint64_t i = 0; i < n; i++)
		trigger();
	return plumb_now() - start;
}

/* The number of calls in a loop, so that all loops together take most of BUDGET. */
static uint64_t calls_of_loop(void (*trigger)(void), uint64_t budget)
{
	uint64_t took, best = UINT64_MAX;

	/* Takes the fastest: the first ones are slow, and any may be disturbed. */
	for (int i = 0; i < MIN_LOOPS; i++) {
		took = time_calls(trigger, 8);
		if (took < best)
			best = took;
	}
	return budget * 7 / 8 / PLUMB_SELF_TEST_LOOPS * 8 / (best ?: 1) ?: 1;
}

void plumb_self_test_run(struct plumb_self_test *t, void (*trigger)(void), uint64_t budget)
{
	uint64_t end = plumb_now() + PATIENCE * budget, n = calls_of_loop(trigger, budget);

	t->n = 0;
	do {
		t->call[t->n] = (double)time_calls(trigger, n) / n;
		t->arithmetic[t->n] = time_arithmetic();
		t->n++;
	} while (t->n < PLUMB_SELF_TEST_LOOPS && (t->n < MIN_LOOPS || plumb_now() < end));
}

double plumb_self_test_unit(const struct plumb_self_test *t)
{
	return plumb_median(t->arithmetic, t->n);
}

struct plumb_interval plumb_self_test_interval(const struct plumb_self_test *t, double unit)
{
	double ns[PLUMB_SELF_TEST_LOOPS];

	for (size_t i = 0; i < t->n; i++)
		ns[i] = t->call[i] / t->arithmetic[i] * unit;
	return plumb_bootstrap(ns, t->n, 0);
}
