/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "kills.h"

#include <plumb/core/clock.h>
#include <plumb/core/json.h>
#include <plumb/core/text.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/kernel/thread.h>

#include "cause.h"

#define MOST 64 /* kept: the last ones */

static struct reclaim_kill kills[MOST];
static size_t n_kills; /* all that were seen */

const __u64 *reclaim_kills_lost;

/* Before 6.8 only its number comes with the event; a victim takes a while to exit. */
static int add(void *context, const void *record, size_t size)
{
	struct reclaim_kill *k = &kills[n_kills % MOST];

	*k = *(const struct reclaim_kill *)record;
	if (!*k->comm)
		plumb_thread_comm(k->pid, k->pid, k->comm);
	n_kills++;
	return 0;
}

static int idle(void *context, bool all, uint64_t *again)
{
	return 0;
}

const struct plumb_ring_handlers reclaim_kills = {NULL, add, idle};

static struct timespec time_of(const struct reclaim_kill *k)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_REALTIME, &now);
	ns = now.tv_sec * PLUMB_SECOND + now.tv_nsec - (plumb_now() - k->time);
	return (struct timespec){.tv_sec = ns / PLUMB_SECOND, .tv_nsec = ns % PLUMB_SECOND};
}

static void print(const struct reclaim_kill *k, FILE *out)
{
	char comm[PLUMB_ESCAPED], by[PLUMB_ESCAPED], cause[RECLAIM_CAUSE], day[16], path[4096];
	const struct timespec time = time_of(k);
	struct tm tm;

	plumb_escape(comm, k->comm, sizeof(comm));
	plumb_escape(by, k->by_comm, sizeof(by));
	plumb_cgroup_path(k->cgroup, path, sizeof(path));
	strftime(day, sizeof(day), "%H:%M:%S", localtime_r(&time.tv_sec, &tm));
	fprintf(out, "  %s %s/%u, for %s/%u in %s, after %s\n", day, comm, k->pid, by, k->by_tid,
		path, reclaim_cause_text(&k->cause, cause, sizeof(cause)));
}

void reclaim_kills_print(FILE *out)
{
	if (n_kills)
		fprintf(out, "OOM kills: %zu%s\n", n_kills,
			n_kills > MOST ? ", the last ones:" : "");
	for (size_t i = n_kills > MOST ? n_kills - MOST : 0; i < n_kills; i++)
		print(&kills[i % MOST], out);
	if (*reclaim_kills_lost)
		fprintf(out, "OOM kills not listed: %llu, the buffer was full\n",
			(unsigned long long)*reclaim_kills_lost);
}

static json_t *time_json(const struct reclaim_kill *k)
{
	const struct timespec time = time_of(k);
	char second[32];
	struct tm tm;

	strftime(second, sizeof(second), "%Y-%m-%dT%H:%M:%S", gmtime_r(&time.tv_sec, &tm));
	return json_sprintf("%s.%09ldZ", second, time.tv_nsec);
}

static json_t *json_of(const struct reclaim_kill *k)
{
	char comm[PLUMB_ESCAPED], by[PLUMB_ESCAPED], path[4096];

	plumb_escape(comm, k->comm, sizeof(comm));
	plumb_escape(by, k->by_comm, sizeof(by));
	plumb_cgroup_path(k->cgroup, path, sizeof(path));
	return json_pack("{so si so so si si so so so so}", "time", time_json(k), "pid", k->pid,
			 "comm", plumb_json_text(comm), "kind",
			 json_string(reclaim_kinds[k->cause.kind]), "by_pid", k->by_pid, "by_tid",
			 k->by_tid, "by_comm", plumb_json_text(by), "order",
			 k->cause.order ? json_integer(k->cause.order - 1) : json_null(), "gfp",
			 reclaim_gfp_json(k->cause.gfp), "cgroup", plumb_json_text(path));
}

void reclaim_kills_json(json_t *json)
{
	json_t *list = json_array();

	for (size_t i = n_kills > MOST ? n_kills - MOST : 0; i < n_kills; i++)
		json_array_append_new(list, json_of(&kills[i % MOST]));
	json_object_set_new(json, "kills", json_integer(n_kills));
	json_object_set_new(json, "kills_lost", plumb_json_u64(*reclaim_kills_lost));
	json_object_set_new(json, "last_kills", list);
}
