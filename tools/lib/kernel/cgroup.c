/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <plumb/base/confine.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/kernel/thread.h>
#include <plumb/base/log.h>
#include <plumb/base/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Returns where cgroup2 is mounted, also beside version 1; "": nowhere; NULL: see errno. */
static const char *mount_point(void)
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

int plumb_cgroup_open(const char *path)
{
	const char *mount = mount_point();
	char below[8192];
	int fd, err;

	if (!mount)
		return plumb_error(errno, "cgroup %s: cannot read /proc/self/mounts: %s", path,
				   strerror(errno));
	if (!*mount)
		return plumb_error(ENOENT, "cgroup %s: no cgroup2 file system is mounted", path);
	fd = err = open_cgroup(path);
	if (fd < 0) {
		snprintf(below, sizeof(below), "%s/%s", mount, path);
		fd = open_cgroup(below);
	}
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
	int mount = open_directory(mount_point() ?: ""), fd;

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
	snprintf(path, sizeof(path), "%s%s", mount_point() ?: "", line + 3);
	return stat(path, &st) ? 0 : st.st_ino;
}

void plumb_cgroup_keep(void)
{
	plumb_keep(PLUMB_CAP(DAC_READ_SEARCH), 0, "paths of cgroups");
}

void plumb_cgroup_path(uint64_t id, char *text, size_t size)
{
	size_t prefix = strlen(mount_point() ?: "");
	char link[32], path[4096];
	ssize_t n = -1;
	int fd;

	snprintf(text, size, "cgroup:%llu", (unsigned long long)id);
	if (!prefix)
		return;
	fd = open_by_id(id);
	if (fd == -EPERM)
		plumb_tell_lack(PLUMB_CAP(DAC_READ_SEARCH), "paths of cgroups");
	if (fd < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	close(fd);
	if (n < (ssize_t)prefix)
		return;
	path[n] = 0;
	plumb_escape(text, path[prefix] ? path + prefix : "/", size);
}
