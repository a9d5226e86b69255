/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* probe-userfuncs: programs on user functions and USDT probes. */
#pragma once

#include <plumb/functions/probe.h>
#include <plumb/user/userfuncs.h>

/*
 * As plumb_probe_tracepoints().  FILE: the file's index, with which programs get the number
 * (PLUMB_TARGET_IN_FILE()).
 */
int plumb_probe_userfuncs(struct plumb_probes *probes, const struct bpf_object *object,
			  const struct plumb_attach_target *target, const struct plumb_userfuncs *u,
			  size_t first, size_t file, char *what, size_t size);

/* "u:/bin/bash:readline"; returns TEXT. */
const char *plumb_userfunc_name(const struct plumb_userfuncs *u, size_t i, char *text, size_t size);
