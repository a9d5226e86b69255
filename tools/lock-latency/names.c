/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/core/text.h>
#include <plumb/symbols/symbols.h>
#include <plumb/syscalls/syscalls.h>

/* ---- the kernel's variables ---- */

struct variable {
	uint64_t address;
	char *name;
};

static struct variable *variables;
static size_t n_variables;

static int by_address(const void *a, const void *b)
{
	const uint64_t x = ((const struct variable *)a)->address;
	const uint64_t y = ((const struct variable *)b)->address;

	return (x > y) - (x < y);
}

/* Symbols come by their addresses: a function ends where the next one begins. */
static void note_text(struct lock_text texts[LOCK_TEXTS], uint64_t address, const char *name)
{
	static const char *const begin[] = {"__sched_text_start", "__lock_text_start", "up_read"};
	static const char *const end[] = {"__sched_text_end", "__lock_text_end", NULL};

	for (int i = 0; i < LOCK_TEXTS; i++) {
		if (!strcmp(name, begin[i]))
			texts[i].from = address;
		else if (end[i] ? !strcmp(name, end[i])
				: texts[i].from && address > texts[i].from && !texts[i].to)
			texts[i].to = address;
	}
}

/* Without CONFIG_KALLSYMS_ALL there are only functions; address 0: hidden. */
int lock_names_read(struct lock_text texts[LOCK_TEXTS])
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024], type, name[512];
	uint64_t address;

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 " %c %511s", &address, &type, name) != 3 || !address)
			continue;
		if (strchr("dDbBrR", type))
			*plumb_append(variables, n_variables) =
				(struct variable){address, plumb_copied(name)};
		else
			note_text(texts, address, name);
	}
	fclose(f);
	if (n_variables)
		qsort(variables, n_variables, sizeof(*variables), by_address);
	return 0;
}

/* The variable at ADDRESS, or that begins before it in the same page; NULL: none. */
static const struct variable *variable_at(uint64_t address)
{
	size_t from = 0, to = n_variables, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (variables[middle].address <= address)
			from = middle + 1;
		else
			to = middle;
	}
	if (!from || address - variables[from - 1].address >= 4096 || from == n_variables)
		return NULL;
	return &variables[from - 1];
}

/* ---- text ---- */

static const char *const members[LOCK_MEMBERS] = {
	[LOCK_MMAP] = "mmap_lock",      [LOCK_INODE] = "i_rwsem",
	[LOCK_I_MMAP] = "i_mmap_rwsem", [LOCK_INVALIDATE] = "invalidate_lock",
	[LOCK_UMOUNT] = "s_umount",     [LOCK_ANON_VMA] = "anon_vma.rwsem",
	[LOCK_PIPE] = "mutex of pipe",  [LOCK_POSITION] = "f_pos_lock",
	[LOCK_EPOLL] = "eventpoll.mtx", [LOCK_RQ] = "rq.__lock of CPU",
};

static void caller_name(uint64_t caller, char *text, size_t size)
{
	struct plumb_frame_name f = {};

	if (caller)
		plumb_symbolize_caller(caller, &f);
	if (f.function)
		snprintf(text, size, "%s", f.function);
	else
		snprintf(text, size, "[unknown]");
}

uint64_t lock_first_caller(uint64_t caller, uint64_t unknown)
{
	static struct variable *named;
	static size_t n_named;
	struct plumb_frame_name f = {};

	plumb_symbolize_caller(caller, &f);
	if (!f.function)
		return unknown;
	for (size_t i = 0; i < n_named; i++)
		if (!strcmp(named[i].name, f.function))
			return named[i].address;
	*plumb_append(named, n_named) = (struct variable){caller, plumb_copied(f.function)};
	return caller;
}

static void name_by_address(const struct lock_id *id, char *text, size_t size)
{
	const struct variable *v = variable_at(id->lock);
	char caller[PLUMB_ESCAPED];

	if (v && v->address == id->lock) {
		snprintf(text, size, "%s", v->name);
	} else if (v) {
		snprintf(text, size, "%s+%#" PRIx64, v->name, (uint64_t)id->lock - v->address);
	} else {
		caller_name(id->caller, caller, sizeof(caller));
		snprintf(text, size, "%#" PRIx64 " in %s", (uint64_t)id->lock, caller);
	}
}

char *lock_name_of(const struct lock_id *id, char *text, size_t size)
{
	const char *member = id->member < LOCK_MEMBERS ? members[id->member] : NULL;
	char name[PLUMB_ESCAPED];

	plumb_escape(name, id->name, sizeof(name));
	if (!member)
		name_by_address(id, text, size);
	else if (id->member == LOCK_ANON_VMA || id->member == LOCK_EPOLL)
		snprintf(text, size, "%s", member);
	else if (id->member == LOCK_MMAP)
		snprintf(text, size, "%s of %s/%" PRIu64, member, name, (uint64_t)id->number);
	else if (id->member == LOCK_PIPE || id->member == LOCK_RQ)
		snprintf(text, size, "%s %" PRIu64, member, (uint64_t)id->number);
	else if (*name)
		snprintf(text, size, "%s of %s", member, name);
	else
		snprintf(text, size, "%s of inode %" PRIu64, member, (uint64_t)id->number);
	return text;
}

char *lock_holder_name(const struct lock_holder *owner, char *text, size_t size)
{
	char comm[PLUMB_ESCAPED];

	plumb_escape(comm, owner->comm, sizeof(comm));
	if (owner->tid)
		snprintf(text, size, "%s/%u", comm, owner->tid);
	else
		snprintf(text, size, owner->shared ? "[readers]" : "[unknown]");
	return text;
}

/* ---- keys ---- */

static void format_lock(const void *key, char *text, size_t size)
{
	lock_name_of(&((const struct lock_key *)key)->id, text, size);
}

static void format_caller(const void *key, char *text, size_t size)
{
	caller_name(((const struct lock_key *)key)->id.caller, text, size);
}

static void format_owner(const void *key, char *text, size_t size)
{
	lock_holder_name(&((const struct lock_key *)key)->owner, text, size);
}

static void format_doing(const void *key, char *text, size_t size)
{
	const uint32_t call = ((const struct lock_key *)key)->owner.call;

	if (call)
		plumb_syscall_name(call - 1, 0, text, size);
	else
		snprintf(text, size, "-");
}

static void format_asleep(const void *key, char *text, size_t size)
{
	const uint64_t at = ((const struct lock_key *)key)->asleep;

	if (at >= LOCK_PLACES_FROM)
		caller_name(at, text, size);
	else
		snprintf(text, size, "%s",
			 at == LOCK_PLACE_NONE      ? "-"
			 : at == LOCK_PLACE_UNKNOWN ? "[unknown]"
						    : "[other]");
}

static const char *const kinds[LOCK_KINDS] = {
	[LOCK_MUTEX] = "mutex",
	[LOCK_RWSEM_READ] = "rwsem-read",
	[LOCK_RWSEM_WRITE] = "rwsem-write",
	[LOCK_SPINLOCK] = "spinlock",
	[LOCK_RWLOCK_READ] = "rwlock-read",
	[LOCK_RWLOCK_WRITE] = "rwlock-write",
	[LOCK_RTMUTEX] = "rtmutex",
	[LOCK_RT_READ] = "rt-read",
	[LOCK_RT_WRITE] = "rt-write",
	[LOCK_PERCPU_READ] = "percpu-read",
	[LOCK_PERCPU_WRITE] = "percpu-write",
	[LOCK_SEMAPHORE] = "semaphore",
};

static uint32_t kind_of(const void *key)
{
	return ((const struct lock_key *)key)->id.kind;
}

static void format_kind(const void *key, char *text, size_t size)
{
	snprintf(text, size, "%s", kinds[kind_of(key) < LOCK_KINDS ? kind_of(key) : 0]);
}

const struct plumb_field lock_fields[LOCK_N_FIELDS] = {
	{"kind", LOCK_BY_KIND, .format = format_kind},
	{"lock", LOCK_BY_LOCK, .format = format_lock},
	{"caller", LOCK_BY_CALLER, .format = format_caller},
	{"owner", LOCK_BY_OWNER, .format = format_owner},
	{"owner-call", LOCK_BY_DOING, .format = format_doing},
	{"asleep", LOCK_BY_ASLEEP, .format = format_asleep},
};
