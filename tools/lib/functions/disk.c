/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <plumb/functions/disk.h>

const char *plumb_disk_name(uint32_t dev, char *text, size_t size)
{
	char path[64], target[512];
	const char *name;
	ssize_t n;

	if (!dev) {
		snprintf(text, size, "-");
		return text;
	}
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", dev >> 20, dev & 0xfffff);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = 0;
	name = strrchr(target, '/');
	if (name)
		snprintf(text, size, "%s", name + 1);
	else
		snprintf(text, size, "%u:%u", dev >> 20, dev & 0xfffff);
	return text;
}
