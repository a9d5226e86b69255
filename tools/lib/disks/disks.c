/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* disks: who had I/O on the disks that traced threads waited for, while they did. */
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/part.h>
#include <plumb/core/report.h>
#include <plumb/core/text.h>
#include <plumb/disks/disks.h>
#include <plumb/functions/disk.h>

#include <bpf/libbpf.h>

#include "limits-report.h"
#include "limits.h"
#include "users.h"

#define SHOWN       6 /* users of a disk, in a table */
#define SHOWN_DISKS 3

static bool used; /* the tool has the programs */
/* As of the last interval, and the difference to the one before it. */
static struct disk_users last, interval;
static uint64_t taken; /* plumb_report.seq of that interval */

static const struct {
	const char *one, *many, *count, *bytes;
} ops[PLUMB_DISK_OPS] = {
	[PLUMB_DISK_READ] = {"read", "reads", "reads", "read_bytes"},
	[PLUMB_DISK_WRITE] = {"write", "writes", "writes", "written_bytes"},
	[PLUMB_DISK_DISCARD] = {"discard", "discards", "discards", "discarded_bytes"},
	[PLUMB_DISK_FLUSH] = {"flush", "flushes", "flushes", NULL},
};

/* Whether it is the number 0, of all for which there was no room. */
static bool is_rest(const struct disk_user *user)
{
	return !user->who.dev;
}

/* Whether not all threads are traced. */
static bool is_filtered(const struct plumb_options *o)
{
	return o->n_pids || o->n_tids || o->n_comms || o->globs.n || o->n_cgroups || o->command;
}

/* Of the whole run, of an interval that take() has taken, or of the one in progress. */
static struct disk_users users_of(const struct plumb_report *r)
{
	const bool whole = r->snap == r->total;
	const struct disk_users none = {};
	struct disk_users now, since;

	if (!whole && r->seq == taken)
		return users_copy(&interval);
	now = users_read(r->run->instance.bpf.object);
	since = users_since(&now, whole ? &none : &last);
	users_free(&now);
	return since;
}

/* --- as text --- */

/* "[kernel, writeback of /system.slice/nightly.service]" */
static void format_worker(const struct disk_user *user, const char *name, char *text, size_t size)
{
	const char *of = user->who.cgroup ? limits_cgroup(user->who.cgroup) : NULL;
	char cgroup[256] = "";

	if (of)
		plumb_escape(cgroup, of, sizeof(cgroup));
	snprintf(text, size, "[kernel, %s%s%s]",
		 strcmp(name, "kthrotld") ? name : "held back by an I/O limit",
		 *cgroup ? " of " : "", cgroup);
}

static void format_user(const struct disk_user *user, bool mark, char *text, size_t size)
{
	char name[PLUMB_ESCAPED];

	plumb_escape(name, *user->who.name ? user->who.name : "?", sizeof(name));
	if (is_rest(user))
		snprintf(text, size, "[others, on all disks]");
	else if (user->who.kind == PLUMB_DISK_WORKER)
		format_worker(user, name, text, size);
	else
		snprintf(text, size, "%s/%u%s", name, user->who.pid,
			 mark && user->who.traced ? " (traced)" : "");
}

/* "2511 writes, 3 flushes" */
static void format_counts(const struct disk_user *user, char *text, size_t size)
{
	size_t n = 0;

	for (int op = 0; op < PLUMB_DISK_OPS && n < size; op++) {
		const uint64_t count = user->sum.count[op];

		if (count)
			n += snprintf(text + n, size - n, "%s%llu %s", n ? ", " : "",
				      (unsigned long long)count,
				      count == 1 ? ops[op].one : ops[op].many);
	}
}

static void print_user(const struct disk_user *user, uint64_t of, bool mark, FILE *out)
{
	char bytes[32], share[32], name[PLUMB_ESCAPED + 320], counts[128] = "";

	format_user(user, mark, name, sizeof(name));
	format_counts(user, counts, sizeof(counts));
	fprintf(out, "%8s %5s%%  %s: %s\n",
		plumb_format_size(user_bytes(user), bytes, sizeof(bytes)),
		plumb_format_percent(of ? 100.0 * user_bytes(user) / of : 0, share, sizeof(share)),
		name, counts);
}

static void print_disk(const struct plumb_report *r, const struct disk_users *users,
		       const struct disk_waits *disk, FILE *out)
{
	const bool mark = is_filtered(&r->run->options);
	char name[64], time[32];
	uint64_t all = 0, rest;
	size_t shown = 0, more = 0, others = 0;

	for (size_t i = 0; i < users->n; i++)
		if (users->all[i].who.dev == disk->dev) {
			all += user_bytes(&users->all[i]);
			others += !users->all[i].who.traced;
		}
	fprintf(out, "\nwaits for %s, %s in all; I/O of that disk that ended meanwhile:\n",
		plumb_disk_name(disk->dev, name, sizeof(name)),
		plumb_format_time(disk->of.ns, r->run->options.unit, time, sizeof(time)));
	rest = all;
	for (size_t i = 0; i < users->n; i++) {
		if (users->all[i].who.dev != disk->dev)
			continue;
		if (shown == SHOWN) {
			more++;
			continue;
		}
		shown++;
		rest -= user_bytes(&users->all[i]);
		print_user(&users->all[i], all, mark, out);
	}
	if (more)
		fprintf(out, "%8s %6s  (%zu more)\n", plumb_format_size(rest, name, sizeof(name)),
			"", more);
	if (mark && !others)
		fprintf(out, "%8s %6s  (no I/O of others)\n", "0", "");
}

static void print(const struct plumb_report *r, const struct disk_users *users, FILE *out)
{
	for (size_t i = 0; i < users->n_disks && i < SHOWN_DISKS; i++)
		print_disk(r, users, &users->disks[i], out);
	for (size_t i = 0; users->n_disks && i < users->n; i++)
		if (is_rest(&users->all[i]))
			print_user(&users->all[i], 0, false, out);
}

bool plumb_disks_have_limits(void)
{
	return limits_any();
}

/* --- in JSON --- */

static json_t *user_json(const struct disk_user *user)
{
	static const char *const what[] = {"process", "kernel thread", "work queue"};
	char name[PLUMB_ESCAPED], cgroup[4096];
	json_t *j = json_object();
	const char *of;

	json_object_set_new(j, "what", json_string(is_rest(user) ? "rest" : what[user->who.kind]));
	if (!is_rest(user)) {
		plumb_escape(name, user->who.name, sizeof(name));
		json_object_set_new(j, "comm", json_string(name));
		json_object_set_new(j, "pid",
				    user->who.pid ? json_integer(user->who.pid) : json_null());
		of = user->who.cgroup ? limits_cgroup(user->who.cgroup) : NULL;
		if (of) {
			plumb_escape(cgroup, of, sizeof(cgroup));
			json_object_set_new(j, "cgroup", json_string(cgroup));
		}
		json_object_set_new(j, "traced", json_boolean(user->who.traced));
	}
	for (int op = 0; op < PLUMB_DISK_OPS; op++) {
		json_object_set_new(j, ops[op].count, plumb_json_u64(user->sum.count[op]));
		if (ops[op].bytes)
			json_object_set_new(j, ops[op].bytes, plumb_json_u64(user->sum.bytes[op]));
	}
	return j;
}

static json_t *users_json(const struct disk_users *users, uint32_t dev)
{
	json_t *j = json_array();

	for (size_t i = 0; i < users->n; i++)
		if (users->all[i].who.dev == dev)
			json_array_append_new(j, user_json(&users->all[i]));
	return j;
}

static json_t *disk_json(const struct plumb_report *r, const struct disk_users *users,
			 const struct disk_waits *disk)
{
	char name[64];

	return json_pack(
		"{s:s, s:o, s:o, s:o, s:o}", "disk", plumb_disk_name(disk->dev, name, sizeof(name)),
		"waits", plumb_json_u64(disk->of.count), "waited", plumb_json_u64(disk->of.ns),
		"limits", limits_json(r, users, disk->dev), "users", users_json(users, disk->dev));
}

static json_t *json(const struct plumb_report *r, const struct disk_users *users)
{
	json_t *j = json_array(), *rest = users_json(users, 0);

	for (size_t i = 0; i < users->n_disks; i++)
		json_array_append_new(j, disk_json(r, users, &users->disks[i]));
	if (json_array_size(rest))
		json_array_append_new(j, json_pack("{s:n, s:i, s:i, s:[], s:O}", "disk", "waits", 0,
						   "waited", 0, "limits", "users", rest));
	json_decref(rest);
	return j;
}

/* --- the part --- */

static void configure(struct plumb_bpf *bpf)
{
	used = bpf_object__find_map_by_name(bpf->object, "plumb_disk_sums") != NULL;
}

static void prepare(struct plumb_run *run)
{
	if (!used)
		return;
	users_prepare(run->instance.bpf.object);
	limits_find();
	limits_set(run->instance.bpf.object);
}

static int take(const struct plumb_report *r)
{
	struct disk_users now;

	if (!used)
		return 0;
	now = users_read(r->run->instance.bpf.object);
	users_free(&interval);
	interval = users_since(&now, &last);
	users_free(&last);
	last = now;
	taken = r->seq;
	return 0;
}

static void add(const struct plumb_report *r, FILE *out, json_t *to)
{
	struct disk_users users;

	if (!used)
		return;
	users = users_of(r);
	if (out)
		print(r, &users, out);
	else
		json_object_set_new(to, "disks", json(r, &users));
	users_free(&users);
}

static void footer(const struct plumb_report *r, FILE *out)
{
	struct disk_users users;

	if (!used || !limits_any())
		return;
	users = users_of(r);
	limits_print(r, &users, out);
	users_free(&users);
}

bool plumb_disks_neighbour(const struct plumb_report *r, uint32_t dev, char *text, size_t size)
{
	struct disk_users users = users_of(r);
	char bytes[32];
	size_t i = 0, n;

	while (i < users.n && (users.all[i].who.dev != dev || users.all[i].who.traced))
		i++;
	if (i < users.n) {
		format_user(&users.all[i], false, text, size);
		n = strlen(text);
		snprintf(text + n, size - n, ": %s",
			 plumb_format_size(user_bytes(&users.all[i]), bytes, sizeof(bytes)));
	}
	n = users.n;
	users_free(&users);
	return i < n;
}

static int forget(void)
{
	users_free(&last);
	users_free(&interval);
	limits_free();
	return 0;
}

/* Those of disks-follow.bpf.h. */
static const char *const programs[] = {
	"disk_request_completed", "disk_bio_completed", "disk_bio_split",
	"disk_bio_queued",        "disk_waiter_woken",  NULL,
};

const struct plumb_part plumb_disks_part = {
	.name = "disks",
	.programs = programs,
	.configure = configure,
	.loaded = prepare,
	.interval = take,
	.add = add,
	.footer = footer,
	.close = forget,
};
