/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind: gives BPF programs the tables by which they follow user stacks (bpf/stack/unwind.h), of
 * the files that traced processes have mapped.  For tools whose programs take user stacks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct plumb_bpf;
struct plumb_run;

/*
 * Before BPF is loaded: lists the processes that the filters of RUN accept, once, for at most 3 s,
 * and sets the sizes of the maps.  CALIBRATION: no tables, for an instance that is only measured.
 */
void plumb_unwind_configure(const struct plumb_run *run, const struct plumb_bpf *bpf,
			    bool calibration);
/* When it is loaded: 0 or -errno. */
int plumb_unwind_fill(const struct plumb_bpf *bpf);

/*
 * A stack of process PID was taken, which may have mapped a file since it was last looked at.  It
 * is looked at by the second, which returns after how many ns it is to be called again: 1, if it
 * has taken its time; 0: nothing is due.
 */
void plumb_unwind_note(pid_t pid);
/* The same of all that have areas and, as HAS_CHANGED says, have mapped code since. */
void plumb_unwind_renew(bool (*has_changed)(pid_t pid));
uint64_t plumb_unwind_due(void);

/* For some files there was no room. */
bool plumb_unwind_is_full(void);
