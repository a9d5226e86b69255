/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "words.h"

#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/text.h>
#include <plumb/functions/disk.h>
#include <plumb/meanwhile/meanwhile.h>
#include <plumb/stacks/stacks.h>
#include <plumb/syscalls/syscalls.h>

#include "quota.h"

const char *words_call(const struct part *p, char *text, size_t size)
{
	*text = 0;
	if (p->what & WALL_CALL)
		plumb_syscall_name((p->what & WALL_CALL) - 1, PLUMB_ABI_NATIVE, text, size);
	return text;
}

/* A thread of the process itself has a number, unless there were too many to tell them apart. */
bool words_has_other(const struct part *p)
{
	return *p->other.comm && (p->cause != CAUSE_THREAD || p->other.tid);
}

/* " (nice 5 on CPU 3 only)", as far as that is not as usual, of who had a CPU. */
static void words_priority(const struct wall_other *o, char *text, size_t size)
{
	char nice[32] = "", cpus[32];

	if (o->nice == PLUMB_REALTIME)
		snprintf(nice, sizeof(nice), "real-time");
	else if (o->nice)
		snprintf(nice, sizeof(nice), "nice %d", o->nice);
	plumb_meanwhile_cpus(o->n_allowed, o->cpu, cpus, sizeof(cpus));
	if (*nice || *cpus)
		snprintf(text, size, " (%s%s)", nice, cpus + !*nice);
}

const char *words_other(const struct part *p, char *text, size_t size)
{
	const struct wall_other *o = &p->other;
	char comm[PLUMB_ESCAPED];
	int n;

	plumb_escape(comm, o->comm, sizeof(comm));
	n = snprintf(text, size, "%s", comm);
	if (o->tid || o->pid)
		n += snprintf(text + n, size - n, "/%u", o->tid ?: o->pid);
	if (p->cause == CAUSE_TAKEN)
		words_priority(o, text + n, size - n);
	else if (p->cause == CAUSE_THREAD && o->tid)
		plumb_start_text(p->other_start, comm, text + n, size - n);
	return text;
}

/* Of a wait in CALL for another thread of the process. */
static const char *lock_of(const struct part *p, const char *call)
{
	static const char *const memory[] = {"mmap",   "munmap",  "mprotect",
					     "mremap", "madvise", "brk"};
	const uint32_t op = p->what >> WALL_OP_SHIFT & WALL_OP;

	if (!strcmp(call, "futex") && p->cause == CAUSE_TIMER)
		return " (condition, semaphore or lock, with a timeout)";
	if ((p->cause != CAUSE_THREAD && p->cause != CAUSE_PROCESS) || !p->what)
		return "";
	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		if (!strcmp(call, memory[i]))
			return " (lock of the address space)";
	if (strcmp(call, "futex") != 0)
		return "";
	if (p->what & WALL_RWLOCK)
		return " (read-write lock)";
	return op == FUTEX_WAIT_BITSET ? " (condition, semaphore or lock)"
	       : op == FUTEX_LOCK_PI   ? " (lock with priority inheritance)"
				       : " (lock)";
}

/* Where: the call, and a function in it. */
const char *words_where(const struct part *p, char *text, size_t size)
{
	char call[48], disk[32], comm[PLUMB_ESCAPED], limit[32], period[32];
	size_t n;

	words_call(p, call, sizeof(call));
	snprintf(text, size, "%s%s%s%s", call, lock_of(p, call), *call && *p->place ? ", " : "",
		 p->place);
	/* A function's name may be longer than TEXT: as much as fits. */
	n = strlen(text);
	if (*p->peer)
		snprintf(text + n, size - n, "%s%s", n ? ", " : "", p->peer);
	n = strlen(text);
	plumb_escape(comm, p->process.comm, sizeof(comm));
	if (p->process.pid)
		snprintf(text + n, size - n, ", %s/%u", comm, p->process.pid);
	n = strlen(text);
	if (p->quota)
		snprintf(text + n, size - n, "%s of each %s: cgroup %s",
			 plumb_format_time(p->quota->limit, PLUMB_AUTO, limit, sizeof(limit)),
			 plumb_format_time(p->quota->period, PLUMB_AUTO, period, sizeof(period)),
			 p->quota->cgroup);
	n = strlen(text);
	if (p->device)
		snprintf(text + n, size - n, "%son %s", n ? ", " : "",
			 plumb_disk_name(p->device, disk, sizeof(disk)));
	return text;
}

const char *words_head(const struct head *h, char *text, size_t size)
{
	const struct part part = {
		.cause = CAUSE_THREAD, .other = h->other, .other_start = h->start};
	/* Who signals a condition does not hold it. */
	const bool signals = !(h->chain.what & WALL_RWLOCK) &&
			     (h->chain.what >> WALL_OP_SHIFT & WALL_OP) == FUTEX_WAIT_BITSET;
	char name[OTHER];

	return plumb_head_text(&h->chain, words_other(&part, name, sizeof(name)),
			       signals ? "woke them" : "held it", text, size);
}
