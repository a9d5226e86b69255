/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* programs: those that follow I/O: which of them this kernel needs, and what they have not seen. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bpf_object;

/* Loads of the opened OBJECT those that are needed, where they can be PREEMPTIBLE; 0 or -errno. */
int programs_choose(struct bpf_object *object, bool preemptible);

/* The number of events of I/O that no program has seen, at most; UINT64_MAX: not known. */
uint64_t programs_unseen(const struct bpf_object *object);
