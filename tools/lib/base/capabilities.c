/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capabilities: whether this process may trace, and what it lacks. */
#include <plumb/base/cli.h>
#include <plumb/base/confine.h>
#include <plumb/base/log.h>
#include <stdio.h>
#include <string.h>

#include <plumb/base/reasons.h>

/* "CAP_BPF and CAP_PERFMON" (both since 5.8), or the one that is missing; NULL: none is. */
static const char *missing(void)
{
	const uint64_t admin = PLUMB_CAP(SYS_ADMIN), bpf = PLUMB_CAP(BPF),
		       perfmon = PLUMB_CAP(PERFMON), all = plumb_capabilities();

	if (all & admin)
		return NULL; /* it includes both */
	if (!(all & bpf))
		return all & perfmon ? "CAP_BPF" : "CAP_BPF and CAP_PERFMON";
	return all & perfmon ? NULL : "CAP_PERFMON";
}

/* Capabilities in a user namespace do not permit tracing the kernel. */
static bool is_in_user_namespace(void)
{
	FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned int first, outside, n = ~0U;

	if (f) {
		if (fscanf(f, "%u %u %u", &first, &outside, &n) != 3)
			n = ~0U;
		fclose(f);
	}
	return n != ~0U;
}

/* "integrity" of "none [integrity] confidentiality"; "": none, or not known. */
static void read_lockdown(char *state, size_t size)
{
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[128], *end;

	*state = 0;
	if (!f)
		return;
	if (fgets(line, sizeof(line), f) && strchr(line, '[')) {
		snprintf(state, size, "%s", strchr(line, '[') + 1);
		end = strchr(state, ']');
		if (end)
			*end = 0;
		if (!strcmp(state, "none"))
			*state = 0;
	}
	fclose(f);
}

bool plumb_may_trace(void)
{
	const char *names = missing();

	if (names)
		plumb_warn("%s %s missing: run as root, or: setcap cap_bpf,cap_perfmon+ep FILE",
			   names, strchr(names, ' ') ? "are" : "is");
	else if (is_in_user_namespace())
		plumb_warn("tracing needs root, or CAP_BPF and CAP_PERFMON, in the initial "
			   "user namespace: this process is in another");
	return !names && !is_in_user_namespace();
}

/*
 * Kernels of Debian and Ubuntu have levels above 2, which require CAP_SYS_ADMIN for all perf
 * events.  Up to level 2, CAP_PERFMON is enough; not for uprobes from 6.16 on, and on stable
 * kernels of that time ("perf: Revert to requiring CAP_SYS_ADMIN for uprobes").
 */
const char *plumb_perf_not_permitted(void)
{
	static _Thread_local char text[96];
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	const char *names = missing();
	const bool admin = plumb_capabilities() & PLUMB_CAP(SYS_ADMIN);
	int level = 0;

	if (f && fscanf(f, "%d", &level) != 1)
		level = 0;
	if (f)
		fclose(f);
	if (names)
		snprintf(text, sizeof(text), ", without %s", names);
	else if (level > 2 && !admin)
		snprintf(text, sizeof(text),
			 ", without CAP_SYS_ADMIN (kernel.perf_event_paranoid is %d)", level);
	else
		return admin ? ", perf_event_open() is not permitted"
			     : ", without CAP_SYS_ADMIN (kernels from 6.16 on require it for "
			       "uprobes by perf events)";
	return text;
}

const char *plumb_not_permitted(void)
{
	static _Thread_local char text[96];
	const char *names = missing();
	char lockdown[32];

	read_lockdown(lockdown, sizeof(lockdown));
	if (names)
		snprintf(text, sizeof(text), ", without %s", names);
	else if (*lockdown)
		snprintf(text, sizeof(text), ", kernel lockdown (%s)", lockdown);
	else if (!(plumb_capabilities() & PLUMB_CAP(SYS_ADMIN)))
		return ", not permitted (no CAP_SYS_ADMIN, or kernel lockdown)";
	else
		return ", not permitted (kernel lockdown?)";
	return text;
}
