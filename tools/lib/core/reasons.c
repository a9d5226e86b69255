/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/reasons.h>

static const char *nobody(void)
{
	return "";
}

static const char *(*forbidden)(void) = nobody;

void plumb_forbidden_by(const char *(*reason)(void))
{
	forbidden = reason;
}

const char *plumb_errno_name(int error)
{
	static _Thread_local char unnamed[24];
	const char *name;

	error = abs(error);
	switch (error) { /* include/linux/errno.h: codes that the kernel uses internally */
	case 512:
		return "ERESTARTSYS";
	case 513:
		return "ERESTARTNOINTR";
	case 514:
		return "ERESTARTNOHAND";
	case 515:
		return "ENOIOCTLCMD";
	case 516:
		return "ERESTART_RESTARTBLOCK";
	case 517:
		return "EPROBE_DEFER";
	case 524:
		return "ENOTSUPP";
	case PLUMB_FORBIDDEN:
		return *forbidden() ? "refused" : "EKEYREJECTED";
	}
	name = error ? strerrorname_np(error) : NULL;
	if (name)
		return name;
	snprintf(unnamed, sizeof(unnamed), "errno %d", error);
	return unnamed;
}

const char *plumb_errno_hint(int error)
{
	const char *limit;

	error = abs(error);
	if (error == EPERM)
		return plumb_not_permitted();
	limit = plumb_limit_hit(-error);
	if (limit)
		return limit;
	switch (error) {
	case EACCES:
		return ", rejected by the verifier (see -vv)";
	case ENODATA:
		return ", BTF does not have it";
	case EDEADLK:
		return ", BPF programs call it themselves";
	case ENODEV:
		return ", CONFIG_KPROBES is off";
	case PLUMB_FORBIDDEN:
		return forbidden();
	case ENOENT:
	case ESRCH:
		return ", not in this kernel";
	case EINVAL:
	case EOPNOTSUPP:
	case E2BIG:
	case 524: /* ENOTSUPP, as above */
		return ", not supported by this kernel";
	default:
		return "";
	}
}
