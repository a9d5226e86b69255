/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the audit share. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * --- audit-sink.c: where records go ---
 *
 * The file FILE, "syslog" (authpriv, by /dev/log, which the journal reads too) or "audit" (the
 * kernel's audit, as AUDIT_USER).  It is opened once and kept, since a tool may not open anything
 * any more when its run ends.
 */

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

/*
 * Returns RECORD as text, malloc'd.  If it is too long for SINK, its longest lists are cut, then
 * words, and the member "cut" is true; how long lists were is in members of their own.  NULL: no
 * memory.
 */
char *plumb_audit_fit(const json_t *record, const struct plumb_sink *sink);

/*
 * --- audit-watcher.c ---
 *
 * A process that outlives the tool for a moment, if the tool is killed, and that ends the tool if a
 * policy limits its duration and it does not end itself.
 *
 * It is a child of the tool in a session of its own, in which no signal but SIGKILL reaches it,
 * and has no descriptor, capability and system call but those that it needs.  It sleeps until the
 * tool ends.  The tool ends if the watcher is killed: SIGTERM is sent to it then, and a trace that
 * has begun goes by plumb_watcher_has_died().
 */

#define PLUMB_WATCHER_DIED                                                                         \
	"plumb-audit, which watches over this process, was killed: nothing is reported"

struct plumb_watch {
	uint64_t limit; /* ns; 0: none */
	/* Called in the watcher when the tool has ended without a farewell; AT_LIMIT: because of
	 * the limit; SIGNAL: by which it ended, 0: not known. */
	void (*ended)(bool at_limit, int signal);
	const int *keep; /* descriptors that ended() needs */
	size_t n_keep;
	uint64_t capabilities; /* PLUMB_CAP() of those that ended() needs */
	unsigned int calls;    /* the same, enum plumb_calls */
};

/*
 * Starts it, and a timer that sends SIGTERM to this process at the limit: the trace may take the
 * whole limit, its preparation another minute.  Returns 0 or -errno.
 */
int plumb_watcher_start(const struct plumb_watch *watch);
/* The trace has ended, and there is no limit any more. */
void plumb_watcher_end_limit(void);
/* The run ends as it should: the watcher ends, too. */
void plumb_watcher_dismiss(void);
/* When the limit is over, by CLOCK_BOOTTIME, ns; 0: there is none. */
uint64_t plumb_watcher_deadline(void);
/* Whether the limit is over. */
bool plumb_watcher_is_over(void);
/* For how long it has been over; ns. */
uint64_t plumb_watcher_late(void);
/* Whether it has ended, though it was not dismissed. */
bool plumb_watcher_has_died(void);

/* --- audit-who.c: who runs the tool, where, and how it was called --- */

/* The members that all records of a run have. */
json_t *plumb_audit_who(const char *tool);
