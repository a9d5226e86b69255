/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * audit: a record of each run, for --audit and where the policy (policy.h) demands one.
 *
 * A record is a JSON object in one line: "begin" before anything is loaded, "attach" when all is
 * attached, "end".  The last one is also written if the tool is killed.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Begins the run of TOOL.  SINK: of --audit; NULL: none.  Ends the process if it may not run. */
void plumb_audit_begin(const char *tool, const char *sink);

/* Whether there are records; without them the following functions do nothing. */
bool plumb_audit_is_on(void);
/* Whether this file has the records. */
bool plumb_audit_has_file(const struct stat *st);

/*
 * Writes the record "attach" with the members of WHAT, which it takes and which may be NULL.
 * Returns 0, or -errno after a message: then the trace must not go on.
 */
int plumb_audit_attached(json_t *what);
/* The trace begins: max-duration counts from then on, until the trace has ended. */
void plumb_audit_begin_limit(void);
int plumb_audit_end_limit(void);
/* From when on programs record nothing, by CLOCK_BOOTTIME, ns; 0: no limit. */
uint64_t plumb_audit_deadline(void);
/*
 * Whether what was traced may be reported: 0, or -ETIME after a message, if max-duration has been
 * over for more than two seconds, since the tool was stopped, or if what watches over it was
 * killed.  The end of the limit asks again.
 */
int plumb_audit_check(void);
/* All is detached; the first call counts. */
void plumb_audit_detached(void);

/* How the run ended, for the last record; the first call counts. */
void plumb_audit_ended(const char *how);
/* The same by a signal: NUMBER, and CODE as si_code, which tells whether the limit sent it. */
void plumb_audit_ended_by(int number, int code);
void plumb_audit_counted(uint64_t events, uint64_t lost, bool lost_is_known);

/* Whether CAP_AUDIT_WRITE is needed until the end. */
bool plumb_audit_needs_capability(void);
/* A child of the tool that is none of the traced processes; 0: there is none. */
pid_t plumb_audit_watcher(void);
