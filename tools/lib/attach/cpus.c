/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/attach/cpus.h>
#include <stddef.h>
#include <unistd.h>

#include <bpf/libbpf.h>

static long online_before;
static const uint32_t *cpu_left;
static bool lost;

bool plumb_cpus_can_leave(void)
{
	return libbpf_num_possible_cpus() > 1;
}

void plumb_cpus_begin(const uint32_t *left)
{
	online_before = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_left = left;
}

void plumb_cpus_forget(void)
{
	online_before = 0;
	cpu_left = NULL;
}

bool plumb_cpus_changed(void)
{
	if (!online_before)
		return false;
	return (cpu_left && *cpu_left) || sysconf(_SC_NPROCESSORS_ONLN) != online_before;
}

void plumb_cpus_note_lost(void)
{
	lost = true;
}

bool plumb_cpus_have_lost(void)
{
	return lost;
}
