/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* disk: names of block devices. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The name of the disk or partition DEV, a dev_t of the kernel (12 bits of major, 20 of minor), in
 * sysfs; its numbers if it is gone, "-" if DEV is 0.  Returns TEXT.
 */
const char *plumb_disk_name(uint32_t dev, char *text, size_t size);
