/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * audit watcher: a process that outlives the tool for a moment, if the tool is killed, and that
 * ends the tool if a policy limits its duration and it does not end itself.
 *
 * It is a child of the tool in a session of its own, in which no signal but SIGKILL reaches it,
 * and has no descriptor, capability and system call but those that it needs.  It sleeps until the
 * tool ends.  The tool ends if the watcher is killed: SIGTERM is sent to it then, and a trace that
 * has begun goes by plumb_watcher_has_died().
 */
#ifndef AUDIT_WATCHER_H
#define AUDIT_WATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
/* The trace begins: from now on the limit counts. */
void plumb_watcher_begin_limit(void);
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
/* Its pid; 0: there is none. */
pid_t plumb_watcher_pid(void);

#endif
