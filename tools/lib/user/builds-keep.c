/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* builds: what attaching to later ones takes. */
#include <plumb/core/privileges.h>
#include <plumb/functions/probe.h>
#include <plumb/user/builds.h>

/*
 * Attaching to many by one link (6.6) takes no capability, a perf event CAP_PERFMON, and from 6.16
 * on CAP_SYS_ADMIN.  Without cookies (5.15) each event has its own copy of the program.
 */
void plumb_builds_keep(void)
{
	uint64_t capabilities = plumb_caps_for_processes();
	unsigned int calls = PLUMB_CALLS_ATTACH;
	const struct plumb_probes *probes = plumb_builds_probes();
	const struct plumb_build *build;

	if (!plumb_build_at(0) || !probes)
		return;
	for (size_t i = 0; (build = plumb_build_at(i)); i++)
		if (build->functions.is_usdt)
			calls |= PLUMB_CALLS_WRITE_MAPS; /* where the arguments are */
	if (probes->by_events) {
		capabilities |= PLUMB_CAP(PERFMON) | PLUMB_CAP(SYS_ADMIN);
		calls |= PLUMB_CALLS_EVENTS;
	}
	if (probes->by_events && !probes->with_cookies) {
		capabilities |= PLUMB_CAP(BPF);
		calls |= PLUMB_CALLS_LOAD;
	}
	plumb_retain(capabilities, calls, "files that are replaced");
}
