/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The programs of function.bpf.h; those for the end of a call are attached first. */
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/core/run.h>
#include <plumb/core/verdict.h>
#include <plumb/functions/functions.h>
#include <plumb/functions/timed-functions.h>

const struct plumb_attach_target plumb_fsession[] = {{"fsession", PLUMB_FSESSION}, {}};
const struct plumb_attach_target plumb_fsession_multi[] = {{"fsession_multi", PLUMB_FSESSION_MULTI},
							   {}};
const struct plumb_attach_target plumb_fentry[] = {
	{"fentry_leave", PLUMB_FEXIT}, {"fentry_enter", PLUMB_FENTRY}, {}};
const struct plumb_attach_target plumb_kprobe_session[] = {{"kprobe_session", PLUMB_KPROBE_SESSION},
							   {}};
const struct plumb_attach_target plumb_kprobe_multi[] = {
	{"multi_leave", PLUMB_KRETPROBE_MULTI}, {"multi_enter", PLUMB_KPROBE_MULTI}, {}};
const struct plumb_attach_target plumb_kprobe[] = {
	{"kprobe_leave", PLUMB_KRETPROBE}, {"kprobe_enter", PLUMB_KPROBE}, {}};

int plumb_timed_functions_find(const char *const *patterns, size_t n, const char *btf,
			       struct plumb_functions *functions)
{
	int err = plumb_functions_find(patterns, n, btf, functions);

	for (size_t i = 0; i < functions->n && !err; i++)
		if (functions->all[i].cold)
			err = plumb_error(EINVAL,
					  "%s is a part of a function that is entered by a jump: "
					  "it has no return",
					  functions->all[i].name);
	if (!err)
		plumb_info("%zu functions", functions->n);
	return err;
}

void plumb_timed_functions_warn_refused(const struct plumb_probes *probes, size_t n)
{
	if (probes->refused)
		plumb_warn("%zu of %zu functions could not be attached (-v lists them)",
			   probes->refused, n);
}

void plumb_timed_functions_warn_silent(const struct plumb_run *run,
				       const struct plumb_snapshot *total, uint64_t elapsed,
				       const struct plumb_timed_functions *f)
{
	const struct plumb_probes *probes = &run->instance.probes;
	size_t silent = f->n - probes->refused;
	bool *seen = plumb_zeroed(f->n, sizeof(*seen));
	uint32_t function;
	char name[512];

	plumb_timed_functions_warn_refused(probes, f->n);
	if (plumb_ledger_judge(total).pooled || total->ledger.filtered_at_exit ||
	    !(run->options.by & f->by))
		goto out;
	for (size_t i = 0; i < total->n; i++) {
		memcpy(&function, (const char *)total->rows[i].key + f->at, sizeof(function));
		silent -= !seen[function];
		seen[function] = true;
	}
	if (silent > PLUMB_FEW)
		plumb_warn("%zu of %zu functions: 0 calls ended in %.3g s", silent,
			   f->n - probes->refused, elapsed / 1e9);
	for (size_t i = 0; i < f->n && silent <= PLUMB_FEW; i++)
		if (!seen[i] && !plumb_probe_refusal(probes, i))
			plumb_warn("%s: 0 calls ended in %.3g s%s", f->name(i, name, sizeof(name)),
				   elapsed / 1e9, f->guess);
out:
	free(seen);
}
