/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The limits that traced threads obey, as text and in JSON. */
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/report.h>
#include <plumb/core/text.h>
#include <plumb/functions/disk.h>

#include <bpf/libbpf.h>

#include "limits-report.h"
#include "limits.h"

/* The program that sees what a limit holds back; NULL: the tool has none. */
static const struct bpf_program *limits_program(const struct bpf_object *object)
{
	return bpf_object__find_program_by_name(object, "bio_throttled");
}

static bool limits_are_seen(const struct bpf_object *object)
{
	const struct bpf_program *p = limits_program(object);

	return p && bpf_program__autoload(p);
}

/* Whether a limit is for the operations OP: "wbps=1048576" is not for reads. */
static bool is_for(const struct disk_setting *limit, int op)
{
	const bool all = !strcmp(limit->file, "io.latency") || !strcmp(limit->file, "io.cost.qos");
	const char *const *words = op == PLUMB_DISK_READ
					   ? (const char *const[]){"read_", "rbps=", "riops="}
					   : (const char *const[]){"write_", "wbps=", "wiops="};

	return all || strstr(limit->file, words[0]) || strstr(limit->value, words[1]) ||
	       strstr(limit->value, words[2]);
}

/* What came late, of a cgroup or one below it: it is submitted by a work queue of its own. */
static uint64_t held_back(const struct disk_users *users, const struct disk_setting *limit,
			  uint64_t *bytes)
{
	const size_t n = strlen(limit->cgroup);
	uint64_t count = *bytes = 0;
	const char *path;

	for (size_t i = 0; i < users->n; i++) {
		const struct plumb_disk_user *who = &users->all[i].who;

		if (who->dev != limit->dev || who->kind != PLUMB_DISK_WORKER ||
		    strcmp(who->name, "kthrotld"))
			continue;
		path = limits_cgroup(who->cgroup);
		if (!path || strncmp(path, limit->cgroup, n) || (path[n] && path[n] != '/'))
			continue;
		for (int op = 0; op < PLUMB_DISK_OPS; op++) {
			if (!is_for(limit, op))
				continue;
			count += users->all[i].sum.count[op];
			*bytes += users->all[i].sum.bytes[op];
		}
	}
	return count;
}

/* Limits that traced threads obey, while they wait for that disk. */
void limits_print(const struct plumb_report *r, const struct disk_users *users, FILE *out)
{
	const struct bpf_object *object = r->run->instance.bpf.object;
	char text[2048], disk[64], cgroup[1024], size[32];
	const struct disk_setting *limits;
	uint64_t count, bytes;
	size_t n, shown = 0;
	int at;

	limits = limits_read(object, &n);
	for (size_t i = 0; i < n; i++) {
		if (!limits[i].waits)
			continue;
		shown++;
		plumb_escape(cgroup, limits[i].cgroup, sizeof(cgroup));
		at = snprintf(text, sizeof(text), "I/O limit: %s of %s on %s: %s", limits[i].file,
			      cgroup, plumb_disk_name(limits[i].dev, disk, sizeof(disk)),
			      limits[i].value);
		count = held_back(users, &limits[i], &bytes);
		if (count)
			snprintf(text + at, sizeof(text) - at,
				 "; it held back %llu bios, %s, for an unknown time",
				 (unsigned long long)count,
				 plumb_format_size(bytes, size, sizeof(size)));
		plumb_print_wrapped(text, out);
	}
	if (shown && !limits_program(object))
		plumb_print_wrapped("this tool does not see throttling: such waits may be for the "
				    "disk or for the limit",
				    out);
	else if (shown && !limits_are_seen(object))
		plumb_print_wrapped("throttling cannot be seen on this kernel: LIMIT is each wait "
				    "under a limit that no I/O explains",
				    out);
}

json_t *limits_json(const struct plumb_report *r, const struct disk_users *users, uint32_t dev)
{
	const struct bpf_object *object = r->run->instance.bpf.object;
	json_t *all = json_array();
	uint64_t count, bytes;
	char cgroup[4096];
	size_t n;
	const struct disk_setting *limits = limits_read(object, &n);

	for (size_t i = 0; i < n; i++) {
		if (!limits[i].waits || limits[i].dev != dev)
			continue;
		plumb_escape(cgroup, limits[i].cgroup, sizeof(cgroup));
		count = held_back(users, &limits[i], &bytes);
		json_array_append_new(
			all, json_pack("{s:s, s:s, s:s, s:o, s:b, s:o, s:o}", "cgroup", cgroup,
				       "setting", limits[i].file, "value", limits[i].value, "waits",
				       plumb_json_u64(limits[i].waits), "seen",
				       limits_are_seen(object), "held_back", plumb_json_u64(count),
				       "held_back_bytes", plumb_json_u64(bytes)));
	}
	return all;
}
