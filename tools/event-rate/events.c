/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "events.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/reasons.h>
#include <plumb/functions/probe.h>
#include <plumb/guard/allowed.h>
#include <plumb/terminal/suggest.h>

#define SW(name, alias, config)                                                                    \
	{                                                                                          \
		name, alias, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config                            \
	}
#define HW(name, alias, config)                                                                    \
	{                                                                                          \
		name, alias, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config                            \
	}
#define CACHE(cache, op, result)                                                                   \
	(PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 |                          \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)
#define HITS_AND_MISSES(name, names, cache, op)                                                    \
	{names, NULL, PERF_TYPE_HW_CACHE, CACHE(cache, op, ACCESS)},                               \
	{                                                                                          \
		name "-misses", NULL, PERF_TYPE_HW_CACHE, CACHE(cache, op, MISS)                   \
	}
#define LOADS(name, cache)  HITS_AND_MISSES(name "-load", name "-loads", cache, READ)
#define STORES(name, cache) HITS_AND_MISSES(name "-store", name "-stores", cache, WRITE)
#define PREFETCHES(name, cache)                                                                    \
	HITS_AND_MISSES(name "-prefetch", name "-prefetches", cache, PREFETCH)
#define ALL(name, cache) LOADS(name, cache), STORES(name, cache), PREFETCHES(name, cache)

static const struct {
	const char *name, *alias;
	uint32_t type;
	uint64_t config;
} known[] = {
	HW("branch-instructions", "branches", BRANCH_INSTRUCTIONS),
	HW("branch-misses", NULL, BRANCH_MISSES),
	HW("bus-cycles", NULL, BUS_CYCLES),
	HW("cache-misses", NULL, CACHE_MISSES),
	HW("cache-references", NULL, CACHE_REFERENCES),
	HW("cpu-cycles", "cycles", CPU_CYCLES),
	HW("instructions", NULL, INSTRUCTIONS),
	HW("ref-cycles", NULL, REF_CPU_CYCLES),
	HW("stalled-cycles-backend", "idle-cycles-backend", STALLED_CYCLES_BACKEND),
	HW("stalled-cycles-frontend", "idle-cycles-frontend", STALLED_CYCLES_FRONTEND),
	SW("alignment-faults", NULL, ALIGNMENT_FAULTS),
	{"cgroup-switches", NULL, PERF_TYPE_SOFTWARE, CGROUP_SWITCHES},
	SW("context-switches", "cs", CONTEXT_SWITCHES),
	SW("cpu-clock", NULL, CPU_CLOCK),
	SW("cpu-migrations", "migrations", CPU_MIGRATIONS),
	SW("emulation-faults", NULL, EMULATION_FAULTS),
	SW("major-faults", NULL, PAGE_FAULTS_MAJ),
	SW("minor-faults", NULL, PAGE_FAULTS_MIN),
	SW("page-faults", "faults", PAGE_FAULTS),
	SW("task-clock", NULL, TASK_CLOCK),
	ALL("L1-dcache", L1D),
	LOADS("L1-icache", L1I),
	PREFETCHES("L1-icache", L1I),
	ALL("LLC", LL),
	LOADS("branch", BPU),
	ALL("dTLB", DTLB),
	LOADS("iTLB", ITLB),
	ALL("node", NODE),
};
#define N_KNOWN (sizeof(known) / sizeof(known[0]))

/* "r1a8": the PMU's own number of an event, hexadecimal. */
static bool parse_raw(const char *name, struct event *e)
{
	char *end;

	if (*name != 'r' || !isxdigit((unsigned char)name[1]) || strlen(name) > 17 ||
	    (name[1] == '0' && tolower((unsigned char)name[2]) == 'x'))
		return false;
	*e = (struct event){.type = PERF_TYPE_RAW, .config = strtoull(name + 1, &end, 16)};
	return !*end;
}

static bool parse_name(const char *name, struct event *e)
{
	for (size_t i = 0; i < N_KNOWN; i++)
		if (!strcmp(name, known[i].name) ||
		    (known[i].alias && !strcmp(name, known[i].alias))) {
			*e = (struct event){.type = known[i].type, .config = known[i].config};
			return true;
		}
	return parse_raw(name, e);
}

/* The modes of the modifiers in TEXT; 0: some are unknown, or there is none. */
static uint32_t parse_modifiers(const char *text)
{
	static const char letters[] = "ukh"; /* in the order of enum event_mode */
	uint32_t modes = 0;
	const char *letter;

	for (; *text; text++) {
		letter = strchr(letters, *text);
		if (!letter)
			return 0;
		modes |= 1U << (letter - letters);
	}
	return modes;
}

bool event_parse(const char *name, struct event *e)
{
	const char *modifiers = strchr(name, ':');
	char plain[64];

	if (modifiers && modifiers - name < (ptrdiff_t)sizeof(plain))
		snprintf(plain, sizeof(plain), "%.*s", (int)(modifiers - name), name);
	else
		modifiers = NULL;
	if (!parse_name(modifiers ? plain : name, e))
		return false;
	e->name = name;
	e->modes = modifiers ? parse_modifiers(modifiers + 1) : 0;
	if (modifiers && !e->modes)
		plumb_usage_error("%s: modifiers of events are u, k and h", name);
	if (modifiers && event_is_clock(e))
		plumb_usage_error("%s: the kernel ignores modifiers of clocks", name);
	return true;
}

/* By whatever name it was typed: by those that event-rate -l lists, and a raw one's number. */
int event_check_allowed(const struct event *e)
{
	char what[256], raw[32];
	int err = 0;

	for (size_t i = 0; i < N_KNOWN && !err; i++) {
		if (known[i].type != e->type || known[i].config != e->config)
			continue;
		err = plumb_allowed_name("event", known[i].name, what, sizeof(what));
		if (!err && known[i].alias)
			err = plumb_allowed_name("event", known[i].alias, what, sizeof(what));
	}
	if (e->type != PERF_TYPE_RAW)
		return err;
	snprintf(raw, sizeof(raw), "r%llx", (unsigned long long)e->config);
	return plumb_allowed_name("event", raw, what, sizeof(what));
}

int event_open(const struct event *e, int cpu)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = e->type,
		.config = e->config,
		.exclude_user = e->modes && !(e->modes & EVENT_USER),
		.exclude_kernel = e->modes && !(e->modes & EVENT_KERNEL),
		.exclude_hv = e->modes && !(e->modes & EVENT_HYPERVISOR),
	};

	return plumb_counter_open(&attr, cpu);
}

bool event_at(size_t i, struct event *e)
{
	if (i >= N_KNOWN)
		return false;
	*e = (struct event){known[i].name, known[i].type, known[i].config, 0};
	return true;
}

const char *event_alias(size_t i)
{
	return known[i].alias;
}

const char *event_suggest(const char *name, char *text, size_t size)
{
	const char *names[2 * N_KNOWN];
	size_t n = 0;

	for (size_t i = 0; i < N_KNOWN; i++) {
		names[n++] = known[i].name;
		if (known[i].alias)
			names[n++] = known[i].alias;
	}
	return plumb_suggest(name, names, n, text, size);
}

static bool event_is_hardware(const struct event *e)
{
	return e->type != PERF_TYPE_SOFTWARE;
}

bool event_is_software(const struct event *e, uint64_t config)
{
	return e->type == PERF_TYPE_SOFTWARE && e->config == config;
}

bool event_is_clock(const struct event *e)
{
	return event_is_software(e, PERF_COUNT_SW_CPU_CLOCK) ||
	       event_is_software(e, PERF_COUNT_SW_TASK_CLOCK);
}

bool event_is_occurrence(const struct event *e)
{
	return !event_is_hardware(e) && !event_is_clock(e) && !e->modes;
}

bool events_are_same(const struct event *a, const struct event *b)
{
	return a->type == b->type && a->config == b->config && a->modes == b->modes;
}

const char *event_kind(const struct event *e)
{
	static const char *const kinds[] = {[PERF_TYPE_HARDWARE] = "hardware",
					    [PERF_TYPE_SOFTWARE] = "software",
					    [PERF_TYPE_HW_CACHE] = "hardware cache",
					    [PERF_TYPE_RAW] = "raw hardware"};

	return kinds[e->type];
}

bool event_is_unsupported(int err)
{
	return err == -ENOENT || err == -ENODEV || err == -EOPNOTSUPP || err == -EINVAL ||
	       err == -ENXIO;
}

static const char *reason(const struct event *e, int err, bool pmu)
{
	if (err == -EACCES)
		return plumb_perf_not_permitted();
	if (!event_is_unsupported(err))
		return plumb_errno_hint(err);
	if (!event_is_hardware(e))
		return ", not in this kernel";
	return pmu ? ", this CPU does not count it"
		   : ", no hardware counters here (a virtual machine without a PMU?)";
}

const char *event_refusal(const struct event *e, int err, bool pmu, char *text, size_t size)
{
	snprintf(text, size, "%s%s", plumb_errno_name(err), reason(e, err, pmu));
	return text;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

const char *event_target(const char *text)
{
	char *target = NULL;
	int n = 0;

	if (begins(text, "u:") || begins(text, "usdt:"))
		plumb_usage_error("user functions and USDT probes are counted by func-count: %s",
				  text);
	if (begins(text, "k:") || begins(text, "t:") || begins(text, "r:"))
		return text;
	if (begins(text, "probe:"))
		n = asprintf(&target, "k:%s", text + strlen("probe:"));
	else if (strchr(text, ':'))
		n = asprintf(&target, "t:%s", text);
	if (n < 0)
		plumb_usage_error("no memory for %s", text);
	return target;
}
