/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <plumb/core/tracer.h>

#include <bpf/libbpf.h>

#include "irq-latency.h"
#include "irq-latency.skel.h"
#include "names.h"
#include "victims.h"

static struct plumb_tool tool;
static bool by_phase;

static void format_handler(const void *key, char *text, size_t size)
{
	irq_name(((const struct irq_key *)key)->what, text, size);
}

static const char *const kinds[IRQ_KINDS] = {"irq", "vector", "softirq"},
			 *const phases[IRQ_PHASES] = {"runs", "raised"};

static const struct plumb_field fields[] = {
	{PLUMB_NAMED_FIELD("kind", IRQ_BY_KIND, PLUMB_NAME, irq_key, kind, kinds)},
	{"handler", IRQ_BY_HANDLER, .format = format_handler},
	{PLUMB_NAMED_FIELD("phase", IRQ_BY_PHASE, PLUMB_NAME, irq_key, phase, phases)},
};

static void complete(struct plumb_options *o)
{
	o->by |= IRQ_BY_KIND;
	by_phase = o->by & IRQ_BY_PHASE;
	tool.measure.unlike = by_phase;
}

static int prepare(struct plumb_options *o)
{
	irq_names_read();
	return 0;
}

/* clang-format off */
#ifdef __x86_64__
#define HOOKS IRQ_HOOKS, IRQ_VECTOR_HOOKS, "irq_work_entry", "irq_work_exit"
#define PROGRAMS IRQ_PROGRAMS, IRQ_VECTOR_PROGRAMS, "irq_work_ends", "irq_work_begins"
#else
#define HOOKS IRQ_HOOKS
#define PROGRAMS IRQ_PROGRAMS
#endif
/* clang-format on */

static int open_raw_tracepoint(struct plumb_bpf *bpf, bool calibration)
{
	struct irq_latency_bpf *skel = irq_latency_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, HOOKS);
	for (size_t i = 0; by_phase && i < PLUMB_MAX_HOOKS; i++)
		if (!*bpf->hooks[i]) {
			strcpy(bpf->hooks[i], "softirq_raise");
			break;
		}
	bpf_program__set_autoload(skel->progs.softirq_raised, by_phase);
	return 0;
}

static const char *const programs[] = {PROGRAMS, "softirq_raised", NULL};

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "raw_tracepoint",
		.stability = "stable",
		.open = open_raw_tracepoint,
		.interleaved = true, /* interrupts interrupt the programs of softirqs */
		.programs = programs,
	},
};

static struct plumb_tool tool = {
	.card.name = "irq-latency",
	.card.summary =
		"Measure how long interrupts and softirqs take, by handler, vector and CPU, "
		"and from which threads they take it.",
	.card.about = "hooks:     raw tracepoints irq_handler_entry, irq_handler_exit,\n"
		      "           softirq_entry, softirq_exit (stable); on x86 begin and end of\n"
		      "           local_timer, reschedule, call_function, call_function_single,\n"
		      "           irq_work; with -b phase softirq_raise\n"
		      "kernels:   5.10, 6.1-rt, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
		      "fire rate: twice per interrupt and softirq: 500 to 500,000 a second\n"
		      "cost:      see the footer\n",
	.options.complete = complete,
	.keys.fields = fields,
	.keys.n_fields = sizeof(fields) / sizeof(fields[0]),
	.keys.size = sizeof(struct irq_key),
	.keys.default_by = IRQ_BY_KIND | IRQ_BY_HANDLER,
	.measure.counted = "runs",
	.measure.rate = true,
	.view.footer = victims_print,
	.view.report_json = victims_json,
	.overhead.traced = "a traced interrupt",
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.lifecycle.prepare = prepare,
	.lifecycle.fill = victims_of,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
