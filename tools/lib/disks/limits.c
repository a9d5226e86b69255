/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "limits.h"

#include <fts.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <plumb/bpf/block/disks.h>
#include <plumb/core/memory.h>
#include <plumb/core/text.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* Those of version 2, and of version 1, where cgroups do not pass them on to those below. */
static const char *const files[] = {"io.max", "io.latency", "io.cost.qos", NULL};
static const char *const old_files[] = {
	"blkio.throttle.read_bps_device",
	"blkio.throttle.write_bps_device",
	"blkio.throttle.read_iops_device",
	"blkio.throttle.write_iops_device",
	NULL,
};

static struct disk_setting *settings;
static size_t n_settings;
static struct {
	uint64_t id;
	char *path;
} * groups;
static size_t n_groups;
static bool is_old;

/* --- reading --- */

/* Leaves out what does not limit: "rbps=max", "enable=0". */
static bool limits_anything(char *value)
{
	char *kept = plumb_copied(value), *rest, *word;
	bool limits = false;

	*value = 0;
	for (word = strtok_r(kept, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
		const size_t n = strlen(word);

		if (!strcmp(word, "enable=0")) {
			limits = false;
			break;
		}
		if (n > 4 && !strcmp(word + n - 4, "=max"))
			continue;
		limits = true;
		if (*value)
			strcat(value, " ");
		strcat(value, word);
	}
	free(kept);
	return limits;
}

static void read_file(const char *folder, const char *file, const char *cgroup, uint64_t id)
{
	char path[4096 + 64], line[512], value[512];
	unsigned int major, minor;
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	in = fopen(path, "re");
	if (!in)
		return;
	while (fgets(line, sizeof(line), in))
		if (sscanf(line, "%u:%u %511[^\n]", &major, &minor, value) == 3 &&
		    limits_anything(value))
			*plumb_append(settings, n_settings) = (struct disk_setting){
				.cgroup = plumb_copied(cgroup),
				.file = plumb_copied(file),
				.value = plumb_copied(value),
				.id = id,
				.dev = major << 20 | minor,
			};
	fclose(in);
}

/* Where the io controller is: "" if nowhere. */
static void find_mount(char *path, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;

	*path = 0;
	is_old = false;
	while (mounts && (m = getmntent(mounts))) {
		const bool old = !strcmp(m->mnt_type, "cgroup") && hasmntopt(m, "blkio");

		if (!old && (*path || strcmp(m->mnt_type, "cgroup2")))
			continue;
		snprintf(path, size, "%s", m->mnt_dir);
		is_old = old;
		if (old)
			break;
	}
	if (mounts)
		endmntent(mounts);
}

static void look_at(const char *folder, const char *cgroup, uint64_t id)
{
	*plumb_append(groups, n_groups) = (typeof(*groups)){id, plumb_copied(cgroup)};
	for (const char *const *file = is_old ? old_files : files; *file; file++)
		read_file(folder, *file, cgroup, id);
}

void limits_find(void)
{
	char mount[4096];
	char *roots[] = {mount, NULL};
	FTSENT *at;
	FTS *tree;

	limits_free();
	find_mount(mount, sizeof(mount));
	tree = *mount ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
	while (tree && (at = fts_read(tree)))
		if (at->fts_info == FTS_D)
			look_at(at->fts_path,
				at->fts_path[strlen(mount)] ? at->fts_path + strlen(mount) : "/",
				at->fts_statp->st_ino);
	if (tree)
		fts_close(tree);
}

/* --- the programs --- */

void limits_set(const struct bpf_object *object)
{
	const int map = bpf_object__find_map_fd_by_name(object, "plumb_disk_limits"),
		  depths = bpf_object__find_map_fd_by_name(object, "plumb_disk_depth");
	const uint32_t zero = 0, depth = !n_settings ? 0 : is_old ? 1 : PLUMB_DISK_DEPTH;
	const uint64_t none = 0;

	for (size_t i = 0; i < n_settings; i++) {
		const struct plumb_disk_limit key = {.cgroup = settings[i].id,
						     .dev = settings[i].dev};

		bpf_map_update_elem(map, &key, &none, BPF_NOEXIST);
	}
	bpf_map_update_elem(depths, &zero, &depth, BPF_ANY);
}

const struct disk_setting *limits_read(const struct bpf_object *object, size_t *n)
{
	const int map = bpf_object__find_map_fd_by_name(object, "plumb_disk_limits");

	for (size_t i = 0; i < n_settings; i++) {
		const struct plumb_disk_limit key = {.cgroup = settings[i].id,
						     .dev = settings[i].dev};

		settings[i].waits = 0;
		bpf_map_lookup_elem(map, &key, &settings[i].waits);
	}
	*n = n_settings;
	return settings;
}

bool limits_any(void)
{
	return n_settings;
}

const char *limits_cgroup(uint64_t id)
{
	for (size_t i = 0; i < n_groups; i++)
		if (groups[i].id == id)
			return groups[i].path;
	return NULL;
}

void limits_free(void)
{
	for (size_t i = 0; i < n_settings; i++) {
		free(settings[i].cgroup);
		free(settings[i].file);
		free(settings[i].value);
	}
	for (size_t i = 0; i < n_groups; i++)
		free(groups[i].path);
	free(settings);
	free(groups);
	settings = NULL;
	groups = NULL;
	n_settings = n_groups = 0;
}
