/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/core/tool.h>
#include <plumb/functions/functions.h>
#include <plumb/functions/timed-functions.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/kernel.h>
#include <plumb/syscalls/syscalls.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "addresses.h"
#include "keys.h"
#include "tcp-sendmsg-lat-raw.skel.h"
#include "tcp-sendmsg-lat-session-610.skel.h"
#include "tcp-sendmsg-lat-session-700.skel.h"
#include "tcp-sendmsg-lat.skel.h"

/* What the command line asks for; copied into the program's rodata. */
static struct tcp_config config = {.max_size = UINT64_MAX};
static bool only_errors;

static const char *const function = "tcp_sendmsg";
static struct plumb_functions functions;

/* Messages that TCP has not taken yet. */
static struct plumb_inflight inflight = {
	PLUMB_FUNCTIONS_INFLIGHT,
	.min_ns = &config.min_ns,
	.state = "sending_thread",
};

/* Before 6.5 TCP gets pages, as from sendfile, by tcp_sendpage(), which is not traced. */
static bool pages_pass_by;

static struct tcp_filter *filter_of(const char *option)
{
	return option[2] == 'r' ? &config.remote : &config.local;
}

static void add_prefix(const char *option, const char *item, struct plumb_options *o)
{
	struct tcp_filter *f = filter_of(option);

	if (f->n_prefixes == PLUMB_MAX_LIST)
		plumb_usage_error("%s: at most %d", option, PLUMB_MAX_LIST);
	if (tcp_parse_prefix(item, &f->prefixes[f->n_prefixes++]))
		plumb_usage_error("%s: not an address or prefix, as 10.0.0.0/8 or ::1: %s", option,
				  item);
}

static void add_ports(const char *option, const char *item, struct plumb_options *o)
{
	struct tcp_filter *f = filter_of(option);

	if (f->n_ports == PLUMB_MAX_LIST)
		plumb_usage_error("%s: at most %d", option, PLUMB_MAX_LIST);
	if (tcp_parse_ports(item, &f->ports[f->n_ports++]))
		plumb_usage_error("%s: not a port or range, as 443 or 8000-8999: %s", option, item);
}

static void read_labels(const char *option, const char *text, struct plumb_options *o)
{
	(void)option, (void)o;
	if (tcp_labels_read(&tcp_labels, text))
		exit(EXIT_FAILURE);
}

static bool is_filter(const struct tcp_filter *f)
{
	return f->n_prefixes || f->n_ports;
}

static void complete(struct plumb_options *o)
{
	/* /proc does not show a send's addresses and size: with these filters none is sought there.
	 */
	if (is_filter(&config.remote) || is_filter(&config.local) || config.min_size ||
	    config.max_size != UINT64_MAX)
		inflight.proc = NULL;
	config.only_errors = only_errors;
	if (config.min_size > config.max_size)
		plumb_usage_error("--min-size is above --max-size");
	config.size_step = tcp_size_step;
	if (tcp_labels.list && !o->by_given)
		o->by |= TCP_BY_LABEL;
	if (!tcp_labels.list && o->by & TCP_BY_LABEL)
		plumb_usage_error("--by: label requires --labels=FILE");
}

/* clang-format off */
static const struct plumb_option options[] = {
	{.doc = "Only these sends:", .group = 30},
	{"raddr", 0, "PREFIX[,...]", "to these addresses (192.0.2.7, 10.0.0.0/8, ::1)", 30, .item = add_prefix},
	{"rport", 0, "PORTS[,...]", "to these ports (443, 8000-8999)", 30, .item = add_ports},
	{"laddr", 0, "PREFIX[,...]", "from these addresses", 30, .item = add_prefix},
	{"lport", 0, "PORTS[,...]", "from these ports", 30, .item = add_ports},
	{"min-size", 0, "BYTES", "of at least BYTES", 30, .size = &config.min_size},
	{"max-size", 0, "BYTES", "of at most BYTES", 30, .size = &config.max_size},
	{"errors", 0, NULL, "that failed", 30, .given = &only_errors},
	{"min", 0, "TIME", "that took at least TIME (10us, 1.5ms, 2s)", 30, .time = &config.min_ns},
	PLUMB_OPTION_NO_RETURN("call"),
	{"labels", 0, "FILE", "read names for remote addresses from FILE; makes label a key", 40, .parse = read_labels},
	{0},
};
/* clang-format on */

static bool returns; /* waits on the way out are looked for */

static void size_labels(const struct bpf_object *object)
{
	if (tcp_labels.n)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "tcp_labels"),
					 tcp_labels.n);
}

static int fill_labels(struct bpf_object *object)
{
	int fd = bpf_object__find_map_fd_by_name(object, "tcp_labels");

	for (size_t i = 0; i < tcp_labels.n; i++) {
		const struct tcp_label *l = &tcp_labels.list[i];
		struct tcp_label_key key = {
			.bits = 32 + tcp_prefix_bits(&l->prefix),
			.port = l->port,
			.address = l->prefix.address,
		};
		uint32_t number = l->first + 1;

		if (bpf_map_update_elem(fd, &key, &number, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* The calibration instance is on another function, whose arguments must not be filtered. */
static void configure(struct plumb_bpf *bpf, struct tcp_config *c, bool calibration)
{
	if (calibration)
		*c = (struct tcp_config){.max_size = UINT64_MAX, .size_step = config.size_step};
	else
		*c = config;
	bpf->function->takes_args = true;
	bpf->function->nested = returns; /* so that a thread has a state */
	size_labels(bpf->object);
}

PLUMB_FUNCTION_OPENS(tcp_sendmsg_lat, tcp_config, configure)

/* Selects those of the calls in NAMES that each table has. */
static void select_calls(struct syscall_config *selection, const char *const *names)
{
	char name[64];

	for (; *names; names++)
		for (int abi = 0; abi < 2; abi++) {
			snprintf(name, sizeof(name), "%s%s", plumb_syscall_tables[abi].prefix,
				 *names);
			plumb_syscall_select(selection, name);
		}
}

static int open_raw(struct plumb_bpf *bpf, bool calibration)
{
	/* The system calls that can send on a socket. */
	static const char *const sends[] = {
		"write",   "writev",    "pwritev2",       "send",     "sendto",
		"sendmsg", "sendmmsg",  "socketcall",     "sendfile", "sendfile64",
		"splice",  "io_submit", "io_uring_enter", NULL,
	};
	static const char *const sized[] = {"write", "send", "sendto", NULL};
	struct tcp_sendmsg_lat_raw_bpf *skel =
		tcp_sendmsg_lat_raw_bpf__open_opts(plumb_open_opts());
	struct syscall_config selection = {};

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sys_enter", "tcp_sendmsg_locked", "sock_send_length");
	select_calls(&selection, sized);
	memcpy(config.sized, selection.bitmap, sizeof(config.sized));
	select_calls(&selection, sends);
	memcpy((void *)&skel->rodata->syscall_config, &selection, sizeof(selection));
	memcpy((void *)&skel->rodata->tcp_config, &config, sizeof(config));
	size_labels(bpf->object);
	/* A message is corrected by a program on sched_switch. */
	bpf->config->interleaved |= plumb_raw_tracepoints_can_be_preempted();
	return 0;
}

static const char *const raw_programs[] = {"send_end", "send_begin", "call_enter", NULL};

static struct plumb_mechanism mechanisms[] = {
	PLUMB_FUNCTION_MECHANISMS,
	{
		.name = "raw_tracepoint",
		.stability = "stable; times begin with the system call",
		.open = open_raw,
		.programs = raw_programs,
	},
};

/* The most sockets of MPTCP so far, in this network namespace: they do not call tcp_sendmsg. */
static unsigned int mptcp_sockets(void)
{
	static unsigned int most;
	unsigned int n, sum = 0;
	char line[256];
	FILE *protocols = fopen("/proc/net/protocols", "re");

	while (protocols && fgets(line, sizeof(line), protocols))
		if (sscanf(line, "MPTCP %*u %u", &n) == 1 ||
		    sscanf(line, "MPTCPv6 %*u %u", &n) == 1)
			sum += n;
	if (protocols)
		fclose(protocols);
	if (sum > most)
		most = sum;
	return most;
}

static int prepare(struct plumb_options *o)
{
	int err = plumb_functions_find(&function, 1, o->btf, &functions);

	returns = !o->no_return;
	if (returns)
		mechanisms[sizeof(mechanisms) / sizeof(mechanisms[0]) - 1].stability =
			PLUMB_SCHED_STABILITY "; times begin with the system call";

	mptcp_sockets();
	pages_pass_by = functions.btf &&
			btf__find_by_name_kind(functions.btf, "tcp_sendpage", BTF_KIND_FUNC) > 0;
	return err;
}

static void footer(FILE *out)
{
	const unsigned int sockets = mptcp_sockets();

	if (pages_pass_by)
		fputs("not traced: sendfile and splice, which bypass tcp_sendmsg here\n", out);
	if (sockets)
		fprintf(out, "not traced: sends by MPTCP, which has had %u sockets\n", sockets);
}

static json_t *not_seen(const char *kind, json_t *count)
{
	return json_pack("{s:s, s:o}", "kind", kind, "count", count);
}

static void add_json(json_t *json, const struct plumb_report *r)
{
	const unsigned int sockets = mptcp_sockets();
	json_t *all = json_array();

	if (pages_pass_by) {
		json_array_append_new(all, not_seen("sendfile", json_null()));
		json_array_append_new(all, not_seen("splice", json_null()));
	}
	if (sockets)
		json_array_append_new(all, not_seen("MPTCP", json_integer(sockets)));
	json_object_set_new(json, "not_seen", all);
}

static const struct plumb_column columns[] = {
	{"asked", PLUMB_COLUMN_BYTES, "The bytes that the calls were asked to send.", .id = 0},
	{"sent", PLUMB_COLUMN_BYTES, "The bytes that the calls sent.", .id = 1},
	{},
};

static struct plumb_tool tool = {
	.card.name = "tcp-sendmsg-lat",
	.card.summary = "Summarize TCP send latency as percentiles, by process, remote address "
			"and port, size or label.",
	.card.about =
		"hooks:     fsession, fentry and fexit, kprobe.session, kprobe.multi, kprobe\n"
		"           and kretprobe on tcp_sendmsg (unstable: a kernel function); else\n"
		"           raw tracepoints sys_enter, tcp_sendmsg_locked, sock_send_length\n"
		"           (stable; kernels from 6.16 on); without --no-return sched_switch\n"
		"           (stable-ish)\n"
		"kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64;\n"
		"           before 6.5 sendfile and splice are not seen\n"
		"fire rate: 1,000 to 1,000,000 a second on a busy server\n"
		"cost:      of function probes measured at each start, see the footer; the\n"
		"           tracepoints add 0.5 to 1 us to a send, and slow all other system\n"
		"           calls of the machine by some 70 ns\n",
	.options.list = options,
	.options.complete = complete,
	.keys.fields = tcp_fields,
	.keys.n_fields = sizeof(tcp_fields) / sizeof(tcp_fields[0]),
	.keys.size = sizeof(struct send_key),
	.keys.default_by = PLUMB_BY_PID | PLUMB_BY_COMM | TCP_BY_RADDR | TCP_BY_SERVER_PORT,
	.keys.parse = tcp_take_key,
	.measure.errors = true,
	.measure.columns = columns,
	.view.footer = footer,
	.view.report_json = add_json,
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.mechanisms.functions = &functions,
	.mechanisms.attaching = &plumb_attaching,
	.lifecycle.prepare = prepare,
	.lifecycle.fill = fill_labels,
	.inflight = &inflight,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
