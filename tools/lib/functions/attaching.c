/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attaching: what a tool with functions has for plumb_mechanisms.attaching. */
#include <plumb/functions/allowed-functions.h>
#include <plumb/functions/hooks.h>
#include <plumb/functions/modules.h>
#include <plumb/functions/probe.h>
#include <plumb/kernel/kernel.h>

static const char *skipped(const struct plumb_attach_target *targets, size_t n)
{
	bool at_return =
		targets->hook == PLUMB_KPROBE_SESSION || targets->hook == PLUMB_KRETPROBE_MULTI;

	if (at_return && n <= PLUMB_ONE_BY_ONE && plumb_fprobe_is_bounded())
		return "it misses returns here if more calls go on than twice the CPUs";
	return NULL;
}

const struct plumb_attaching plumb_attaching = {
	.skipped = skipped,
	.missing = plumb_hook_missing,
	.prepare = plumb_probe_prepare,
	.target = plumb_probe_target,
	.allowed = plumb_allowed_functions,
	.attach = plumb_probe_attach,
	.name = plumb_probe_name,
	.obstacle = plumb_function_obstacle,
	.gone = plumb_modules_gone,
};
