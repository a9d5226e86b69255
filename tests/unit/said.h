/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* said: what a function says on stderr. */
#pragma once

#include "unit.h"
#include <sys/mman.h>
#include <unistd.h>

static int listening = -1, real_stderr = -1;

static inline void listen_to_stderr(void)
{
	listening = memfd_create("stderr", 0);
	real_stderr = dup(STDERR_FILENO);
	assert_true(dup2(listening, STDERR_FILENO) >= 0);
}

/* All since listen_to_stderr(), which ends here. */
static inline const char *said(void)
{
	static char text[1 << 14];
	ssize_t n;

	dup2(real_stderr, STDERR_FILENO);
	n = pread(listening, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	close(listening);
	close(real_stderr);
	return text;
}
