/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach-hint.h"

#include <errno.h>
#include <plumb/core/reasons.h>
#include <plumb/kernel/kernel.h>
#include <plumb/kernel/tracefs.h>

/*
 * The probable cause of ERR.  The kernel looks up targets of fentry in its own BTF, not in that of
 * --btf, and refuses exit programs on functions that never return.
 */
const char *plumb_load_hint(int err, enum plumb_hook hook)
{
	const char *limit = err == -EPERM ? NULL : plumb_limit_hit(err);

	if (err == -ENOMEM)
		return ", no memory: lower --max-keys or --precision";
	if (limit)
		return limit;
	if (err == -ESRCH && plumb_hook_is_fentry(hook))
		return ", not in the kernel's own BTF";
	if (err == -EINVAL &&
	    (hook == PLUMB_FEXIT || (hook == PLUMB_FSESSION && plumb_session_form() == 700)))
		return ", as on functions that never return";
	return plumb_errno_hint(err);
}

/*
 * The same for attaching.  -EACCES then comes from the verifier only for fentry programs, since
 * each copy has the prototype of its function.
 */
const char *plumb_attach_hint(int err, enum plumb_hook hook)
{
	if (err != -EACCES || plumb_hook_is_fentry(hook))
		return plumb_load_hint(err, hook);
	if (hook == PLUMB_TRACEPOINT && plumb_tracefs_is_denied())
		return ", tracefs is not readable without CAP_DAC_READ_SEARCH";
	return plumb_perf_not_permitted();
}
