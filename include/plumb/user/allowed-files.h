/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* allowed files: guard/allowed.h for functions and USDT probes of files. */
#pragma once

#include <stddef.h>
#include <plumb/user/userfuncs.h>

/*
 * By each name of what is at their places, with the path, with what that leads to, and with the
 * names that mounts give to the file.
 */
int plumb_allowed_userfuncs(const struct plumb_userfuncs *u, char *what, size_t size);
