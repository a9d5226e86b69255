// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* mapper: makes a disk of the device mapper, for machines without dmsetup. */
#include "workload.h"
#include <linux/dm-ioctl.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

const char usage[] = "Usage: mapper NAME \"START LENGTH TARGET PARAMETERS...\"\n"
		     "\n"
		     "Make a disk of one target, NAME, and print the path of its device.\n";

static union {
	struct dm_ioctl dm;
	char bytes[4096];
} request;

static void control(int fd, unsigned long command, const char *what, const char *name)
{
	request.dm.version[0] = DM_VERSION_MAJOR;
	request.dm.data_size = sizeof(request);
	request.dm.data_start = sizeof(request.dm);
	snprintf(request.dm.name, sizeof(request.dm.name), "%s", name);
	if (ioctl(fd, command, &request))
		die("%s: %s", what, strerror(errno));
}

int main(int argc, char **argv)
{
	struct dm_target_spec *target = (void *)(request.bytes + sizeof(request.dm));
	unsigned long long start, length;
	char path[64];
	int fd, at = 0;

	help_if_asked(argc, argv);
	if (argc != 3 ||
	    sscanf(argv[2], "%llu %llu %15s %n", &start, &length, target->target_type, &at) != 3 ||
	    !at)
		misuse("2 arguments");
	fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("/dev/mapper/control: %s", strerror(errno));
	memset(&request, 0, sizeof(request));
	control(fd, DM_DEV_CREATE, "cannot create the disk", argv[1]);
	snprintf(path, sizeof(path), "/dev/dm-%u", minor(request.dm.dev));
	memset(&request, 0, sizeof(request));
	sscanf(argv[2], "%llu %llu %15s", &start, &length, target->target_type);
	target->sector_start = start;
	target->length = length;
	snprintf((char *)(target + 1), 1024, "%s", argv[2] + at);
	request.dm.target_count = 1;
	control(fd, DM_TABLE_LOAD, "cannot load its table", argv[1]);
	memset(&request, 0, sizeof(request));
	control(fd, DM_DEV_SUSPEND, "cannot start it", argv[1]);
	puts(path);
	return 0;
}
