/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* types: the kernel's own, some 6 MB when they are parsed, which takes as much again meanwhile. */
#ifndef PLUMB_TYPES_H
#define PLUMB_TYPES_H

struct btf;

/*
 * /sys/kernel/btf/vmlinux, which never changes: parsed by the first who asks, and shared by
 * all until the last has put it.  NULL and errno where it cannot be had.
 */
struct btf *plumb_kernel_btf_get(void);
/* What came from there; BTF of another source, or NULL, is just freed. */
void plumb_kernel_btf_put(struct btf *btf);

#endif
