/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* filter: which processes and threads are traced, against the running system. */
#ifndef PLUMB_FILTER_H
#define PLUMB_FILTER_H

#include <plumb/session/session.h>
#include <stdbool.h>

/* 0, or -errno after saying what is wrong with the options. */
int plumb_filter_resolve(struct plumb_session *s);
/* Does --comm name COMM, and the tool itself? */
bool plumb_filter_takes_name(const struct plumb_options *o, const char comm[PLUMB_COMM_LEN]);
bool plumb_filter_takes_own_name(const struct plumb_options *o);
/* Writes the filters into the configuration of a BPF object that is not loaded yet. */
void plumb_filter_configure(const struct plumb_session *s, struct plumb_config *config);
/* And into its maps, once it is. */
int plumb_filter_fill(const struct plumb_session *s, struct bpf_object *object);

#endif
