/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* copies: those of the programs that follow I/O, where these can be preempted. */
#ifndef IO_COPIES_H
#define IO_COPIES_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_object;

/* Of the opened OBJECT, where programs are not PREEMPTIBLE: those that are not needed are not
 * loaded. */
void copies_choose(struct bpf_object *object, bool preemptible);

/* The number of events of I/O that no program has seen, at most; UINT64_MAX: not known. */
uint64_t copies_unseen(const struct bpf_object *object);

#endif
