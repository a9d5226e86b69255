/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The system calls and the peers in which requests spent their time.  They are read before the
 * rows: what is not in them yet, and what found no room, is "[other]" of the row's part.
 */
#include "requests.h"

#include <plumb/core/json.h>
#include <plumb/core/memory.h>
#include <plumb/core/report.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/kernel/map.h>
#include <plumb/net/ends.h>
#include <plumb/syscalls/syscalls.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define LEAST 1 /* per cent of a row's time: smaller ones are not printed */

struct use {
	struct request_row_use key;
	uint64_t ns;
};

static struct uses {
	struct use *all; /* by slot and use */
	size_t n;
} now, before, interval;
static int map = -1, peers = -1;
static uint64_t taken; /* the number of the report that INTERVAL is of */

static int by_key(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	return (x->key.slot > y->key.slot) - (x->key.slot < y->key.slot)
		       ?: (x->key.what > y->key.what) - (x->key.what < y->key.what);
}

void uses_read(const struct plumb_run *run)
{
	struct request_row_use key, *last = NULL;
	uint64_t ns;

	map = bpf_object__find_map_fd_by_name(run->instance.bpf.object, "request_row_uses");
	peers = bpf_object__find_map_fd_by_name(run->instance.bpf.object, "request_peers");
	now.n = 0;
	/* Nothing is removed, so that each key is met once. */
	while (!bpf_map_get_next_key(map, last, &key)) {
		last = &key;
		if (!plumb_map_lookup(map, &key, &ns))
			*plumb_append(now.all, now.n) = (struct use){key, ns};
	}
	if (now.n)
		qsort(now.all, now.n, sizeof(*now.all), by_key);
}

static const struct use *find(const struct uses *uses, const struct use *one)
{
	return uses->n ? bsearch(one, uses->all, uses->n, sizeof(*uses->all), by_key) : NULL;
}

/* Those of R: of the whole run, or of an interval, which ends once. */
static const struct uses *uses_of(const struct plumb_report *r)
{
	const struct use *was;

	static const struct uses unknown;

	if (r->verdict) /* it was kept */
		return &unknown;
	if (r->snap == r->total)
		return &now;
	if (r->seq == taken)
		return &interval;
	interval.n = 0;
	for (size_t i = 0; i < now.n; i++) {
		was = find(&before, &now.all[i]);
		*plumb_append(interval.all, interval.n) =
			(struct use){now.all[i].key, now.all[i].ns - (was ? was->ns : 0)};
	}
	before.n = 0;
	for (size_t i = 0; i < now.n; i++)
		*plumb_append(before.all, before.n) = now.all[i];
	taken = r->seq;
	return &interval;
}

/* --- their names --- */

static unsigned int part_of(const struct use *u)
{
	return u->key.what >> REQUEST_WHAT_SHIFT;
}

static const char *peer_name(uint64_t number, char *text, size_t size)
{
	char address[TCP_ADDRESS_TEXT], comm[PLUMB_ESCAPED];
	struct request_peer p;

	if (plumb_map_lookup(peers, &number, &p))
		return "[other]";
	plumb_escape(comm, *p.comm ? p.comm : "unix", sizeof(comm));
	tcp_format_end(&p.address, address, sizeof(address));
	if (p.port)
		snprintf(text, size, strchr(address, ':') ? "[%s]:%u" : "%s:%u", address, p.port);
	else if (p.pid)
		snprintf(text, size, "%s/%u", comm, p.pid);
	else
		snprintf(text, size, "%s", p.family == 1 /* AF_UNIX */ ? comm : "no address");
	return text;
}

const char *use_name(unsigned int part, uint64_t number, char *text, size_t size)
{
	const uint32_t call = number;

	if (part == REQUEST_DOWNSTREAM)
		return peer_name(number, text, size);
	return call ? plumb_syscall_name(call - 1, number >> REQUEST_CALL_ABI_SHIFT, text, size)
		    : NULL;
}

static const char *name_of(const struct use *u, char *text, size_t size)
{
	return use_name(part_of(u), u->key.what & (REQUEST_WHAT(1) - 1), text, size);
}

/* --- output --- */

/* The sums of the parts that have uses. */
static uint64_t sum_of(const struct plumb_row *row, unsigned int part)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < row->n_split; i++)
		ns += row->split[i].ns[part];
	return ns;
}

const struct plumb_part_name *request_part(unsigned int part)
{
	const struct plumb_part_name *p = request_parts;

	while (p->part != part)
		p++;
	return p;
}

static int by_time(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns) ?: by_key(a, b);
}

/* Those of ROW, the longest first; allocated. */
static struct uses of_row(const struct plumb_report *r, const struct plumb_row *row)
{
	const struct uses *all = uses_of(r);
	struct uses own = {};

	for (size_t i = 0; i < all->n; i++)
		if (all->all[i].key.slot == row->slot && all->all[i].ns)
			*plumb_append(own.all, own.n) = all->all[i];
	if (own.n)
		qsort(own.all, own.n, sizeof(*own.all), by_time);
	return own;
}

static int print(const struct plumb_report *r, const struct plumb_row *row, FILE *out)
{
	struct uses own = of_row(r, row);
	int lines = plumb_splitting.print(r, row, out);
	char text[USE_TEXT];
	bool any = false;

	for (size_t i = 0; i < own.n; i++) {
		const struct use *u = &own.all[i];

		if (u->ns * 100.0 < (double)row->sum * LEAST)
			break;
		fprintf(out, "%s %s%s%s %.0f %%",
			any ? "," : "  in:", request_part(part_of(u))->heading,
			part_of(u) == REQUEST_DOWNSTREAM ? " " : " in ",
			name_of(u, text, sizeof(text)) ?: "no call", 100.0 * u->ns / row->sum);
		any = true;
	}
	if (any)
		fputc('\n', out);
	free(own.all);
	return lines + any;
}

static void append(json_t *calls, json_t *list, unsigned int part, const char *name, uint64_t ns)
{
	json_t *j = json_object();

	if (part != REQUEST_DOWNSTREAM)
		json_object_set_new(j, "part", json_string(request_part(part)->json));
	json_object_set_new(j, part == REQUEST_DOWNSTREAM ? "peer" : "syscall",
			    name ? plumb_json_text(name) : json_null());
	json_object_set_new(j, "ns", plumb_json_u64(ns));
	json_array_append_new(part == REQUEST_DOWNSTREAM ? list : calls, j);
}

/* A list of system calls, one of peers; their sums are those of their parts. */
static json_t *json(const struct plumb_report *r, const struct plumb_row *row)
{
	static const unsigned int with_uses[] = {REQUEST_BLOCKED, REQUEST_LOCK, REQUEST_DISK,
						 REQUEST_KERNEL, REQUEST_DOWNSTREAM};
	json_t *j = plumb_splitting.json(r, row), *calls = json_array(), *list = json_array();
	struct uses own = of_row(r, row);
	uint64_t rest[REQUEST_PARTS] = {};
	char text[USE_TEXT];

	for (size_t i = 0; i < own.n; i++) {
		const struct use *u = &own.all[i];

		append(calls, list, part_of(u), name_of(u, text, sizeof(text)), u->ns);
		rest[part_of(u)] += u->ns;
	}
	for (size_t i = 0; i < sizeof(with_uses) / sizeof(with_uses[0]); i++) {
		const uint64_t all = sum_of(row, with_uses[i]);

		if (all > rest[with_uses[i]])
			append(calls, list, with_uses[i], "[other]", all - rest[with_uses[i]]);
	}
	json_object_set_new(j, "calls", calls);
	json_object_set_new(j, "peers", list);
	free(own.all);
	return j;
}

struct plumb_splitting request_splitting;

void uses_begin(void)
{
	request_splitting = plumb_splitting;
	request_splitting.print = print;
	request_splitting.json = json;
}
