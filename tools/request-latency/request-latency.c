/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/report.h>
#include <plumb/core/run.h>
#include <plumb/core/tracer.h>
#include <plumb/kernel/types.h>
#include <plumb/syscalls/untimed.h>

#include <bpf/libbpf.h>

#include "requests.h"

#include "request-latency.skel.h"

#define BUFFER_BYTES (4ULL << 20)

static __u64 buffer = BUFFER_BYTES, min_ns;
static bool slower, early, calls;
/* For request_parts: nobody looks for them. */
static uint32_t unseen = 1U << REQUEST_KERNEL;
static struct plumb_tool tool;

/* In JSON the rows of reports stay. */
static void refuse_table_options(const struct plumb_options *o)
{
	const char *option = o->by_given    ? "--by"
			     : o->histogram ? "--histogram"
			     : o->top_given ? "--top"
			     : o->sort      ? "--sort"
			     : o->columns   ? "--columns"
					    : NULL;

	if (!o->json && option)
		plumb_usage_error("%s cannot be combined with --slower, which prints no table",
				  option);
}

/* clang-format off */
static const struct plumb_option options[] = {
	{"calls", 0, NULL, "tell CPU time in system calls, by call, from that in user mode", 40, .given = &calls},
	{"slower", 0, "TIME", "print each request that takes at least TIME, no table", 40, .time = &min_ns, .given = &slower},
	{"buffer", 0, "BYTES", "size of the buffer for requests not yet printed; default 4M", 60, .size = &buffer, .min = 4096, .max = 1 << 30},
	{0},
};
/* clang-format on */

static void print_none(const struct plumb_report *r, FILE *out)
{
	char text[32];

	if (r->final && !request_slow_ones.printed)
		fprintf(out, "none took %s or longer\n",
			plumb_format_time(min_ns, PLUMB_AUTO, text, sizeof(text)));
}

static void complete(struct plumb_options *o)
{
	if (calls)
		unseen = 0;
	if (!slower)
		return;
	refuse_table_options(o);
	request_slow_ones.may_keep = true;
	tool.view.one_by_one = true;
	tool.view.rows = print_none;
}

static int prepare(struct plumb_options *o)
{
	static const char *const needed[] = {"sk_data_ready", "sock_recv_length",
					     "sock_send_length"};
	struct btf *btf = plumb_types_get(o->btf);
	const char *missing = NULL;

	early = btf && plumb_tracepoint_prototype(btf, "tcp_sendmsg_locked");
	for (size_t i = 0; btf && i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!plumb_tracepoint_prototype(btf, needed[i]))
			missing = needed[i];
	plumb_kernel_btf_put(btf);
	return missing ? plumb_error(EOPNOTSUPP,
				     "this kernel has no tracepoint %s: sk_data_ready came in 6.2, "
				     "sock_recv_length and sock_send_length in 6.3",
				     missing)
		       : 0;
}

/* Calls in which a thread sleeps for nothing else, as long as the kernel does not say why. */
static const char *const of_disks[] = {"fsync", "fdatasync",       "sync", "syncfs",
				       "msync", "sync_file_range", NULL};
static const char *const of_locks[] = {"flock", "fcntl", "fcntl64", NULL};
static const char *const of_futexes[] = {"futex", "futex_time64", NULL};

static int open_either(struct plumb_bpf *bpf, bool raw)
{
	struct request_latency_bpf *skel = request_latency_bpf__open_opts(plumb_open_opts());
	uint8_t *kinds;
	size_t n = 7;

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sk_data_ready", "sock_recv_length", "sock_send_length",
			    "inet_sock_set_state", "sched_wakeup_new", "contention_begin",
			    "contention_end");
	if (raw && early)
		strcpy(bpf->hooks[n++], "tcp_sendmsg_locked");
	else
		bpf_program__set_autoload(skel->progs.raw_data_given, false);
	if (calls) {
		strcpy(bpf->hooks[n++], "sys_enter");
		strcpy(bpf->hooks[n], "sys_exit");
	} else {
		bpf_program__set_autoload(skel->progs.raw_call_enters, false);
		bpf_program__set_autoload(skel->progs.raw_call_leaves, false);
		bpf_program__set_autoload(skel->progs.tp_call_enters, false);
		bpf_program__set_autoload(skel->progs.tp_call_leaves, false);
	}
	kinds = (uint8_t *)skel->rodata->request_call_kinds;
	plumb_syscalls_are(kinds, of_disks, REQUEST_OF_DISKS);
	plumb_syscalls_are(kinds, of_locks, REQUEST_OF_LOCKS);
	plumb_syscalls_are(kinds, of_futexes, REQUEST_OF_FUTEXES);
	*(struct request_config *)&skel->rodata->request_config = (struct request_config){
		.min_ns = min_ns, .slower = slower, .early = raw && early, .calls = calls};
	bpf_map__set_max_entries(skel->maps.request_slow_ones, slower ? buffer : 4096);
	return 0;
}

static int open_raw_tracepoints(struct plumb_bpf *bpf, bool calibration)
{
	(void)calibration;
	return open_either(bpf, true);
}

static int open_tracepoints(struct plumb_bpf *bpf, bool calibration)
{
	(void)calibration;
	return open_either(bpf, false);
}

static const char *const raw_programs[] = {
	"thread_woken_new",
	"lock_wait_begins",
	"lock_wait_ends",
	"raw_call_leaves",
	"raw_call_enters",
	"raw_state_changes",
	"raw_data_sent",
	"raw_data_given",
	"raw_data_taken",
	"raw_data_ready",
	NULL,
};
static const char *const tp_programs[] = {
	"thread_woken_new", "lock_wait_begins",
	"lock_wait_ends",   "tp_call_leaves",
	"tp_call_enters",   "tp_state_changes",
	"tp_data_sent",     "tp_data_taken",
	"tp_data_ready",    NULL,
};

/* Without the others parts can be wrong, but no request is lost. */
static const char *const vital[] = {
	"raw_state_changes", "raw_data_sent",
	"raw_data_given",    "raw_data_taken",
	"raw_data_ready",    "tp_data_sent",
	"tp_data_taken",     "tp_data_ready",
	"tp_state_changes",  NULL,
};

#define STABILITY "stable-ish: arguments of socket and scheduler tracepoints"

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "tracepoint",
		.stability = STABILITY,
		.preemptible = PLUMB_AS_TRACEPOINTS,
		.open = open_tracepoints,
		.interleaved = true, /* data arrive in interrupts */
		.misses_are_calls = true,
		.programs = tp_programs,
		.vital = vital,
	},
	{
		.name = "raw_tracepoint",
		.stability = STABILITY,
		.preemptible = PLUMB_AS_RAW,
		.open = open_raw_tracepoints,
		.interleaved = true,
		.misses_are_calls = true,
		.programs = raw_programs,
		.vital = vital,
	},
};

static const struct plumb_ring rings[] = {
	{"request_slow_ones", &plumb_in_order, &request_slow_ones},
	{},
};

static struct plumb_tool tool = {
	.card.name = "request-latency",
	.card.summary = "Summarize how long clients wait for a server, from socket in to socket "
			"out, as percentiles, and for what.",
	.card.about = "hooks:     raw tracepoints sk_data_ready (6.2), sock_recv_length,\n"
		      "           sock_send_length (6.3), inet_sock_set_state,\n"
		      "           tcp_sendmsg_locked (where it is), or from 7.0 on\n"
		      "           tracepoints; raw tracepoints sched_wakeup_new,\n"
		      "           sched_switch, sched_waking (stable-ish), begin and end\n"
		      "           of irq_handler, softirq, and of the vectors\n"
		      "kernels:   6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
		      "fire rate: three or four per request, and one per segment that arrives;\n"
		      "           each context switch and wakeup of the machine\n"
		      "cost:      see the footer\n",
	.options.list = options,
	.options.complete = complete,
	.keys.fields = request_fields,
	.keys.n_fields = REQUEST_FIELDS,
	.keys.size = sizeof(struct request_key),
	.keys.default_by = PLUMB_BY_PID | PLUMB_BY_COMM | REQUEST_BY_SERVER,
	.keys.parse = request_take_port,
	.keys.max = 64,
	.measure.counted = "requests",
	.measure.parts = request_parts,
	.measure.n_parts = REQUEST_PARTS,
	.measure.unseen_parts = &unseen,
	.measure.split_by = &request_splitting,
	.measure.always_split = true,
	.measure.stage_by = REQUEST_BY_STAGE,
	.measure.stages = REQUEST_STAGES,
	.measure.stage_at = offsetof(struct request_key, stage),
	.overhead.traced = "a traced request",
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.lifecycle.prepare = prepare,
	.lifecycle.fill = requests_use,
	.lifecycle.settle = uses_read,
	.rings = rings,
	.inflight = &request_inflight,
};

int main(int argc, char **argv)
{
	uses_begin();
	return plumb_main(argc, argv, &tool);
}
