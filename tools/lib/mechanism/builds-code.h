/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PLUMB_BUILDS_CODE_H
#define PLUMB_BUILDS_CODE_H

#include <plumb/mechanism/builds.h>

/* Sets the build's id. */
void plumb_build_read_id(struct plumb_build *b);

/* A checksum of the instructions at the build's probes, as they are in its file now. */
uint64_t plumb_build_code(const struct plumb_build *b);

#endif
