/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "hook-names.h"
#include <stdio.h>
#include <string.h>
#include <plumb/core/attaching.h>
#include <plumb/core/instance.h>

/* Names the first functions that are attached. */
static void name_functions(struct plumb_instance *in)
{
	const size_t most = PLUMB_MAX_HOOKS - 4;
	char(*hooks)[PLUMB_HOOK_NAME] = in->bpf.hooks;
	size_t n = 0;

	if (*hooks[0])
		return;
	for (size_t i = 0; i < in->functions->n; i++) {
		if (plumb_probe_refusal(&in->probes, i))
			continue;
		if (n < most)
			in->attaching->name(in->functions, i, hooks[n], sizeof(hooks[n]));
		n++;
	}
	if (n > most)
		snprintf(hooks[most], sizeof(hooks[most]), "and %zu more", n - most);
}

/* Adds a hook to those that the report names, unless it is there. */
static void name_hook(struct plumb_bpf *bpf, const char *name)
{
	size_t i = 0;

	while (i < PLUMB_MAX_HOOKS - 2 && *bpf->hooks[i] && strcmp(bpf->hooks[i], name) != 0)
		i++;
	snprintf(bpf->hooks[i], sizeof(bpf->hooks[i]), "%s", name);
}

void plumb_name_hooks(struct plumb_instance *in)
{
	const bool split = in->bpf.config->split;

	if (in->mechanism->attach_targets)
		name_functions(in);
	if (split || (in->has_returns && !*in->no_return))
		name_hook(&in->bpf, "sched_switch");
	if (split)
		name_hook(&in->bpf, "sched_waking");
}
