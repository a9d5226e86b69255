/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capabilities: whether this process may trace, and what it lacks. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/privileges.h>
#include <plumb/kernel/token.h>

#include <plumb/core/reasons.h>

uint64_t plumb_capabilities(void)
{
	cap_flag_value_t value;
	cap_t caps = cap_get_proc();
	uint64_t bits = 0;

	if (!caps)
		return ~0ULL;
	for (cap_value_t c = 0; c < cap_max_bits(); c++)
		if (!cap_get_flag(caps, c, CAP_EFFECTIVE, &value) && value == CAP_SET)
			bits |= 1ULL << c;
	cap_free(caps);
	return bits;
}

uint64_t plumb_caps_for_processes(void)
{
	const uint64_t restore = plumb_capabilities() & PLUMB_CAP(CHECKPOINT_RESTORE);

	/* One of the two (the first since 5.9) is for map_files. */
	return PLUMB_CAP(SYS_PTRACE) | PLUMB_CAP(DAC_READ_SEARCH) |
	       (restore ?: PLUMB_CAP(SYS_ADMIN));
}

char *plumb_capability_names(uint64_t capabilities, bool for_setcap, char *text, size_t size)
{
	size_t n;
	char *name;

	for (cap_value_t c = 0; c < cap_max_bits(); c++) {
		name = capabilities >> c & 1 ? cap_to_name(c) : NULL;
		if (!name)
			continue;
		for (char *at = name; *at && !for_setcap; at++)
			*at = toupper((unsigned char)*at);
		n = strlen(text);
		snprintf(text + n, size - n, "%s%s", !n ? "" : for_setcap ? "," : ", ", name);
		cap_free(name);
	}
	return text;
}

void plumb_tell_lack(uint64_t needed, const char *what)
{
	static uint64_t told;
	uint64_t lacks = needed & ~plumb_capabilities() & ~told;
	char names[128] = "", line[192] = "";

	told |= lacks;
	if (lacks)
		plumb_warn("%s: not readable without %s: run as root, or: setcap %s+ep FILE", what,
			   plumb_capability_names(lacks, false, names, sizeof(names)),
			   plumb_capability_names(PLUMB_CAP(BPF) | PLUMB_CAP(PERFMON) | lacks, true,
						  line, sizeof(line)));
}

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
	const bool away = is_in_user_namespace();

	if (away && plumb_token_take())
		return true;
	plumb_token_none();
	if (names)
		plumb_warn("%s %s missing: run as root, or: setcap cap_bpf,cap_perfmon+ep FILE",
			   names, strchr(names, ' ') ? "are" : "is");
	else if (away)
		plumb_warn("tracing needs root, or CAP_BPF and CAP_PERFMON, in the initial "
			   "user namespace: this process is in another");
	return !names && !away;
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
	else if (is_in_user_namespace())
		return ", not permitted in a user namespace";
	else if (!(plumb_capabilities() & PLUMB_CAP(SYS_ADMIN)))
		return ", not permitted (no CAP_SYS_ADMIN, or kernel lockdown)";
	else
		return ", not permitted (kernel lockdown?)";
	return text;
}
