/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* audit trace: the audit record of what a trace is attached to. */
#ifndef AUDIT_TRACE_H
#define AUDIT_TRACE_H

struct plumb_session;
struct plumb_snapshot;

/* Returns 0, or -errno after a message. */
int plumb_audit_trace(const struct plumb_session *s);

/* For the record of the end. */
void plumb_audit_total(const struct plumb_snapshot *total);

#endif
