/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <plumb/bpf/key/key.h>
#include <plumb/core/log.h>
#include <plumb/core/privileges.h>
#include <plumb/core/text.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/kernel/thread.h>

#include <bpf/bpf.h>

const char *plumb_cgroup_mount(void)
{
	static char path[4096];
	struct mntent *m;
	FILE *mounts;

	if (*path)
		return path;
	mounts = setmntent("/proc/self/mounts", "re");
	if (!mounts)
		return NULL;
	while ((m = getmntent(mounts)))
		if (!strcmp(m->mnt_type, "cgroup2")) {
			snprintf(path, sizeof(path), "%s", m->mnt_dir);
			break;
		}
	endmntent(mounts);
	return path;
}

static int open_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* -EMEDIUMTYPE: it is a directory, but not a cgroup. */
static int open_cgroup(const char *path)
{
	int fd = open_directory(path);
	struct statfs fs;

	if (fd < 0 || (!fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC))
		return fd;
	close(fd);
	return -EMEDIUMTYPE;
}

/* As it is, or below MOUNT; then *ERR is of the first. */
static int open_named(const char *mount, const char *path, int *err)
{
	char below[8192];
	int fd = *err = open_cgroup(path);

	if (fd >= 0)
		return fd;
	snprintf(below, sizeof(below), "%s/%s", mount, path);
	return open_cgroup(below);
}

/* What plumb_escape() made of it; NULL: it has no escapes. */
static char *unescaped(const char *path)
{
	char *text = strchr(path, '\\') ? strdup(path) : NULL, *to = text;
	unsigned int byte;

	for (const char *from = text; from && *from; to++) {
		if (from[0] == '\\' && from[1] == 'x' && isxdigit((unsigned char)from[2]) &&
		    isxdigit((unsigned char)from[3]) && sscanf(from + 2, "%2x", &byte) == 1 &&
		    byte) {
			*to = byte;
			from += 4;
		} else {
			from += from[0] == '\\' && from[1] == '\\';
			*to = *from++;
		}
	}
	if (text)
		*to = 0;
	return text;
}

int plumb_cgroup_open(const char *path)
{
	const char *mount = plumb_cgroup_mount();
	char *printed;
	int fd, err, of_printed;

	if (!mount)
		return plumb_error(errno, "cgroup %s: cannot read /proc/self/mounts: %s", path,
				   strerror(errno));
	if (!*mount)
		return plumb_error(ENOENT, "cgroup %s: no cgroup2 file system is mounted", path);
	fd = open_named(mount, path, &err);
	/* systemd's names have "\x2d" themselves: the name as it is comes first. */
	printed = fd < 0 ? unescaped(path) : NULL;
	if (printed)
		fd = open_named(mount, printed, &of_printed);
	free(printed);
	if (fd >= 0)
		return fd;
	if (err == -EMEDIUMTYPE)
		return plumb_error(EINVAL,
				   "cgroup %s: a directory, but not in the cgroup2 hierarchy at %s",
				   path, mount);
	return plumb_error(err, "cgroup %s: %s%s%s", path, strerror(-err),
			   err == -ENOENT ? ", nor is it below " : "", err == -ENOENT ? mount : "");
}

/* In kernfs the id is a file handle of type FILEID_KERNFS (include/linux/exportfs.h). */
static int open_by_id(uint64_t id)
{
	struct {
		struct file_handle handle;
		uint64_t id;
	} f = {.handle = {.handle_bytes = sizeof(id), .handle_type = 0xfe}, .id = id};
	int mount = open_directory(plumb_cgroup_mount() ?: ""), fd;

	_Static_assert(sizeof(struct file_handle) == 8, "the id follows the handle");
	if (mount < 0)
		return mount;
	fd = open_by_handle_at(mount, &f.handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(mount);
	return fd;
}

/* The line of the version 2 hierarchy is "0::PATH"; as seen from this process's own root. */
uint64_t plumb_cgroup_of(uint32_t pid, uint32_t tid)
{
	char text[8192], path[8192 + 4096];
	struct stat st;
	char *line;

	if (plumb_thread_read(pid, tid, "cgroup", text, sizeof(text)))
		return 0;
	line = strstr(text, "0::/");
	while (line && line > text && line[-1] != '\n')
		line = strstr(line + 1, "0::/");
	if (!line)
		return 0;
	line[strcspn(line, "\n")] = 0;
	snprintf(path, sizeof(path), "%s%s", plumb_cgroup_mount() ?: "", line + 3);
	return stat(path, &st) ? 0 : st.st_ino;
}

void plumb_cgroup_retain(void)
{
	plumb_retain(PLUMB_CAP(DAC_READ_SEARCH), 0, "paths of cgroups");
}

/* What is known of an id. */
struct known {
	uint64_t id, first; /* FIRST: as plumb_cgroup_first() has answered; 0: not yet */
	char *path;         /* NULL: not known */
	const char *group;  /* what those of one row have in common: the path, or what it names */
};

static void *by_id, *by_group; /* trees of struct known; BY_GROUP has the first of each */
const char *(*plumb_cgroup_group)(uint64_t id);
static int gone = -1;

void plumb_cgroup_use_gone(int map)
{
	gone = map;
}

static int compare_ids(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int compare_groups(const void *a, const void *b)
{
	return strcmp(((const struct known *)a)->group, ((const struct known *)b)->group);
}

/* The path as the kernel has it for a cgroup that was removed: from the root of the hierarchy. */
static bool find_gone(uint64_t id, char path[PLUMB_CGROUP_PATH])
{
	struct stat st;

	/* In a cgroup namespace, the mount begins elsewhere. */
	return gone >= 0 && !stat(plumb_cgroup_mount(), &st) && st.st_ino == 1 &&
	       !bpf_map_lookup_elem(gone, &id, path);
}

/* The link to a directory that was removed meanwhile. */
static bool ends_deleted(const char *link)
{
	static const char mark[] = " (deleted)";
	const size_t n = strlen(link);

	return n >= strlen(mark) && !strcmp(link + n - strlen(mark), mark);
}

/* Finds the path of a cgroup, from the mount on; false if nobody knows. */
static bool find_path(uint64_t id, char *path, size_t size)
{
	const size_t prefix = strlen(plumb_cgroup_mount() ?: "");
	char link[32], whole[4096], removed[PLUMB_CGROUP_PATH];
	ssize_t n = -1;
	int fd;

	if (!prefix)
		return false;
	fd = open_by_id(id);
	if (fd == -EPERM)
		plumb_tell_lack(PLUMB_CAP(DAC_READ_SEARCH), "paths of cgroups");
	if (fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, whole, sizeof(whole) - 1);
		close(fd);
	}
	whole[n < 0 ? 0 : n] = 0;
	if (n < (ssize_t)prefix || ends_deleted(whole)) {
		if (!find_gone(id, removed))
			return false;
		snprintf(path, size, "%s", removed);
		return true;
	}
	snprintf(path, size, "%s", whole[prefix] ? whole + prefix : "/");
	return true;
}

/* NULL: no memory. */
static struct known *know(uint64_t id)
{
	struct known *k = calloc(1, sizeof(*k)), **at;
	char path[4096];

	if (!k)
		return NULL;
	k->id = id;
	at = tsearch(k, &by_id, compare_ids);
	if (!at || *at != k)
		free(k);
	if (at && !(*at)->path && find_path(id, path, sizeof(path)))
		(*at)->path = strdup(path);
	return at ? *at : NULL;
}

const char *plumb_cgroup_raw_path(uint64_t id)
{
	const struct known *k = know(id);

	return k ? k->path : NULL;
}

void plumb_cgroup_path(uint64_t id, char *text, size_t size)
{
	const char *path = plumb_cgroup_raw_path(id);

	if (path)
		plumb_escape(text, path, size);
	else
		snprintf(text, size, "cgroup:%llu", (unsigned long long)id);
}

uint64_t plumb_cgroup_first(uint64_t id)
{
	struct known *k = know(id), **first = NULL;

	if (k && !k->first) {
		k->group = plumb_cgroup_group && k->path ? plumb_cgroup_group(id) : k->path;
		if (k->group)
			first = tsearch(k, &by_group, compare_groups);
		k->first = first ? (*first)->id : id;
	}
	return k ? k->first : id;
}
