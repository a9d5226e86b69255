/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * audit sink: where records go: the file FILE, "syslog" (authpriv, by /dev/log, which the journal
 * reads too) or "audit" (the kernel's audit, as AUDIT_USER).  It is opened once and kept, since a
 * tool may not open anything any more when its run ends.
 */
#ifndef AUDIT_SINK_H
#define AUDIT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum plumb_sink_kind { PLUMB_SINK_FILE, PLUMB_SINK_SYSLOG, PLUMB_SINK_AUDIT };

struct plumb_sink {
	enum plumb_sink_kind kind;
	const char *name;
	bool is_demanded; /* by the policy, not by --audit */
	int fd;
	uint64_t device, inode; /* of a file; 0: none */
	bool partial;           /* a file whose last line has no end */
	uint32_t sequence;
};

/* Return 0, or -errno after a message. */
int plumb_sink_open(struct plumb_sink *sink, const char *name, bool is_demanded);
/* LINE, of N bytes, has no newline.  TAG is the sender for syslog: "TOOL[PID]". */
int plumb_sink_write(struct plumb_sink *sink, const char *line, size_t n, const char *tag);
/* The length of LINE as it is written. */
size_t plumb_sink_length(const struct plumb_sink *sink, const char *line, size_t n);
/* The length up to which each reader of this sink takes a record. */
size_t plumb_sink_room(const struct plumb_sink *sink);

#endif
