/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/report.h>
#include <plumb/core/run.h>
#include <plumb/core/tracer.h>
#include <plumb/functions/exchange.h>
#include <plumb/pictures/picture.h>
#include <plumb/recorder/slower.h>
#include <plumb/syscalls/untimed.h>

#include <bpf/libbpf.h>

#include "hooks.h"
#include "requests.h"

#include "request-latency.skel.h"

static struct plumb_slower slower = {.records = &request_slow_ones};
static struct plumb_picture_file perfetto = {.option = "--perfetto"};
static bool calls;
static struct plumb_tool tool;

/* clang-format off */
static const struct plumb_option options[] = {
	{"calls", 0, NULL, "tell CPU time in system calls, by call, from that in user mode", 40, .given = &calls},
	PLUMB_SLOWER_OPTIONS(slower, "request"),
	{"perfetto", 0, "FILE.json", "with --slower, at the end, write the requests as a trace for Perfetto", 40, .text = &perfetto.path},
	{0},
};
/* clang-format on */

static void complete(struct plumb_options *o)
{
	if (calls)
		request_unseen = 0;
	if (perfetto.path && !slower.asked)
		plumb_usage_error("--perfetto takes --slower: 0 is all requests");
	if (plumb_picture_check(&perfetto, o->check_only))
		exit(PLUMB_EXIT_FAILED);
	request_kept.asked = perfetto.path;
	plumb_slower_complete(&slower, &tool, o);
}

static int save(struct plumb_report *r)
{
	return plumb_picture_save(&perfetto, request_trace, r);
}

static int prepare(struct plumb_options *o)
{
	request_hooks_find(o->btf);
	return 0;
}

/* Calls in which a thread sleeps for nothing else, as long as the kernel does not say why. */
static const char *const of_disks[] = {"fsync", "fdatasync",       "sync", "syncfs",
				       "msync", "sync_file_range", NULL};
static const char *const of_locks[] = {"flock", "fcntl", "fcntl64", NULL};
static const char *const of_futexes[] = {"futex", "futex_time64", NULL};

/* Programs are named for what attaches them, if not both do, and those of --calls. */
static bool is_loaded(const char *program, bool raw, bool early)
{
	return strncmp(program, raw ? "tp_" : "raw_", raw ? 3 : 4) &&
	       (early || strcmp(program, "raw_data_given")) &&
	       (calls || !strstr(program, "_call_")) &&
	       (request_hooks.says_locks || strncmp(program, "lock_", 5));
}

/* The names of what the programs are attached to, but functions; how many these are. */
static size_t name_hooks(struct plumb_bpf *bpf, int mode)
{
	const struct {
		const char *name;
		bool used;
	} hooks[] = {
		{"sk_data_ready", !request_mode_probes(mode)},
		{"sock_recv_length", !request_mode_probes(mode)},
		{"sock_send_length", !request_mode_probes(mode)},
		{"inet_sock_set_state", true},
		{"sched_wakeup_new", true},
		{"contention_begin", request_hooks.says_locks},
		{"contention_end", request_hooks.says_locks},
		{"tcp_sendmsg_locked", mode == REQUEST_RAW_TRACEPOINTS && request_hooks.early},
		{"sys_enter", calls},
		{"sys_exit", calls},
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		if (hooks[i].used)
			strcpy(bpf->hooks[n++], hooks[i].name);
	return n;
}

static int configure(struct plumb_bpf *bpf, struct request_latency_bpf *skel, bool has_exchange)
{
	struct request_config *config = (struct request_config *)&skel->rodata->request_config;
	const bool raw = bpf->mode != REQUEST_TRACEPOINTS,
		   early = bpf->mode == REQUEST_RAW_TRACEPOINTS && request_hooks.early;
	const size_t n_hooks = name_hooks(bpf, bpf->mode);
	struct bpf_program *p;
	uint8_t *kinds;

	bpf_object__for_each_program(p, bpf->object)
		if (!is_loaded(bpf_program__name(p), raw, early))
			bpf_program__set_autoload(p, false);
	*config = (struct request_config){.min_ns = slower.min_ns,
					  .slower = slower.asked,
					  .early = early,
					  .calls = calls,
					  .exchanges = has_exchange};
	kinds = (uint8_t *)skel->rodata->request_call_kinds;
	plumb_syscalls_are(kinds, of_disks, REQUEST_OF_DISKS);
	plumb_syscalls_are(kinds, of_locks, REQUEST_OF_LOCKS);
	plumb_syscalls_are(kinds, of_futexes, REQUEST_OF_FUTEXES);
	bpf_map__set_max_entries(skel->maps.request_slow_ones, plumb_slower_room(&slower));
	if (!request_hooks.allocates) {
		bpf_map__set_map_flags(skel->maps.request_sockets, 0);
		bpf_map__set_max_entries(skel->maps.request_sockets, REQUEST_SOCKETS_KEPT);
	}
	if (!request_mode_probes(bpf->mode))
		bpf_map__set_max_entries(skel->maps.request_calls, 1);
	return request_mode_probes(bpf->mode)
		       ? request_functions_prepare(bpf, n_hooks, &config->reads)
		       : 0;
}

static int open_programs(struct plumb_bpf *bpf, bool calibration)
{
	struct request_latency_bpf *skel;
	const int mode = bpf->mode;
	int err;

	(void)calibration;
	if (request_hooks.missing && !request_mode_probes(mode)) {
		plumb_warn("%s", request_has_no_tracepoints());
		return -EOPNOTSUPP;
	}
	skel = request_latency_bpf__open_opts(plumb_open_opts());
	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "");
	bpf->mode = mode;
	err = plumb_exchanges_to_stores(bpf->object);
	return err < 0 ? err : configure(bpf, skel, !err);
}

static const char *const programs[] = {
	"thread_woken_new",
	"lock_wait_begins",
	"lock_wait_ends",
	"raw_call_leaves",
	"raw_call_enters",
	"tp_call_leaves",
	"tp_call_enters",
	"raw_state_changes",
	"raw_data_sent",
	"raw_data_given",
	"raw_data_taken",
	"raw_data_ready",
	"tp_state_changes",
	"tp_data_sent",
	"tp_data_taken",
	"tp_data_ready",
	NULL,
};

/* Without the others parts can be wrong, but no request is lost. */
static const char *const vital[] = {
	"raw_state_changes", "raw_data_sent",
	"raw_data_given",    "raw_data_taken",
	"raw_data_ready",    "tp_data_sent",
	"tp_data_taken",     "tp_data_ready",
	"tp_state_changes",  NULL,
};

/* Beside the functions. */
static const char *const function_programs[] = {
	"thread_woken_new",
	"lock_wait_begins",
	"lock_wait_ends",
	"raw_call_leaves",
	"raw_call_enters",
	"raw_state_changes",
	NULL,
};

/* Data arrive in interrupts. */
#define MECHANISM(name_, mode_, preemptible_, programs_, ...)                                      \
	{                                                                                          \
		.name = (name_), .mode = (mode_), .preemptible = (preemptible_),                   \
		.open = open_programs, .programs = (programs_), .vital = vital,                    \
		.interleaved = true, .misses_are_calls = true, __VA_ARGS__                         \
	}
#define STABLE   .stability = "stable-ish: arguments of socket and scheduler tracepoints"
#define UNSTABLE .stability = "unstable: kernel functions"

static const struct plumb_mechanism mechanisms[] = {
	MECHANISM("tracepoint", REQUEST_TRACEPOINTS, PLUMB_AS_TRACEPOINTS, programs, STABLE,
		  .skipped = request_needs_no_plain_tracepoints),
	MECHANISM("raw_tracepoint", REQUEST_RAW_TRACEPOINTS, PLUMB_AS_RAW, programs, STABLE,
		  .skipped = request_has_no_tracepoints),
	MECHANISM("fentry", REQUEST_FENTRY, PLUMB_AS_FENTRY, function_programs, UNSTABLE),
	MECHANISM("kprobe", REQUEST_KPROBE, PLUMB_AS_TARGETS, function_programs, UNSTABLE),
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
		      "           sock_send_length (6.3), tcp_sendmsg_locked (where it is),\n"
		      "           inet_sock_set_state, or from 7.0 on tracepoints; before 6.3\n"
		      "           fentry and fexit, or kprobe and kretprobe, on\n"
		      "           sock_def_readable, inet_recvmsg, inet_sendmsg and their like\n"
		      "           (unstable: kernel functions); raw tracepoints\n"
		      "           sched_wakeup_new, contention_begin, contention_end (5.19),\n"
		      "           sched_switch, sched_waking (stable-ish), begin and end\n"
		      "           of irq_handler, softirq, and of the vectors; with --calls\n"
		      "           sys_enter and sys_exit\n"
		      "kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
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
	.measure.unseen_parts = &request_unseen,
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
	.view.save = save,
	.rings = rings,
	.inflight = &request_inflight,
};

int main(int argc, char **argv)
{
	uses_begin();
	return plumb_main(argc, argv, &tool);
}
