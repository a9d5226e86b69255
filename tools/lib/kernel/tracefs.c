/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "detached.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/privileges.h>
#include <plumb/kernel/tracefs.h>

int plumb_tracefs_try(void)
{
	static const char *const mounts[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	struct statfs fs;
	int fd;

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		fd = open(mounts[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == TRACEFS_MAGIC)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return plumb_mount_detached("tracefs");
}

bool plumb_tracefs_is_denied(void)
{
	return eaccess("/sys/kernel/tracing/events", X_OK) && errno == EACCES;
}

int plumb_tracefs_refused(int err)
{
	static const char what[] = "the list of tracepoints (tracefs)";

	if ((err != EPERM && err != EACCES) || plumb_capabilities() & PLUMB_CAP(DAC_READ_SEARCH))
		return plumb_error(err, "%s: %s", what, strerror(err));
	plumb_tell_lack(PLUMB_CAP(DAC_READ_SEARCH), what);
	return -err;
}

int plumb_tracefs_open(void)
{
	int fd = plumb_tracefs_try();

	if (fd == -ENODEV)
		return plumb_error(ENODEV, "this kernel has no tracefs (CONFIG_TRACING is off)");
	if (fd == -EPERM)
		return plumb_tracefs_refused(EPERM);
	return fd < 0 ? plumb_error(fd, "cannot mount tracefs: %s", strerror(-fd)) : fd;
}

FILE *plumb_tracefs_file(int tracefs, const char *path)
{
	int fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? NULL : fdopen(fd, "r");
}

int plumb_tracefs_id(int tracefs, const char *category, const char *name, uint32_t *id)
{
	char path[512];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "events/%s/%s/id", category, name);
	f = plumb_tracefs_file(tracefs, path);
	if (!f)
		return -errno;
	n = fscanf(f, "%" SCNu32, id);
	fclose(f);
	return n == 1 ? 0 : -EIO;
}
