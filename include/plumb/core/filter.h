/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* filter: checks the filters of the options on the running system, and applies them. */
#pragma once

#include <stdbool.h>
#include <plumb/core/run.h>

/* Opens the processes and cgroups of the options.  Returns 0, or -errno after a message. */
int plumb_filter_resolve(struct plumb_run *run);
/* Notes which threads of the options have exited; returns whether there were some and all have. */
bool plumb_filter_threads_are_over(struct plumb_run *run);
/* Return whether --comm accepts the name COMM, and the name of this process. */
bool plumb_filter_takes_name(const struct plumb_options *o, const char comm[PLUMB_COMM_LEN]);
bool plumb_filter_takes_own_name(const struct plumb_options *o);
/* Writes the filters into the configuration of a BPF object that is not loaded yet. */
void plumb_filter_configure(const struct plumb_run *run, struct plumb_config *config);
/* Writes them into the maps of the loaded object; 0 or -errno. */
int plumb_filter_fill(const struct plumb_run *run, struct bpf_object *object);
