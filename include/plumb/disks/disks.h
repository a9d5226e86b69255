/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* disks: who had I/O on the disks that traced threads waited for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_report;

/*
 * What is not traced and had most bytes of the disk DEV in the time of a report, and how many:
 * "nightly/17275: 320M". False: there is none.
 */
bool plumb_disks_neighbour(const struct plumb_report *r, uint32_t dev, char *text, size_t size);

/* Whether cgroups of this machine have limits of I/O, as of the start. */
bool plumb_disks_have_limits(void);
