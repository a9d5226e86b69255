/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <plumb/cgroup.h>
#include <plumb/log.h>
#include <plumb/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Where cgroup2 is mounted, alone or beside version 1; "" if nowhere. */
static const char *mount_point(void)
{
	static char path[4096];
	struct mntent *m;
	FILE *mounts;

	if (*path || !(mounts = setmntent("/proc/self/mounts", "re")))
		return path;
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

int plumb_cgroup_open(const char *path)
{
	char below[8192];
	struct statfs fs;
	int fd, again;

	if (!*mount_point())
		return plumb_error(ENOENT, "cgroup %s: no cgroup2 file system is mounted", path);
	fd = open_directory(path);
	if (fd < 0 || fstatfs(fd, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC) {
		snprintf(below, sizeof(below), "%s/%s", mount_point(), path);
		again = open_directory(below);
		if (again >= 0) {
			if (fd >= 0)
				close(fd);
			return again;
		}
		if (fd >= 0) {
			close(fd);
			return plumb_error(EINVAL, "cgroup %s: not in the cgroup2 hierarchy at %s",
					   path, mount_point());
		}
		return plumb_error(-fd, "cgroup %s: %s (nor below %s)", path, strerror(-fd),
				   mount_point());
	}
	return fd;
}

/* kernfs: a file handle of type FILEID_KERNFS (include/linux/exportfs.h) is the id. */
static int open_by_id(uint64_t id)
{
	struct {
		struct file_handle handle;
		uint64_t id;
	} f = {.handle = {.handle_bytes = sizeof(id), .handle_type = 0xfe}, .id = id};
	int mount = open_directory(mount_point()), fd;

	_Static_assert(sizeof(struct file_handle) == 8, "the id follows the handle");
	if (mount < 0)
		return mount;
	fd = open_by_handle_at(mount, &f.handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(mount);
	return fd;
}

void plumb_cgroup_path(uint64_t id, char *text, size_t size)
{
	size_t prefix = strlen(mount_point());
	char link[32], path[4096];
	ssize_t n = -1;
	int fd;

	snprintf(text, size, "cgroup:%llu", (unsigned long long)id);
	if (!prefix)
		return;
	fd = open_by_id(id);
	if (fd < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	close(fd);
	if (n < (ssize_t)prefix)
		return;
	path[n] = 0;
	plumb_copy_printable(text, path[prefix] ? path + prefix : "/", size);
}
