/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "detached.h"

#include <errno.h>
#include <sys/mount.h>
#include <unistd.h>

/* Linux 5.2 introduced fsmount(). */
int plumb_mount_detached(const char *type)
{
	int fs = fsopen(type, FSOPEN_CLOEXEC), mount = -1, err;

	if (fs < 0)
		return -errno;
	if (!fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mount = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	err = -errno;
	close(fs);
	return mount < 0 ? err : mount;
}
