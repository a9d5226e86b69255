/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sys/syscall.h>
#include <plumb/bpf/core/copies.h>
#include <plumb/bpf/net/accept.h>
#include <plumb/core/tracer.h>
#include <plumb/functions/copies.h>
#include <plumb/net/counters.h>
#include <plumb/net/ends.h>

#include <bpf/libbpf.h>

#include "drops.h"
#include "tcp-retransmits.h"

#include "tcp-retransmits.skel.h"

static bool has_owners; /* rows are grouped, or filtered, by thread */

static const char *const kinds[RESENT_KINDS] = {
	[RESENT_TIMEOUT] = "timeout", [RESENT_AFTER_TIMEOUT] = "after-timeout",
	[RESENT_FAST] = "fast",       [RESENT_PROBE] = "loss-probe",
	[RESENT_SYN] = "syn",         [RESENT_SYNACK] = "synack",
	[RESENT_OTHER] = "other",
};

/* include/net/tcp_states.h */
static const char *const states[] = {
	"unknown", "established", "syn-sent", "syn-recv", "fin-wait-1", "fin-wait-2",   "time-wait",
	"close",   "close-wait",  "last-ack", "listen",   "closing",    "new-syn-recv",
};

static void format_drop(const void *key, char *text, size_t size)
{
	drops_format(((const struct resent_key *)key)->drop, text, size);
}

static const struct plumb_field fields[] = {
	TCP_ENDS_FIELDS,
	{PLUMB_NAMED_FIELD("state", RESENT_BY_STATE, PLUMB_NAME, resent_key, state, states)},
	{PLUMB_NAMED_FIELD("kind", RESENT_BY_KIND, PLUMB_NAME, resent_key, kind, kinds)},
	{"drop", RESENT_BY_DROP, .format = format_drop},
};

static void complete(struct plumb_options *o)
{
	has_owners = o->by & (PLUMB_BY_TOOL - 1) || o->n_pids || o->n_tids || o->n_comms_typed ||
		     o->n_cgroups || o->command;
}

/* The kernel's own counter. */
static struct net_counter counter = {.file = "snmp", .group = "Tcp:", .name = "RetransSegs"};

static int prepare(struct plumb_options *o)
{
	net_counter_begin(&counter, o);
	return drops_prepare(o->btf);
}

static void settle(const struct plumb_run *run)
{
	(void)run;
	net_counter_settle(&counter);
}

/* The programs that find the owners of connections, by single calls or by all. */
static void follow_owners(struct plumb_bpf *bpf, struct tcp_retransmits_bpf *skel, int copies)
{
	const bool single = !plumb_raw_tracepoints_can_be_preempted();

	*(struct accept_calls *)&skel->rodata->accept_calls = ACCEPT_CALLS;
	*(__u32 *)&skel->rodata->resent_owners = has_owners;
	plumb_copies_limit(bpf->object, "owner_connects", has_owners ? copies : 0);
	bpf_program__set_autoload(skel->progs.owner_accepts, has_owners && single);
	bpf_program__set_autoload(skel->progs.owner_accepts4, has_owners && single);
	bpf_program__set_autoload(skel->progs.owner_accepts_any, has_owners && !single);
	if (!has_owners)
		return;
	strcpy(bpf->hooks[3], "inet_sock_set_state");
	strcpy(bpf->hooks[4], single ? "sys_exit_accept" : "sys_exit");
	strcpy(bpf->hooks[5], single ? "sys_exit_accept4" : "");
}

static int open_raw_tracepoint(struct plumb_bpf *bpf, bool calibration)
{
	struct tcp_retransmits_bpf *skel = tcp_retransmits_bpf__open_opts(plumb_open_opts());
	const int copies =
		plumb_raw_tracepoints_can_be_preempted() ? PLUMB_COPIES : PLUMB_END_COPIES;

	(void)calibration;
	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "tcp_retransmit_skb", "tcp_retransmit_synack", "kfree_skb");
	drops_judge((uint8_t *)skel->rodata->resent_verdicts);
	follow_owners(bpf, skel, copies);
	plumb_copies_limit(bpf->object, "segment_resent", copies);
	plumb_copies_limit(bpf->object, "synack_resent", copies);
	return 0;
}

/* A drop that is looked for is seen, and the owner of a connection. */
static const char *const programs[] = {
	PLUMB_COPIES_OF("owner_connects"),
	"owner_accepts",
	"owner_accepts4",
	"owner_accepts_any",
	"segment_dropped",
	PLUMB_COPIES_OF("segment_resent"),
	PLUMB_COPIES_OF("synack_resent"),
	NULL,
};

static const char *const vital[] = {"segment_resent_0", "synack_resent_0", NULL};

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "raw_tracepoint",
		.stability = "stable; fields of kernel structures",
		.open = open_raw_tracepoint,
		.interleaved = true, /* timers, and acknowledgements that a thread processes */
		.misses_are_calls = true,
		.vital = vital,
		.programs = programs,
	},
};

static double mean_rtt(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	(void)id, (void)r;
	return row->counters[2] ? (double)row->counters[1] / row->counters[2] : NAN;
}

static const struct plumb_column columns[] = {
	{"segments", PLUMB_COLUMN_COUNT,
	 "The segments that were sent again, as the kernel counts them.", .id = 0},
	{"rtt", PLUMB_COLUMN_TIME,
	 "The mean of the smoothed round-trip times of the connections then, ns. Null: the "
	 "connections had none yet.",
	 .value = mean_rtt},
	{},
};

/* Of the whole trace. */
static void print_footer(FILE *out)
{
	const int64_t segments = net_counter_grown(&counter);
	char whose[64];

	drops_print(out);
	if (segments >= 0)
		fprintf(out, "RetransSegs of %s: %" PRId64 "\n",
			net_counter_whose(&counter, whose, sizeof(whose)), segments);
}

static void add_json(json_t *json, const struct plumb_report *r)
{
	(void)r;
	json_object_set_new(json, "drops", drops_json());
	json_object_set_new(json, "retrans_segs", net_counter_json(&counter));
}

static struct plumb_tool tool = {
	.card.name = "tcp-retransmits",
	.card.summary = "Summarize TCP retransmissions and the time that each loss cost, by peer, "
			"kind and the local drop that caused them.",
	.card.about = "hooks:     raw tracepoints tcp_retransmit_skb, tcp_retransmit_synack,\n"
		      "           kfree_skb (stable-ish); by thread also inet_sock_set_state\n"
		      "           and tracepoints sys_exit_accept, sys_exit_accept4 or sys_exit\n"
		      "kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
		      "fire rate: retransmissions and drops: 0 to 10,000 a second\n"
		      "cost:      see the footer\n",
	.options.complete = complete,
	.keys.fields = fields,
	.keys.n_fields = sizeof(fields) / sizeof(fields[0]),
	.keys.size = sizeof(struct resent_key),
	.keys.default_by = TCP_BY_RADDR | TCP_BY_SERVER_PORT | RESENT_BY_KIND | RESENT_BY_DROP,
	.keys.parse = tcp_take_port,
	.measure.columns = columns,
	.measure.counted = "retransmissions",
	.view.footer = print_footer,
	.view.report_json = add_json,
	.overhead.traced = "a traced retransmission",
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.lifecycle.prepare = prepare,
	.lifecycle.fill = drops_use,
	.lifecycle.settle = settle,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
