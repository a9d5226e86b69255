// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* mapper: makes a disk of the device mapper, or holds up one, for machines without dmsetup. */
#include "workload.h"
#include <linux/dm-ioctl.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

const char usage[] =
	"Usage: mapper NAME \"START LENGTH TARGET PARAMETERS...\"\n"
	"       mapper NAME suspend|resume\n"
	"\n"
	"Make a disk of one target, NAME, and print the path of its device; hold up what\n"
	"is submitted to it, and let it go.\n";

static union {
	struct dm_ioctl dm;
	char bytes[4096];
} request;

/* Send the request, and clear it; return the minor number of the disk. */
static unsigned int control(unsigned long command, const char *what, const char *name)
{
	static int fd = -1;
	unsigned int found;

	if (fd < 0)
		fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("/dev/mapper/control: %s", strerror(errno));
	request.dm.version[0] = DM_VERSION_MAJOR;
	request.dm.data_size = sizeof(request);
	request.dm.data_start = sizeof(request.dm);
	snprintf(request.dm.name, sizeof(request.dm.name), "%s", name);
	if (ioctl(fd, command, &request))
		die("%s: %s", what, strerror(errno));
	found = minor(request.dm.dev);
	memset(&request, 0, sizeof(request));
	return found;
}

static void make(const char *name, const char *table)
{
	struct dm_target_spec *target = (void *)(request.bytes + sizeof(request.dm));
	unsigned long long start, length;
	char type[DM_MAX_TYPE_NAME];
	unsigned int number;
	int at = 0;

	if (sscanf(table, "%llu %llu %15s %n", &start, &length, type, &at) != 3 || !at)
		misuse("a table, suspend or resume");
	number = control(DM_DEV_CREATE, "cannot create the disk", name);
	target->sector_start = start;
	target->length = length;
	memcpy(target->target_type, type, sizeof(type));
	snprintf((char *)(target + 1), 1024, "%s", table + at);
	request.dm.target_count = 1;
	control(DM_TABLE_LOAD, "cannot load its table", name);
	control(DM_DEV_SUSPEND, "cannot start it", name);
	printf("/dev/dm-%u\n", number);
}

int main(int argc, char **argv)
{
	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("2 arguments");
	if (!strcmp(argv[2], "suspend") || !strcmp(argv[2], "resume")) {
		/* One command does both. */
		request.dm.flags = argv[2][0] == 's' ? DM_SUSPEND_FLAG : 0;
		control(DM_DEV_SUSPEND, argv[2], argv[1]);
	} else {
		make(argv[1], argv[2]);
	}
	return 0;
}
