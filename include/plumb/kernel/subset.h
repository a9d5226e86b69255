/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * subset: those of the kernel's types that an object has relocations for.  libbpf compares each
 * type that a relocation names with all 150,000 of the kernel, for which it has a copy of them in
 * memory; it is given these instead, some hundreds.
 */
#pragma once

struct bpf_object;

/*
 * The path of a file in memory that has them, for bpf_object_open_opts.btf_custom_path; NULL: it
 * cannot be made, and libbpf reads the types itself.  It is filled before an object is loaded.
 */
const char *plumb_subset_path(void);

/*
 * Writes the types that OBJECT names to that file, with all that they contain, of the kernel and,
 * where it has none of the name, of its modules: 0 or -errno.  Structs that they only point to are
 * left out: a relocation names each struct whose members it is for.  An object that calls functions
 * of the kernel gets all of the kernel's types: it may pass their numbers (bpf_rdonly_cast()).
 */
int plumb_subset_fill(const struct bpf_object *object);
