/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* directory: a directory for the tests of a program, which leave at most file, link and pipe. */
#pragma once

#include "unit.h"
#include <unistd.h>

static char directory[64];

static int enter(void **state)
{
	strcpy(directory, "/tmp/plumb-unit.XXXXXX");
	return mkdtemp(directory) && !chdir(directory) ? 0 : -1;
}

static int leave(void **state)
{
	unlink("file");
	unlink("link");
	unlink("pipe");
	return chdir("/") || rmdir(directory); /* nothing else has been left there */
}
