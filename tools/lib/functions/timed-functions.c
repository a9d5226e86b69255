/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The programs of function.bpf.h; those for the end of a call are attached first. */
#include <plumb/core/log.h>
#include <plumb/functions/functions.h>
#include <plumb/functions/timed-functions.h>
#include <plumb/core/session.h>

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

void plumb_timed_functions_warn_refused(const struct plumb_session *s)
{
	const size_t refused = s->instance.probes.refused;

	if (refused)
		plumb_warn("%zu of %zu functions could not be attached (-v lists them)", refused,
			   s->tool->mechanisms.functions->n);
}
