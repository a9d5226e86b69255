/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sys/syscall.h>
#include <plumb/bpf/core/copies.h>
#include <plumb/core/inflight.h>
#include <plumb/core/json.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/core/tracer.h>
#include <plumb/functions/copies.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/map.h>
#include <plumb/net/counters.h>
#include <plumb/net/ends.h>

#include <bpf/libbpf.h>

#include "drops.h"
#include "queued.h"
#include "tcp-accept-latency.h"

#include "tcp-accept-latency.skel.h"

/* --- listening sockets --- */

static int listeners = -1; /* the map */

static bool find_listener(uint64_t id, struct accept_listener *l)
{
	return id && listeners >= 0 && !plumb_map_lookup(listeners, &id, l);
}

static const char *format_endpoint(const struct tcp_address *a, uint32_t port, char *text,
				   size_t size)
{
	char address[TCP_ADDRESS_TEXT];

	tcp_format_address(a, address, sizeof(address));
	snprintf(text, size, strchr(address, ':') ? "[%s]:%u" : "%s:%u", address, port);
	return text;
}

/* "127.0.0.1:80", "[::]:80", "/run/x.sock", "@abstract". */
static void format_listener(const void *key, char *text, size_t size)
{
	struct accept_listener l;

	if (!find_listener(((const struct accept_key *)key)->listener, &l))
		snprintf(text, size, "unknown");
	else if (l.family == AF_UNIX)
		plumb_unix_name(text, l.path, l.path_length, size);
	else
		format_endpoint(&l.address, l.port, text, size);
}

static const struct plumb_field fields[] = {
	{"listener", ACCEPT_BY_LISTENER, .format = format_listener},
	TCP_ENDS_FIELDS,
};

enum { BACKLOG, LONGEST, DROPS };

static double of_listener(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	struct accept_listener l;

	if (!(r->run->options.by & ACCEPT_BY_LISTENER) || !row->slot ||
	    !find_listener(((const struct accept_key *)row->key)->listener, &l))
		return NAN;
	if (id == DROPS)
		return l.family == AF_UNIX ? NAN : (double)(l.drops - l.drops_before);
	return id == BACKLOG ? l.backlog : l.longest;
}

static const struct plumb_column columns[] = {
	{"backlog", PLUMB_COLUMN_COUNT,
	 "The connections that may wait in the queue. Null: the listening socket is not known, or "
	 "rows are not by it.",
	 .id = BACKLOG, .value = of_listener},
	{"longest", PLUMB_COLUMN_COUNT,
	 "The most connections that waited when one was accepted, that one included. Null: as "
	 "before.",
	 .id = LONGEST, .value = of_listener},
	{"drops", PLUMB_COLUMN_COUNT,
	 "The SYNs and acknowledgements that the kernel dropped for the listening socket since the "
	 "first of these calls, until the last. Null: as before, or it is a unix socket.",
	 .id = DROPS, .value = of_listener},
	{},
};

/* --- the kernel's own counters, of the whole trace --- */

static struct net_counter overflows = {"netstat", "TcpExt:", "ListenOverflows", .fd = -1};
static struct net_counter drops = {"netstat", "TcpExt:", "ListenDrops", .fd = -1};

static int prepare(struct plumb_options *o)
{
	net_counter_begin(&overflows, o);
	net_counter_begin(&drops, o);
	queued_prepare();
	drops_prepare(o);
	return 0;
}

static const struct plumb_options *selected;

static void settle(const struct plumb_run *run)
{
	selected = &run->options;
	net_counter_settle(&overflows);
	net_counter_settle(&drops);
	drops_settle(run);
	queued_settle(selected);
}

static void print_drops(FILE *out, const struct listening *l)
{
	char text[TCP_ADDRESS_TEXT + 8], comm[PLUMB_ESCAPED], holder[PLUMB_ESCAPED + 16] = "";

	plumb_escape(comm, l->holder.comm, sizeof(comm));
	if (l->holder.pid)
		snprintf(holder, sizeof(holder), " of %s[%u]", comm, l->holder.pid);
	fprintf(out, "    %s%s: %u dropped, %u waiting, backlog %u\n",
		format_endpoint(&l->address, l->port, text, sizeof(text)), holder,
		l->drops - l->before, l->waiting, l->backlog);
}

static void print_footer(FILE *out)
{
	const int64_t n = net_counter_grown(&overflows);
	const struct listening *l = NULL;
	char whose[64];

	if (n >= 0)
		fprintf(out, "of %s: ListenOverflows %" PRId64 ", ListenDrops %" PRId64 "\n",
			net_counter_whose(&overflows, whose, sizeof(whose)), n,
			net_counter_grown(&drops));
	while ((l = drops_next(l, selected)))
		print_drops(out, l);
}

static json_t *drops_json(const struct plumb_options *o)
{
	char text[TCP_ADDRESS_TEXT + 8], comm[PLUMB_ESCAPED];
	const struct listening *l = NULL;
	json_t *listed = json_array();

	while ((l = drops_next(l, o))) {
		json_t *j = json_object();

		plumb_escape(comm, l->holder.comm, sizeof(comm));
		json_object_set_new(
			j, "listener",
			json_string(format_endpoint(&l->address, l->port, text, sizeof(text))));
		json_object_set_new(j, "inode", plumb_json_u64(l->inode));
		json_object_set_new(j, "pid",
				    l->holder.pid ? plumb_json_u64(l->holder.pid) : json_null());
		json_object_set_new(j, "comm", l->holder.pid ? json_string(comm) : json_null());
		json_object_set_new(j, "drops", plumb_json_u64(l->drops - l->before));
		json_object_set_new(j, "waiting", plumb_json_u64(l->waiting));
		json_object_set_new(j, "backlog", plumb_json_u64(l->backlog));
		json_array_append_new(listed, j);
	}
	return listed;
}

static void add_json(json_t *json, const struct plumb_report *r)
{
	json_object_set_new(json, "listeners_with_drops",
			    drops_are_known() ? drops_json(&r->run->options) : json_null());
	json_object_set_new(json, "listen_overflows", net_counter_json(&overflows));
	json_object_set_new(json, "listen_drops", net_counter_json(&drops));
}

/* --- in flight --- */

static bool format_queued(const struct queued *q, char *text, size_t size)
{
	struct accept_listener l;
	bool is_known = q->is_known;

	if (is_known) {
		format_endpoint(&q->listener, q->state.lport, text, size);
	} else if (q->state.family == AF_UNIX) {
		is_known = find_listener(q->state.listener, &l);
		if (is_known)
			plumb_unix_name(text, l.path, l.path_length, size);
	}
	return is_known;
}

static void name_queued(const struct plumb_run *run, const struct plumb_flight *f, char *text,
			size_t size)
{
	const struct queued *q = queued_at(f->what);
	char to[256], from[TCP_ADDRESS_TEXT];
	const bool is_known = format_queued(q, to, sizeof(to));

	(void)run;
	if (q->state.family == AF_UNIX)
		snprintf(text, size, "unix%s%s", is_known ? " to " : "", is_known ? to : "");
	else if (is_known)
		snprintf(text, size, "from %s to %s",
			 tcp_format_address(&q->state.raddr, from, sizeof(from)), to);
	else
		snprintf(text, size, "from %s to port %u",
			 tcp_format_address(&q->state.raddr, from, sizeof(from)), q->state.lport);
}

static void add_queued(const struct plumb_run *run, const struct plumb_flights *f,
		       const struct plumb_flight *one, json_t *j)
{
	char text[512];

	(void)run, (void)f;
	json_object_set_new(j, "listener",
			    format_queued(queued_at(one->what), text, sizeof(text))
				    ? plumb_json_text(text)
				    : json_null());
}

static const struct plumb_inflight inflight = {
	.heading = "CONNECTION",
	.json = "connection",
	.read_rest = queued_read,
	.unledgered = true, /* with -p */
	.name = name_queued,
	.add_json = add_queued,
};

/* --- the programs --- */

static int use_object(struct bpf_object *object)
{
	listeners = bpf_object__find_map_fd_by_name(object, "accept_listeners");
	return 0;
}

/* Loads the programs of single calls, or those of all. */
static void choose_programs(struct tcp_accept_latency_bpf *skel, bool single)
{
	bpf_program__set_autoload(skel->progs.connect_enters, single);
	bpf_program__set_autoload(skel->progs.connect_leaves, single);
	bpf_program__set_autoload(skel->progs.accept_leaves, single);
	bpf_program__set_autoload(skel->progs.accept4_leaves, single);
	bpf_program__set_autoload(skel->progs.call_enters, !single);
	bpf_program__set_autoload(skel->progs.call_leaves, !single);
}

static int open_tracepoints(struct plumb_bpf *bpf, bool calibration)
{
	struct tcp_accept_latency_bpf *skel = tcp_accept_latency_bpf__open_opts(plumb_open_opts());

	(void)calibration;
	if (!skel)
		return -errno;
	*(struct accept_calls *)&skel->rodata->accept_calls = ACCEPT_CALLS;
	if (plumb_raw_tracepoints_can_be_preempted()) {
		*bpf = PLUMB_BPF_OF(skel, "inet_sock_set_state", "tcp_destroy_sock", "sys_enter",
				    "sys_exit");
		choose_programs(skel, false);
		return 0;
	}
	*bpf = PLUMB_BPF_OF(skel, "inet_sock_set_state", "tcp_destroy_sock", "sys_enter_connect",
			    "sys_exit_connect", "sys_exit_accept", "sys_exit_accept4");
	choose_programs(skel, true);
	plumb_copies_limit(bpf->object, "state_changes", PLUMB_END_COPIES);
	plumb_copies_limit(bpf->object, "socket_ends", PLUMB_END_COPIES);
	return 0;
}

static const char *const programs[] = {
	"accept_leaves",
	"accept4_leaves",
	"call_leaves",
	PLUMB_COPIES_OF("socket_ends"),
	"connect_leaves",
	"connect_enters",
	"call_enters",
	PLUMB_COPIES_OF("state_changes"),
	NULL,
};

static const char *const vital[] = {
	"state_changes_0", "connect_enters", "call_enters", "accept_leaves",
	"accept4_leaves",  "call_leaves",    NULL,
};

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "tracepoint",
		.stability = "stable",
		.open = open_tracepoints,
		.interleaved = true, /* an interrupt begins what threads end */
		.misses_are_calls = true,
		.vital = vital,
		.programs = programs,
	},
};

static struct plumb_tool tool = {
	.card.name = "tcp-accept-latency",
	.card.summary = "Summarize how long connections wait to be accepted, as percentiles, by "
			"listening socket, TCP and unix, with backlog and overflows.",
	.card.about = "hooks:     raw tracepoints inet_sock_set_state, tcp_destroy_sock,\n"
		      "           tracepoints sys_enter_connect, sys_exit_connect,\n"
		      "           sys_exit_accept, sys_exit_accept4, or on kernels that\n"
		      "           preempt threads everywhere, from 7.0 on, sys_enter and\n"
		      "           sys_exit of all calls (stable)\n"
		      "kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
		      "fire rate: five or six per connection: 10 to 100,000 a second\n"
		      "cost:      see the footer\n",
	.keys.fields = fields,
	.keys.n_fields = sizeof(fields) / sizeof(fields[0]),
	.keys.size = sizeof(struct accept_key),
	.keys.default_by = PLUMB_BY_PID | PLUMB_BY_COMM | ACCEPT_BY_LISTENER,
	.keys.parse = tcp_take_port,
	.measure.columns = columns,
	.measure.counted = "connections",
	.view.footer = print_footer,
	.view.report_json = add_json,
	.overhead.traced = "a traced connection",
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.lifecycle.prepare = prepare,
	.lifecycle.fill = use_object,
	.lifecycle.settle = settle,
	.inflight = &inflight,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
