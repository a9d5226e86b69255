/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/report.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/cost/calibrate.h>
#include <plumb/functions/probe.h>
#include <plumb/functions/timed-functions.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/kernel.h>

#include <bpf/libbpf.h>

#include "page-fault-latency.h"

#include "page-fault-latency-function-session-610.skel.h"
#include "page-fault-latency-function-session-700.skel.h"
#include "page-fault-latency-function.skel.h"
#include "page-fault-latency.skel.h"

/* clang-format off */
static const struct plumb_option options[] = {
	PLUMB_OPTION_NO_RETURN("fault"),
	{0},
};
/* clang-format on */

static const char *const function = "handle_mm_fault";
static struct plumb_functions functions;
static bool by_kind;

static const char *const types[FAULT_TYPES] = {"minor", "major", "retry", "failed"};
static const char *const kinds[FAULT_KINDS] = {
	"unknown", "anonymous", "file", "cow", "swap", "userfaultfd", "special",
};

static const struct plumb_field fields[] = {
	{PLUMB_NAMED_FIELD("type", FAULT_BY_TYPE, PLUMB_NAME, fault_key, type, types)},
	{PLUMB_NAMED_FIELD("kind", FAULT_BY_KIND, PLUMB_NAME, fault_key, kind, kinds)},
	{PLUMB_FIELD("area", FAULT_BY_AREA, PLUMB_TEXT, fault_key, area)},
};

/* ---- software events ---- */

/* Ends are attached first: one without a beginning belongs to a fault from before the trace. */
static int attach_events(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
			 size_t size)
{
	static const struct {
		const char *program, *event;
		uint64_t number;
	} events[] = {
		{"fault_end_minor", "page-faults-min", PERF_COUNT_SW_PAGE_FAULTS_MIN},
		{"fault_end_major", "page-faults-maj", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
		{"fault_begin", "page-faults", PERF_COUNT_SW_PAGE_FAULTS},
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]) && !err; i++) {
		snprintf(what, size, "%s", events[i].event);
		err = plumb_probe_software_event(probes, bpf->object, events[i].program,
						 events[i].number, NULL);
	}
	return err;
}

static int open_events(struct plumb_bpf *bpf, bool calibration)
{
	static const char *const copied[] = {"fault_begin", "fault_end_minor", "fault_end_major",
					     NULL};
	struct page_fault_latency_bpf *skel = page_fault_latency_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "page-faults", "page-faults-min", "page-faults-maj");
	if (by_kind) {
		strcpy(bpf->hooks[3], "page_fault_user");
		strcpy(bpf->hooks[4], "page_fault_kernel");
	}
	bpf_program__set_autoload(skel->progs.fault_code_user, by_kind);
	bpf_program__set_autoload(skel->progs.fault_code_kernel, by_kind);
	if (!calibration)
		bpf->cpus_left = skel->bss->plumb_cpus_left;
	bpf->copied = copied;
	bpf->attach = attach_events;
	return 0;
}

/* ---- the function ---- */

static void configure(struct plumb_bpf *bpf, struct function_config *config, bool calibration)
{
	bpf->function->takes_args = true;
	bpf->function->last_arg = 2;
}

PLUMB_FUNCTION_OPENS(page_fault_latency_function, function_config, configure)

static const char *const raw_programs[] = {"fault_code_user", "fault_code_kernel", NULL};

static struct plumb_mechanism mechanisms[] = {
	{
		.name = "perf_event",
		.stability = "stable",
		.open = open_events,
		.programs = raw_programs,
	},
	PLUMB_FUNCTION_MECHANISMS,
};

static int prepare(struct plumb_options *o)
{
	by_kind = o->by & FAULT_BY_KIND;
	if (!o->no_return)
		mechanisms[0].stability = PLUMB_SCHED_STABILITY;
	return plumb_functions_find(&function, 1, o->btf, &functions);
}

/* ---- cost ---- */

static void calibrate(struct plumb_run *run)
{
	/* On functions the library has calibrated. */
	if (!run->instance.mechanism->attach_targets)
		plumb_calibrate(run, plumb_page_fault);
}

/* ---- faults in flight ---- */

static void describe(const struct plumb_run *run, const struct plumb_state *state,
		     struct plumb_flight *f)
{
	static int address;

	if (!address)
		address = plumb_states_offset(run->instance.bpf.object, "fault_thread", "address");
	f->what = plumb_state_word(state->value, address);
}

/* Calls of the function have none. */
static void name_address(const struct plumb_run *run, const struct plumb_flight *f, char *text,
			 size_t size)
{
	if (run->instance.bpf.function)
		snprintf(text, size, "-");
	else
		snprintf(text, size, "%#llx", (unsigned long long)f->what);
}

static const struct plumb_inflight inflight = {
	.kind = &plumb_functions_inflight,
	.heading = "ADDRESS",
	.json = "address",
	.state = "fault_thread",
	.describe = describe,
	.name = name_address,
};

/* ---- */

static struct plumb_tool tool = {
	.card.name = "page-fault-latency",
	.card.summary = "Summarize page fault latency as percentiles, minor and major apart, by "
			"process, kind or part of the address space.",
	.card.about =
		"hooks:     software events page-faults, page-faults-min and page-faults-maj\n"
		"           (stable), for kinds also raw tracepoints page_fault_user and\n"
		"           page_fault_kernel (x86); without --no-return also tracepoint\n"
		"           sched_switch (stable-ish); else fsession, fentry, kprobe.session,\n"
		"           kprobe.multi or kprobe on handle_mm_fault (unstable)\n"
		"kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
		"fire rate: 100 to 1,000,000 faults a second\n"
		"cost:      measured at each start, see the footer\n",
	.options.list = options,
	.keys.fields = fields,
	.keys.n_fields = sizeof(fields) / sizeof(fields[0]),
	.keys.size = sizeof(struct fault_key),
	.keys.default_by = PLUMB_BY_PID | PLUMB_BY_COMM | FAULT_BY_TYPE,
	.measure.ends_inside = true,
	.measure.rate = true,
	.overhead.calibrate = calibrate,
	.overhead.traced = "a traced fault",
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.mechanisms.functions = &functions,
	.mechanisms.attaching = &plumb_attaching,
	.lifecycle.prepare = prepare,
	.inflight = &inflight,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
