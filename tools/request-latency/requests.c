/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "requests.h"

#include <stdlib.h>
#include <plumb/core/json.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/map.h>
#include <plumb/net/ends.h>

#include <bpf/libbpf.h>

/* --- the keys --- */

static int paths = -1; /* the map */

int requests_use(struct bpf_object *object)
{
	paths = bpf_object__find_map_fd_by_name(object, "request_paths");
	return 0;
}

const char *request_server(uint64_t path, uint32_t port, char *text, size_t size)
{
	struct request_path name;

	if (!path)
		snprintf(text, size, "%u", port);
	else if (paths < 0 || plumb_map_lookup(paths, &path, &name))
		snprintf(text, size, "unix");
	else
		plumb_unix_name(text, name.path, name.length, size);
	return text;
}

static void format_server(const void *key, char *text, size_t size)
{
	const struct request_key *k = key;

	request_server(k->path, k->port, text, size);
}

const char *const request_stages[REQUEST_STAGES] = {
	[REQUEST_WHOLE] = "whole",
	[REQUEST_QUEUED] = "queued",
	[REQUEST_SERVICE] = "service",
};

const struct plumb_field request_fields[REQUEST_FIELDS] = {
	{"server", REQUEST_BY_SERVER, .format = format_server},
	TCP_ENDS_FIELDS,
	{PLUMB_NAMED_FIELD("stage", REQUEST_BY_STAGE, PLUMB_NAME, request_key, stage,
			   request_stages)},
};

bool request_take_port(const char *item, struct plumb_options *options)
{
	return tcp_take_port(item, options);
}

const struct plumb_part_name request_parts[REQUEST_PARTS] = {
	{"queued: reader busy", "QBUSY", "queued_busy", REQUEST_BUSY},
	{"queued: reader without a CPU", "QRUNQ", "queued_runq", REQUEST_LATE},
	{"queued: reader asleep", "QSLEEP", "queued_asleep", REQUEST_ASLEEP},
	{"on-cpu", "CPU", "on_cpu", REQUEST_ON_CPU},
	{"kernel", "KERN", "kernel", REQUEST_KERNEL},
	{"irq", "IRQ", "irq", REQUEST_IRQ},
	{"preempted", "PREE", "preempted", REQUEST_PREEMPTED},
	{"quota", "QUOTA", "quota", REQUEST_QUOTA},
	{"lock", "LOCK", "lock", REQUEST_LOCK},
	{"disk", "DISK", "disk", REQUEST_DISK},
	{"blocked", "BLOCK", "blocked", REQUEST_BLOCKED},
	{"downstream", "DOWN", "downstream", REQUEST_DOWNSTREAM},
	{"runq", "RUNQ", "runq", REQUEST_RUNQ},
	{"handed to another thread", "HANDED", "handed", REQUEST_HANDED},
};

uint32_t request_unseen = 1U << REQUEST_KERNEL;

/* --- in flight --- */

/* For their names; plumb_flight.what is an index. */
static struct plumb_elements listed;

/* A reply that was sent can be a part of it, until data arrive again. */
static void read_sockets(const struct plumb_run *run, struct plumb_flights *to)
{
	int map = bpf_object__find_map_fd_by_name(run->instance.bpf.object, "request_sockets");
	const struct request_socket *s;

	plumb_map_read(map, &listed);
	s = listed.values;
	for (size_t i = 0; i < listed.n; i++)
		if (s[i].read && !s[i].rejected && s[i].known)
			plumb_flights_add(to, &PLUMB_FLIGHT(s[i].pid, s[i].tid, .start = s[i].first,
							    .end = s[i].mixed ? 0 : s[i].sent,
							    .comm = s[i].comm, .what = i));
}

static const struct request_socket *socket_of(const struct plumb_flight *f)
{
	return (const struct request_socket *)listed.values + f->what;
}

static const char *state_of(const struct request_socket *s)
{
	return s->mixed ? "not separable" : s->sent ? "replied" : "read";
}

static void name_request(const struct plumb_run *run, const struct plumb_flight *f, char *text,
			 size_t size)
{
	const struct request_socket *s = socket_of(f);
	char server[PLUMB_ESCAPED + REQUEST_PATH], from[TCP_ADDRESS_TEXT];

	(void)run;
	tcp_format_end(&s->raddr, from, sizeof(from));
	snprintf(text, size, "%s from %s, %s",
		 request_server(s->path, s->port, server, sizeof(server)), from, state_of(s));
}

static void add_flight(const struct plumb_run *run, const struct plumb_flights *f,
		       const struct plumb_flight *one, json_t *j)
{
	(void)run, (void)f;
	json_object_set_new(j, "state", json_string(state_of(socket_of(one))));
}

const struct plumb_inflight request_inflight = {
	.heading = "REQUEST",
	.json = "request",
	.read_rest = read_sockets,
	.name = name_request,
	.add_json = add_flight,
};
