/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <unistd.h>
#include <plumb/core/privileges.h>

#define MAX_KEPT 16
#define MAX_OWN  4

static struct plumb_kept list[MAX_KEPT];
static size_t n_kept;
static pid_t signalled;

void plumb_retain(uint64_t capabilities, unsigned int calls, const char *why)
{
	size_t i = 0;

	while (i < n_kept && strcmp(list[i].why, why) != 0)
		i++;
	if (i == MAX_KEPT)
		abort();
	n_kept += i == n_kept;
	list[i].why = why;
	list[i].capabilities |= capabilities;
	list[i].calls |= calls;
}

static void (*asked[MAX_OWN])(void);

void plumb_retain_later(void (*ask)(void))
{
	size_t i = 0;

	while (i < MAX_OWN - 1 && asked[i] && asked[i] != ask)
		i++;
	asked[i] = ask;
}

void plumb_retain_all(void)
{
	for (size_t i = 0; i < MAX_OWN && asked[i]; i++)
		asked[i]();
}

void plumb_retain_nothing(void)
{
	n_kept = 0;
}

void plumb_retain_signals(uint64_t capabilities, pid_t to, const char *why)
{
	signalled = to;
	plumb_retain(capabilities, PLUMB_CALLS_SIGNAL, why);
}

const struct plumb_kept *plumb_kept(size_t *n, pid_t *to)
{
	*n = n_kept;
	*to = signalled;
	return list;
}

/* Without CAPABILITIES for the time being; NULL: not possible. */
static cap_t lower(uint64_t capabilities)
{
	cap_t before = cap_get_proc(), caps = before ? cap_dup(before) : NULL;
	bool lowered = caps;

	for (cap_value_t c = 0; c < cap_max_bits() && lowered; c++)
		if (capabilities >> c & 1)
			lowered = !cap_set_flag(caps, CAP_EFFECTIVE, 1, &c, CAP_CLEAR);
	lowered = lowered && !cap_set_proc(caps);
	cap_free(caps);
	if (lowered)
		return before;
	cap_free(before);
	return NULL;
}

bool plumb_can_without(uint64_t capabilities, bool (*attempt)(void *context), void *context)
{
	cap_t before = lower(capabilities);
	const bool can = before && attempt(context);

	plumb_as_tool(before);
	return can;
}

void *plumb_as_user(void)
{
	const uint64_t not_his = PLUMB_CAP(DAC_OVERRIDE) | PLUMB_CAP(DAC_READ_SEARCH) |
				 PLUMB_CAP(FOWNER) | PLUMB_CAP(CHOWN);
	cap_t own = getuid() ? lower(not_his) : NULL;

	if (getuid() && !own)
		abort();
	return own;
}

void plumb_as_tool(void *own)
{
	if (own)
		cap_set_proc(own);
	cap_free(own);
}

static pid_t own[MAX_OWN];

void plumb_own_child(pid_t child)
{
	size_t i = 0;

	while (i < MAX_OWN - 1 && own[i])
		i++;
	own[i] = child;
}

bool plumb_is_own(uint32_t pid)
{
	for (size_t i = 0; i < MAX_OWN; i++)
		if (pid == (uint32_t)own[i])
			return true;
	return pid == (uint32_t)getpid();
}
