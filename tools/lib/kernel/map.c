/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <plumb/kernel/map.h>
#include <plumb/kernel/preemption.h>

#include <bpf/bpf.h>

/* Makes the calling thread a real-time thread; false: it already is, or may not be one. */
static bool become_realtime(int *policy, struct sched_param *param)
{
	const struct sched_param lowest = {.sched_priority = 1};
	int flag, usual;

	*policy = sched_getscheduler(0);
	flag = *policy & SCHED_RESET_ON_FORK;
	usual = *policy & ~SCHED_RESET_ON_FORK;
	/* Other policies were chosen by the user and are kept. */
	if (usual != SCHED_OTHER && usual != SCHED_BATCH && usual != SCHED_IDLE)
		return false;
	return !sched_getparam(0, param) && !sched_setscheduler(0, SCHED_FIFO | flag, &lowest);
}

int plumb_map_lookup(int map, const void *key, void *value)
{
	struct sched_param param;
	int policy, err, why;
	bool realtime;

	if (!plumb_kernel_is_preemptible())
		return bpf_map_lookup_elem(map, key, value);
	realtime = become_realtime(&policy, &param);
	err = bpf_map_lookup_elem(map, key, value);
	why = errno;
	if (realtime)
		sched_setscheduler(0, policy, &param);
	errno = why;
	return err;
}
