/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* types: the kernel's BTF, some 6 MB when parsed; parsing needs as much again. */
#pragma once

#include <linux/types.h>

struct btf;

/*
 * /sys/kernel/btf/vmlinux, which never changes: parsed at the first call and shared until the last
 * reference is put.  Returns NULL and sets errno on failure.
 */
struct btf *plumb_kernel_btf_get(void);
/* Puts a reference; BTF of another source is freed, NULL is ignored. */
void plumb_kernel_btf_put(struct btf *btf);

struct btf_type;

/*
 * The name that the kernel has for what the tools call NAME, a function or a raw tracepoint: this
 * one or another of renamed.h; NULL: it has neither.
 */
const char *plumb_btf_function(const struct btf *btf, const char *name);
const char *plumb_btf_tracepoint(const struct btf *btf, const char *name);

/*
 * The prototype of the raw tracepoint NAME, a BTF_KIND_FUNC_PROTO; NULL: there is none.  Its first
 * parameter is the tracer's.
 */
const struct btf_type *plumb_tracepoint_prototype(const struct btf *btf, const char *name);

/*
 * The id of the prototype of the raw tracepoint that the type ID declares, and its *NAME; 0: it
 * declares none.
 */
__u32 plumb_btf_declared_tracepoint(const struct btf *btf, __u32 id, const char **name);

/* Reads the file of --btf, raw BTF or an ELF file with BTF; NULL after a message. */
struct btf *plumb_types_read(const char *file);

/* The types in FILE or, if that is NULL, a reference to the kernel's; NULL after a message. */
struct btf *plumb_types_get(const char *file);

/* Prefix of the paths below /proc and /sys: "", or a test's directory. */
extern const char *plumb_functions_root;
