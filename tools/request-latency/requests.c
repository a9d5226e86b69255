/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "requests.h"

#include <stdlib.h>
#include <plumb/core/json.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/map.h>
#include <plumb/net/ends.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* --- the keys --- */

static int paths = -1; /* the map */

int requests_use(struct bpf_object *object)
{
	paths = bpf_object__find_map_fd_by_name(object, "request_paths");
	return 0;
}

static const char *name_server(uint64_t path, uint32_t port, char *text, size_t size)
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

	name_server(k->path, k->port, text, size);
}

static const char *const stages[REQUEST_STAGES] = {
	[REQUEST_WHOLE] = "whole",
	[REQUEST_QUEUED] = "queued",
	[REQUEST_SERVICE] = "service",
};

const struct plumb_field request_fields[REQUEST_FIELDS] = {
	{"server", REQUEST_BY_SERVER, .format = format_server},
	TCP_ENDS_FIELDS,
	{PLUMB_NAMED_FIELD("stage", REQUEST_BY_STAGE, PLUMB_NAME, request_key, stage, stages)},
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
static struct request_socket *listed;
static size_t n_listed;

static void read_sockets(const struct plumb_run *run, struct plumb_flights *to)
{
	int map = bpf_object__find_map_fd_by_name(run->instance.bpf.object, "request_sockets");
	uint64_t id, *previous = NULL;
	struct request_socket *s;

	n_listed = 0;
	if (!listed)
		listed = calloc(REQUEST_SOCKETS, sizeof(*listed));
	/* If one is deleted meanwhile, the iteration restarts: some are read twice. */
	while (listed && n_listed < REQUEST_SOCKETS && !bpf_map_get_next_key(map, previous, &id)) {
		previous = &id;
		s = &listed[n_listed];
		if (plumb_map_lookup(map, &id, s) || !s->read || s->rejected || !s->known)
			continue;
		plumb_flights_add(to, &(struct plumb_flight){
					      .start = s->first,
					      .pid = s->pid,
					      .tid = s->tid,
					      .what = n_listed++,
					      .kernel = PLUMB_NO_STACK,
					      .user = PLUMB_NO_STACK,
				      });
	}
}

static const char *state_of(const struct request_socket *s)
{
	return s->mixed ? "not separable" : s->sent ? "replied" : "read";
}

static void name_request(const struct plumb_run *run, const struct plumb_flight *f, char *text,
			 size_t size)
{
	const struct request_socket *s = &listed[f->what];
	char server[PLUMB_ESCAPED + REQUEST_PATH], from[TCP_ADDRESS_TEXT];

	(void)run;
	tcp_format_end(&s->raddr, from, sizeof(from));
	snprintf(text, size, "%s from %s, %s",
		 name_server(s->path, s->port, server, sizeof(server)), from, state_of(s));
}

static void add_flight(const struct plumb_run *run, const struct plumb_flights *f,
		       const struct plumb_flight *one, json_t *j)
{
	(void)run, (void)f;
	json_object_set_new(j, "state", json_string(state_of(&listed[one->what])));
}

const struct plumb_inflight request_inflight = {
	.heading = "REQUEST",
	.json = "request",
	.read_rest = read_sockets,
	.name = name_request,
	.add_json = add_flight,
};

/* --- slow ones --- */

static uint64_t part_of(const struct request_slow *r, unsigned int part)
{
	uint64_t ns = r->ns[REQUEST_WHOLE];

	if (part != REQUEST_ON_CPU)
		return r->off[part];
	for (int i = 0; i < REQUEST_OFF; i++)
		ns -= r->off[i];
	return ns;
}

static void print_heading(FILE *out)
{
	fprintf(out, " %6s %6s %7s %-15s %-15s %s\n", "TOOK", "QUEUED", "SERVICE", "SERVER", "FROM",
		"COMM/TID; PARTS");
}

/* The parts of at least 1 per cent, the largest first. */
static void print_parts(const struct request_slow *r, FILE *out)
{
	const struct plumb_part_name *sorted[REQUEST_PARTS];
	const uint64_t whole = r->ns[REQUEST_WHOLE];
	size_t i, at;

	for (i = 0; i < REQUEST_PARTS; i++) {
		for (at = i;
		     at && part_of(r, sorted[at - 1]->part) < part_of(r, request_parts[i].part);
		     at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = &request_parts[i];
	}
	for (i = 0; i < REQUEST_PARTS; i++) {
		if (part_of(r, sorted[i]->part) < whole / 100.0 || !whole)
			break;
		fprintf(out, "%s %s %.0f%%", i ? "" : ";", sorted[i]->column,
			100.0 * part_of(r, sorted[i]->part) / whole);
	}
}

static void print(const void *record, FILE *out)
{
	char text[PLUMB_ESCAPED + REQUEST_PATH], comm[PLUMB_ESCAPED];
	const struct request_slow *r = record;

	for (int i = 0; i < REQUEST_STAGES; i++)
		fprintf(out, i == REQUEST_SERVICE ? " %7s" : " %6s",
			plumb_format_time(r->ns[i], PLUMB_AUTO, text, sizeof(text)));
	fprintf(out, " %-15s", name_server(r->path, r->port, text, sizeof(text)));
	tcp_format_end(&r->raddr, text, sizeof(text));
	plumb_escape(comm, r->comm, sizeof(comm));
	fprintf(out, " %-15s %s/%u", text, comm, r->tid);
	print_parts(r, out);
	fputc('\n', out);
}

static void add_json(const void *record, json_t *j)
{
	char text[PLUMB_ESCAPED + REQUEST_PATH];
	const struct request_slow *r = record;

	json_object_set_new(j, "pid", json_integer(r->pid));
	json_object_set_new(j, "tid", json_integer(r->tid));
	plumb_escape(text, r->comm, sizeof(text));
	json_object_set_new(j, "comm", json_string(text));
	json_object_set_new(j, "server",
			    plumb_json_text(name_server(r->path, r->port, text, sizeof(text))));
	json_object_set_new(j, "raddr", tcp_end_json(&r->raddr));
	for (int i = 0; i < REQUEST_STAGES; i++)
		json_object_set_new(j, stages[i], plumb_json_u64(r->ns[i]));
	for (const struct plumb_part_name *p = request_parts; p < request_parts + REQUEST_PARTS;
	     p++)
		json_object_set_new(j, p->json,
				    request_unseen >> p->part & 1
					    ? json_null()
					    : plumb_json_u64(part_of(r, p->part)));
}

struct plumb_in_order request_slow_ones = {
	.size = sizeof(struct request_slow),
	.heading = print_heading,
	.print = print,
	.json_name = "request",
	.add_json = add_json,
};
