/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "keeps.h"

#include <errno.h>
#include <string.h>
#include <plumb/bpf/key/key.h>
#include <plumb/core/inflight.h>
#include <plumb/core/part.h>
#include <plumb/core/run.h>
#include <plumb/guard/confine.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/kernel/preemption.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static bool can_ask(void *object)
{
	const struct bpf_map *map = bpf_object__next_map(object, NULL);
	struct bpf_map_info info = {};
	__u32 size = sizeof(info);

	/* The map may not have been created: another error. */
	return !map || !bpf_obj_get_info_by_fd(bpf_map__fd(map), &info, &size) || errno != EPERM;
}

/*
 * Before 5.19, all of bpf(2) takes CAP_BPF or CAP_SYS_ADMIN if kernel.unprivileged_bpf_disabled is
 * set.
 */
static void keep_maps(const struct plumb_run *run)
{
	const uint64_t either = PLUMB_CAP(BPF) | PLUMB_CAP(SYS_ADMIN);
	const uint64_t held = plumb_capabilities() & either;
	uint64_t needed = 0;

	if (!plumb_can_without(either, can_ask, run->instance.bpf.object))
		needed = held & PLUMB_CAP(BPF) ?: held;
	plumb_retain(needed, PLUMB_CALLS_READ_MAPS, "reports");
	if (plumb_kernel_is_preemptible())
		plumb_retain(PLUMB_CAP(SYS_NICE), 0, "reading maps at real-time priority");
	if (run->instance.bpf.states)
		plumb_retain(PLUMB_CAP(SYS_PTRACE), PLUMB_CALLS_WRITE_MAPS,
			     "states of processes that end");
}

static void keep_programs(const struct plumb_run *run)
{
	const struct plumb_instance *in = &run->instance;
	const struct bpf_program *iterator =
		bpf_object__find_program_by_name(in->bpf.object, "thread_states");

	if (in->mechanism->run)
		plumb_retain(0, PLUMB_CALLS_RUN_PROGRAMS, "what only programs can read");
	if (iterator && bpf_program__autoload(iterator))
		plumb_retain(0, PLUMB_CALLS_ITERATE, "states of threads");
}

int plumb_keeps_confine(struct plumb_run *run)
{
	const struct plumb_in_flight *in_flight = plumb_parts_in_flight(run->tool);

	/* While this process may look: a tool that keeps no capability cannot later. */
	if (run->tool->options.selection && !run->child)
		run->tool->options.rings(run);
	keep_maps(run);
	keep_programs(run);
	if (in_flight)
		in_flight->keep(run);
	plumb_keep_all();
	if (run->options.n_cgroups)
		plumb_retain(0, PLUMB_CALLS_WRITE_MAPS, "cgroups that are made again");
	if (run->instance.probes.by)
		run->instance.probes.by->keep(&run->instance.probes);
	if (run->options.by & PLUMB_BY_CGROUP)
		plumb_cgroup_keep();
	if (run->child)
		plumb_keep_signals(PLUMB_CAP(KILL), run->child, "ending the command");
	return plumb_confine();
}
