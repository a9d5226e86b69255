/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <plumb/core/clock.h>
#include <plumb/core/text.h>
#include <plumb/syscalls/arguments.h>
#include <plumb/syscalls/syscalls.h>

static const struct {
	const char *name, *kinds;
} known[] = {
#include "argument-calls.inc"
};

static const char *look_up(uint32_t nr, uint32_t abi)
{
	const char *name = plumb_syscall_known(nr, abi);

	for (size_t i = 0; name && i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(name, known[i].name))
			continue;
		/* Those of 32 bits that have all their arguments in memory, or some in two
		 * registers. */
		if (abi != PLUMB_ABI_NATIVE && (!strcmp(name, "mmap") || !strcmp(name, "select") ||
						strstr(known[i].kinds, "off")))
			return NULL;
		return known[i].kinds;
	}
	return NULL;
}

/* Of the call, "fd ptr size"; NULL: not known. */
static const char *kinds_of(uint32_t nr, uint32_t abi)
{
	static struct {
		bool looked_up;
		const char *kinds;
	} all[2][PLUMB_SYSCALLS];

#if defined(__x86_64__)
	if (abi == PLUMB_ABI_NATIVE)
		nr &= ~PLUMB_X32_BIT;
#endif
	if (nr >= PLUMB_SYSCALLS)
		return NULL;
	abi = abi != PLUMB_ABI_NATIVE;
	if (!all[abi][nr].looked_up)
		all[abi][nr].kinds = look_up(nr, abi);
	all[abi][nr].looked_up = true;
	return all[abi][nr].kinds;
}

/* Copies the kind of argument I to KIND; false: there is none. */
static bool kind_of(const char *kinds, int i, char kind[32])
{
	for (; *kinds && *kinds != '='; i--) {
		const size_t length = strcspn(kinds, " ");

		if (!i) {
			snprintf(kind, 32, "%.*s", (int)length, kinds);
			return true;
		}
		kinds += length + strspn(kinds + length, " ");
	}
	return false;
}

int plumb_call_arguments(uint32_t nr, uint32_t abi)
{
	const char *kinds = kinds_of(nr, abi);
	char kind[32];
	int n = 0;

	if (!kinds)
		return -1;
	while (n < 6 && kind_of(kinds, n, kind))
		n++;
	return n;
}

static bool is_one_of(const char *kind, const char *const *kinds)
{
	while (*kinds && strcmp(kind, *kinds) != 0)
		kinds++;
	return *kinds;
}

static void set_shape(uint32_t nr, uint32_t abi, struct syscall_shape *shape)
{
	static const char *const descriptors[] = {"fd", "dirfd", NULL};
	static const char *const times[] = {"timespec", "timeval",    "sleep",
					    "until",    "futex_time", NULL};
	const char *kinds = kinds_of(nr, abi), *name = plumb_syscall_known(nr, abi);
	char kind[32];
	int n = 0;

	for (int i = 0; kinds && i < 6 && kind_of(kinds, i, kind); i++) {
		if (is_one_of(kind, descriptors) && n < 2)
			shape->descriptors[n++] = i + 1;
		if (is_one_of(kind, times)) {
			shape->is_futex = !strcmp(kind, "futex_time");
			shape->time = i + 1;
			shape->time_bytes =
				abi == PLUMB_ABI_NATIVE || strstr(name, "time64") ? 16 : 8;
		}
	}
	shape->is_poll = kinds && kind_of(kinds, 0, kind) && !strcmp(kind, "pollfds");
	if (kinds && strchr(kinds, '=') && n < 2)
		shape->descriptors[n] = SYSCALL_RESULT;
}

void plumb_call_shapes(struct syscall_shape shapes[2 * PLUMB_SYSCALLS])
{
	for (uint32_t abi = 0; abi < 2; abi++)
		for (uint32_t nr = 0; nr < PLUMB_SYSCALLS; nr++)
			set_shape(nr, abi, &shapes[abi * PLUMB_SYSCALLS + nr]);
}

static void print_pointer(uint64_t value, char *text, size_t size)
{
	if (value)
		snprintf(text, size, "%#" PRIx64, value);
	else
		snprintf(text, size, "NULL");
}

/* ---- times ---- */

struct when {
	int64_t s, sub; /* seconds, and ns or us */
};

static struct when when_of(const struct plumb_call *c)
{
	struct syscall_shape shape = {};
	int32_t small[2];
	struct when t;

	set_shape(c->nr, c->abi, &shape);
	if (shape.time_bytes != sizeof(small)) {
		memcpy(&t, c->time, sizeof(t));
		return t;
	}
	memcpy(small, c->time, sizeof(small));
	return (struct when){small[0], small[1]};
}

/* FROM: when the time begins to count, of the same clock; 0: it is a duration. */
static void print_when(const struct when *t, int64_t from, bool is_timeval, char *text, size_t size)
{
	const int64_t second = is_timeval ? 1000000 : 1000000000;
	int64_t ns;
	char span[48];

	if (t->sub < 0 || t->sub >= second || t->s < 0 || t->s > INT64_MAX / 1000000000 - 1) {
		snprintf(text, size, "{%s=%" PRId64 ", %s=%" PRId64 "}", "tv_sec", t->s,
			 is_timeval ? "tv_usec" : "tv_nsec", t->sub);
		return;
	}
	ns = t->s * 1000000000 + t->sub * (1000000000 / second);
	if (!from) {
		plumb_exact_time(ns, text, size);
		return;
	}
	ns -= from;
	plumb_format_time(ns < 0 ? -(uint64_t)ns : (uint64_t)ns, PLUMB_AUTO, span, sizeof(span));
	snprintf(text, size, ns < 0 ? "%s ago" : "in %s", span);
}

/* When the call began, by a clock; 0: not known. */
static int64_t began_by(const struct plumb_call *c, bool realtime)
{
	return !c->began  ? 0
	       : realtime ? (int64_t)(c->began + plumb_wall_clock())
			  : (int64_t)c->began;
}

static bool futex_waits(uint64_t operation)
{
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_LOCK_PI:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case 13: /* FUTEX_LOCK_PI2 */
		return true;
	default:
		return false;
	}
}

/* Which clock an absolute time is of: 1, CLOCK_REALTIME; 0, another one; -1: it is a duration. */
static int clock_of(const struct plumb_call *c, const char *kind)
{
	const uint64_t *a = c->arguments;

	if (!strcmp(kind, "sleep"))
		return !(a[1] & TIMER_ABSTIME) ? -1 : a[0] == CLOCK_REALTIME;
	if (!strcmp(kind, "until"))
		return strstr(kinds_of(c->nr, c->abi), "clocks") ? a[4] == CLOCK_REALTIME : 1;
	if (strcmp(kind, "futex_time") != 0 || (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT)
		return -1;
	return a[1] & FUTEX_CLOCK_REALTIME || (a[1] & FUTEX_CMD_MASK) == FUTEX_LOCK_PI;
}

static void print_time(const struct plumb_call *c, int i, const char *kind, char *text, size_t size)
{
	const int clock = clock_of(c, kind);
	struct when t;

	if (!c->time || !c->arguments[i]) {
		print_pointer(c->arguments[i], text, size);
		return;
	}
	t = when_of(c);
	print_when(&t, clock < 0 ? 0 : began_by(c, clock), !strcmp(kind, "timeval"), text, size);
}

static void print_ms(int ms, char *text, size_t size)
{
	if (ms < 0)
		snprintf(text, size, "%d", ms);
	else
		plumb_exact_time(ms * 1000000ULL, text, size);
}

/* ---- arguments that depend on others ---- */

static void print_futex(uint64_t operation, char *text, size_t size)
{
	char command[32];

	plumb_values_text(plumb_value_names("futex_operations"), operation & FUTEX_CMD_MASK,
			  command, sizeof(command));
	snprintf(text, size, "%s%s%s", command, operation & FUTEX_PRIVATE_FLAG ? "_PRIVATE" : "",
		 operation & FUTEX_CLOCK_REALTIME ? "|FUTEX_CLOCK_REALTIME" : "");
}

/* The last three arguments, which most commands do not have; KIND begins with "futex_". */
static void print_of_futex(const struct plumb_call *c, int i, const char *kind, char *text,
			   size_t size)
{
	const int command = c->arguments[1] & FUTEX_CMD_MASK;

	if (i == 3 && futex_waits(c->arguments[1])) {
		print_time(c, i, kind, text, size);
	} else if (i == 5 && (command == FUTEX_WAIT_BITSET || command == FUTEX_WAKE_BITSET)) {
		if ((uint32_t)c->arguments[i] == FUTEX_BITSET_MATCH_ANY)
			snprintf(text, size, "FUTEX_BITSET_MATCH_ANY");
		else
			snprintf(text, size, "%#x", (uint32_t)c->arguments[i]);
	} else if (command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE ||
		   command == FUTEX_WAKE_OP || command == FUTEX_CMP_REQUEUE_PI ||
		   command == FUTEX_WAIT_REQUEUE_PI) {
		if (i != 5 || (command != FUTEX_REQUEUE && command != FUTEX_WAIT_REQUEUE_PI))
			snprintf(text, size, "%#" PRIx64, c->arguments[i]);
	}
}

static void print_fcntl(const struct plumb_call *c, int i, char *text, size_t size)
{
	const char *names = c->arguments[1] == F_SETFL   ? "open_flags"
			    : c->arguments[1] == F_SETFD ? "descriptor_flags"
							 : NULL;

	switch (c->arguments[1]) {
	case F_GETFD:
	case F_GETFL:
	case F_GETOWN:
	case F_GETSIG:
	case F_GETLEASE:
	case F_GETPIPE_SZ:
	case F_GET_SEALS:
		return;
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
	case F_SETPIPE_SZ:
		snprintf(text, size, "%d", (int)c->arguments[i]);
		return;
	default:
		if (names)
			plumb_values_text(plumb_value_names(names), (uint32_t)c->arguments[i], text,
					  size);
		else
			snprintf(text, size, "%#" PRIx64, c->arguments[i]);
	}
}

/* ---- all ---- */

static void print_descriptor(const struct plumb_call *c, int i, char *text, size_t size)
{
	const char *what = c->descriptors ? c->descriptors[i] : NULL;

	snprintf(text, size, "%d%s", (int)c->arguments[i], what ?: "");
}

/* Kinds that print a number; false: KIND is none of these. */
static bool print_number(const char *kind, uint64_t value, bool is_compat, char *text, size_t size)
{
	if (!strcmp(kind, "ptr") || !strcmp(kind, "pollfds"))
		print_pointer(value, text, size);
	else if (!strcmp(kind, "hex"))
		snprintf(text, size, "%#" PRIx64, value);
	else if (!strcmp(kind, "int"))
		snprintf(text, size, "%d", (int)value);
	else if (!strcmp(kind, "long") || !strcmp(kind, "off"))
		snprintf(text, size, "%" PRId64, is_compat ? (int32_t)value : (int64_t)value);
	else if (!strcmp(kind, "size"))
		snprintf(text, size, "%" PRIu64, value);
	else if (!strcmp(kind, "octal"))
		snprintf(text, size, "%#o", (unsigned int)value);
	else if (!strcmp(kind, "ms"))
		print_ms(value, text, size);
	else if (!strcmp(kind, "signal"))
		plumb_signal_text(value, text, size);
	else
		return false;
	return true;
}

const char *plumb_call_argument(const struct plumb_call *c, int i, char *text, size_t size)
{
	const char *kinds = kinds_of(c->nr, c->abi);
	const struct plumb_value_name *names;
	const uint64_t value = c->arguments[i];
	char kind[32];

	*text = 0;
	if (!kinds || !kind_of(kinds, i, kind)) {
		snprintf(text, size, "%#" PRIx64, value);
	} else if (print_number(kind, value, c->abi != PLUMB_ABI_NATIVE, text, size)) {
		return text;
	} else if ((names = plumb_value_names(kind))) {
		plumb_values_text(names, (uint32_t)value, text, size);
	} else if (!strcmp(kind, "dirfd") && (int)value == AT_FDCWD) {
		snprintf(text, size, "AT_FDCWD");
	} else if (!strcmp(kind, "fd") || !strcmp(kind, "dirfd")) {
		print_descriptor(c, i, text, size);
	} else if (!strcmp(kind, "mode")) {
		if (c->arguments[i - 1] & O_CREAT || (c->arguments[i - 1] & O_TMPFILE) == O_TMPFILE)
			snprintf(text, size, "%#o", (unsigned int)value);
	} else if (!strcmp(kind, "futex")) {
		print_futex(value, text, size);
	} else if (!strncmp(kind, "futex_", 6)) {
		print_of_futex(c, i, kind, text, size);
	} else if (!strcmp(kind, "fcntl")) {
		print_fcntl(c, i, text, size);
	} else {
		print_time(c, i, kind, text, size);
	}
	return text;
}
