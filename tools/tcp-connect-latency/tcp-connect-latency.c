/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/bpf/core/copies.h>
#include <plumb/core/inflight.h>
#include <plumb/core/reasons.h>
#include <plumb/core/run.h>
#include <plumb/core/tracer.h>
#include <plumb/functions/copies.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/map.h>
#include <plumb/net/ends.h>

#include <bpf/libbpf.h>

#include "tcp-connect-latency.h"

#include "tcp-connect-latency.skel.h"

static void format_result(const void *key, char *text, size_t size)
{
	const uint32_t result = ((const struct connect_key *)key)->result;
	const char *name = !result                    ? "established"
			   : result == ECONNREFUSED   ? "refused"
			   : result == ETIMEDOUT      ? "timed-out"
			   : result == CONNECT_CLOSED ? "closed"
			   : result == CONNECT_FAILED ? "failed"
						      : plumb_errno_name(result);

	snprintf(text, size, "%s", name);
}

static const struct plumb_field fields[] = {
	TCP_ENDS_FIELDS,
	{"result", CONNECT_BY_RESULT, .format = format_result},
};

/* --- in flight --- */

/* For their names; plumb_flight.what is an index. */
static struct plumb_elements listed;

static void read_states(const struct plumb_run *run, struct plumb_flights *to)
{
	int map = bpf_object__find_map_fd_by_name(run->instance.bpf.object, "connect_states");
	const struct connect_state *s;

	plumb_map_read(map, &listed);
	s = listed.values;
	for (size_t i = 0; i < listed.n; i++)
		if (s[i].start && !s[i].rejected)
			plumb_flights_add(to, &PLUMB_FLIGHT(s[i].pid, s[i].tid, .start = s[i].start,
							    .what = i));
}

static void name_state(const struct plumb_run *run, const struct plumb_flight *f, char *text,
		       size_t size)
{
	const struct connect_state *s = (const struct connect_state *)listed.values + f->what;
	char address[TCP_ADDRESS_TEXT];

	(void)run;
	snprintf(text, size, "%s %u", tcp_format_address(&s->raddr, address, sizeof(address)),
		 s->rport);
}

static const struct plumb_inflight inflight = {
	.heading = "CONNECTION",
	.json = "connection",
	.read_rest = read_states,
	.name = name_state,
};

/* --- the programs --- */

static int open_raw_tracepoint(struct plumb_bpf *bpf, bool calibration)
{
	struct tcp_connect_latency_bpf *skel =
		tcp_connect_latency_bpf__open_opts(plumb_open_opts());

	(void)calibration;
	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "inet_sock_set_state");
	if (!plumb_raw_tracepoints_can_be_preempted())
		plumb_copies_limit(bpf->object, "state_changes", PLUMB_END_COPIES);
	return 0;
}

static const char *const programs[] = {PLUMB_COPIES_OF("state_changes"), NULL};
static const char *const vital[] = {"state_changes_0", NULL};

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "raw_tracepoint",
		.stability = "stable",
		.open = open_raw_tracepoint,
		.interleaved = true, /* an interrupt ends connections while others begin */
		.misses_are_calls = true,
		.vital = vital,
		.programs = programs,
	},
};

static struct plumb_tool tool = {
	.card.name = "tcp-connect-latency",
	.card.summary = "Summarize how long TCP connections take to be established, refused or "
			"timed out, as percentiles, by process and peer.",
	.card.about = "hooks:     raw tracepoint inet_sock_set_state (stable)\n"
		      "kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
		      "fire rate: five or six per connection: 10 to 100,000 a second\n"
		      "cost:      see the footer\n",
	.keys.fields = fields,
	.keys.n_fields = sizeof(fields) / sizeof(fields[0]),
	.keys.size = sizeof(struct connect_key),
	.keys.default_by =
		PLUMB_BY_PID | PLUMB_BY_COMM | TCP_BY_RADDR | TCP_BY_RPORT | CONNECT_BY_RESULT,
	.keys.parse = tcp_take_port,
	.measure.errors = true,
	.measure.counted = "connections",
	.overhead.traced = "a traced connection",
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.inflight = &inflight,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
