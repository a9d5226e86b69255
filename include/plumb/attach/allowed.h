/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * allowed: whether the policy (base/policy.h) allows targets, by the names that probe-list prints.
 * Each is asked before anything is attached to any of them.
 *
 * The functions return 0, -PLUMB_FORBIDDEN with the name of the forbidden target in WHAT, or
 * another -errno with the path of a file whose names cannot be read.
 */
#ifndef PLUMB_ALLOWED_H
#define PLUMB_ALLOWED_H

#include <plumb/attach/targets.h>
#include <plumb/elf/userfuncs.h>
#include <plumb/kernel/functions.h>
#include <plumb/kernel/tracepoints.h>
#include <stddef.h>

struct bpf_program;

int plumb_allowed_functions(const struct plumb_functions *f, char *what, size_t size);
/* Also as r:NAME, and those of a system call as s:NAME. */
int plumb_allowed_tracepoints(const struct plumb_tracepoints *t, char *what, size_t size);
/*
 * By each name of what is at their places, with the path, with what that leads to, and with the
 * names that mounts give to the file.
 */
int plumb_allowed_userfuncs(const struct plumb_userfuncs *u, char *what, size_t size);
int plumb_allowed_targets(const struct plumb_targets *t, char *what, size_t size);
/* Of a kind that has one name: "sample:cpu-clock", "event:page-faults", "k:aio_complete". */
int plumb_allowed_name(const char *kind, const char *name, char *what, size_t size);

/* The name of the target in the program's section, in TEXT; "": there is none. */
const char *plumb_section_name(const struct bpf_program *p, char *text, size_t size);
int plumb_allowed_section(const struct bpf_program *p, char *what, size_t size);

#endif
