/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * allowed: whether the policy (policy.h) allows targets, by the names that probe-list prints.  Each
 * is asked before anything is attached to any of them.
 *
 * The functions return 0, -PLUMB_FORBIDDEN with the name of the forbidden target in WHAT, or
 * another -errno with the path of a file whose names cannot be read.  Those of kernel functions and
 * tracepoints are in functions/allowed-functions.h, of files in user/allowed-files.h.
 */
#pragma once

#include <stddef.h>

struct bpf_program;

int plumb_allowed(const char *name, char *what, size_t size);
/* Of a kind that has one name: "sample:cpu-clock", "event:page-faults", "k:aio_complete". */
int plumb_allowed_name(const char *kind, const char *name, char *what, size_t size);

/* The name of the target in the program's section, in TEXT; "": there is none. */
const char *plumb_section_name(const struct bpf_program *p, char *text, size_t size);
int plumb_allowed_section(const struct bpf_program *p, char *what, size_t size);
