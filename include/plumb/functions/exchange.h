/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* exchange: programs with atomic exchanges on kernels whose BPF has none: before 5.12. */
#pragma once

struct bpf_object;

/*
 * If the kernel refuses them, makes stores of the exchanges, and of those that compare first, in
 * the opened programs of OBJECT, but not in functions that are not inlined.  The register of the
 * old value keeps the new one or, where it is compared, the expected one: such an exchange seems to
 * succeed.  Returns 0: the kernel has them; 1: it has not; or -errno.
 */
int plumb_exchanges_to_stores(struct bpf_object *object);
