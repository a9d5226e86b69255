/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stddef.h>
#include <unistd.h>
#include <plumb/bpf/core/config.h>
#include <plumb/core/cpus.h>

#include <bpf/libbpf.h>

/* How often it is looked again after a change: the kernel takes a while to end it. */
#define LOOKS 3

static long online; /* CPUs, as of the last look; 0: nobody looks */
static volatile uint8_t *left;
static bool changed, lost;
static int looks; /* that are left */

bool plumb_cpus_can_leave(void)
{
	return libbpf_num_possible_cpus() > 1;
}

void plumb_cpus_use(volatile uint8_t *of)
{
	left = of;
}

void plumb_cpus_begin(void)
{
	if (!online)
		online = sysconf(_SC_NPROCESSORS_ONLN);
}

void plumb_cpus_forget(void)
{
	online = 0;
	left = NULL;
	changed = false;
}

bool plumb_cpus_take_left(int cpu)
{
	const bool has = left && cpu < PLUMB_CPUS && left[cpu];

	if (has)
		left[cpu] = 0;
	return has;
}

static bool differs(long now)
{
	bool any = online && now != online;

	for (int cpu = 0; online && left && cpu < PLUMB_CPUS && !any; cpu++)
		any = left[cpu];
	return any;
}

bool plumb_cpus_look(void)
{
	const long now = sysconf(_SC_NPROCESSORS_ONLN);

	if (differs(now)) {
		changed = true;
		looks = LOOKS;
	} else if (looks) {
		looks--;
	}
	online = online ? now : 0;
	return looks;
}

bool plumb_cpus_are_watched(void)
{
	return online;
}

bool plumb_cpus_changed(void)
{
	return changed || differs(sysconf(_SC_NPROCESSORS_ONLN));
}

void plumb_cpus_note_lost(void)
{
	lost = true;
}

bool plumb_cpus_have_lost(void)
{
	return lost;
}
