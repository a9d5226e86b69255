/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/cli.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/privileges.h>
#include <plumb/files/folder.h>
#include <plumb/guard/audit.h>
#include <plumb/guard/policy.h>

#include "audit-parts.h"

#define SEC_NS   1000000000ULL
#define SLACK    (2 * SEC_NS)  /* beyond max-duration, until the tool notices */
#define PATIENCE (10 * SEC_NS) /* the same, until all is found that only a trace has */

static struct {
	pid_t owner;
	struct plumb_sink sinks[2]; /* the policy's, and that of --audit */
	size_t n_sinks;
	json_t *who;
	char tag[64];
	const char *how; /* it ended; NULL: not known */
	int signal;      /* by which it ended; 0: none */
	bool is_counted, lost_is_known;
	bool has_attached, is_void; /* VOID: nothing may be reported */
	uint64_t events, lost;
	struct timespec detached; /* 0: it is not */
} audit;

/* --- records --- */

static int write_to(struct plumb_sink *sink, const json_t *record)
{
	char *line = plumb_audit_fit(record, sink);
	int err = line ? plumb_sink_write(sink, line, strlen(line), audit.tag)
		       : plumb_error(ENOMEM, "no memory for the audit record");

	free(line);
	return err;
}

static json_t *time_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return plumb_json_time(&t);
}

/* Takes MORE. */
static json_t *record_of(const char *event, json_t *more)
{
	json_t *record = json_pack("{s:s, s:s, s:o}", "schema", "plumb-audit/1", "event", event,
				   "time", time_now());

	json_object_update(record, audit.who);
	if (more)
		json_object_update(record, more);
	json_decref(more);
	return record;
}

/* Writes it to all sinks, even if one of them fails.  Takes MORE. */
static int write_record(const char *event, json_t *more)
{
	json_t *record = record_of(event, more);
	int err = 0, one;

	for (size_t i = 0; i < audit.n_sinks; i++) {
		one = write_to(&audit.sinks[i], record);
		err = err ?: one;
	}
	json_decref(record);
	return err;
}

static json_t *number_or_null(uint64_t value, bool is_known)
{
	return is_known ? plumb_json_u64(value) : json_null();
}

/* STATUS: the exit status, -1: none. */
static json_t *end_of(const char *how, int signal_number, int status)
{
	const bool is_detached = audit.detached.tv_sec;
	const char *name = signal_number ? sigabbrev_np(signal_number) : NULL;
	json_t *end = json_object();

	json_object_set_new(end, "ended", json_string(how));
	json_object_set_new(end, "signal", name ? json_sprintf("SIG%s", name) : json_null());
	json_object_set_new(end, "status", status < 0 ? json_null() : json_integer(status));
	json_object_set_new(end, "detached",
			    is_detached ? plumb_json_time(&audit.detached) : json_null());
	json_object_set_new(end, "events", number_or_null(audit.events, audit.is_counted));
	json_object_set_new(end, "lost",
			    number_or_null(audit.lost, audit.is_counted && audit.lost_is_known));
	return end;
}

/* In the watcher: the tool was killed, or crashed. */
static void end_for_it(bool at_limit, int signal_number)
{
	const char *how = at_limit ? "max-duration" : signal_number ? "signal" : "killed";

	if (audit.n_sinks)
		write_record("end", end_of(how, at_limit ? 0 : signal_number, -1));
}

static const char *how_it_ended(int status)
{
	if (audit.how)
		return audit.how;
	if (plumb_watcher_is_over())
		return "max-duration";
	/* By the kernel, or by the policy. */
	if (status == PLUMB_EXIT_UNSUPPORTED ||
	    (status == PLUMB_EXIT_FAILED && !audit.has_attached && *plumb_policy_reason()))
		return "refused";
	return status ? "error" : "exit";
}

static void end_run(int status, void *unused)
{
	int err;

	if (getpid() != audit.owner)
		return;
	plumb_audit_detached();
	/* Also of tools that do not ask. */
	if (plumb_audit_check())
		status = PLUMB_EXIT_FAILED;
	err = audit.n_sinks
		      ? write_record("end", end_of(how_it_ended(status), audit.signal, status))
		      : 0;
	plumb_watcher_dismiss();
	if ((!err || status) && !audit.is_void)
		return;
	fflush(NULL);
	_exit(PLUMB_EXIT_FAILED);
}

/* --- the run --- */

bool plumb_audit_has_file(const struct stat *st)
{
	for (size_t i = 0; i < audit.n_sinks; i++)
		if (audit.sinks[i].inode && audit.sinks[i].inode == st->st_ino &&
		    audit.sinks[i].device == st->st_dev)
			return true;
	return false;
}

static int add_sink(const char *name, bool is_demanded)
{
	struct plumb_sink *new = &audit.sinks[audit.n_sinks];
	struct stat st;
	int err;

	for (size_t i = 0; name && i < audit.n_sinks; i++)
		if (!strcmp(audit.sinks[i].name, name))
			return 0;
	err = name ? plumb_sink_open(new, name, is_demanded) : -ENOENT;
	if (!name || err)
		return name ? err : 0;
	/* Another name of the policy's file. */
	if (new->inode && !fstat(new->fd, &st) && plumb_audit_has_file(&st))
		close(new->fd);
	else
		audit.n_sinks++;
	return 0;
}

static int open_sinks(const char *sink)
{
	return add_sink(plumb_policy_sink(), true) ?: add_sink(sink, false);
}

static bool has_sink(enum plumb_sink_kind kind)
{
	for (size_t i = 0; i < audit.n_sinks; i++)
		if (audit.sinks[i].kind == kind)
			return true;
	return false;
}

/* A daemon of syslog that is started again is connected to again. */
static unsigned int calls_of_sinks(void)
{
	return has_sink(PLUMB_SINK_SYSLOG) ? PLUMB_CALLS_CONNECT : 0;
}

static int start_watcher(void)
{
	int keep[sizeof(audit.sinks) / sizeof(audit.sinks[0])], err;
	const struct plumb_watch watch = {
		.limit = plumb_policy_max_duration(),
		.ended = end_for_it,
		.keep = keep,
		.n_keep = audit.n_sinks,
		.capabilities = plumb_audit_needs_capability() ? PLUMB_CAP(AUDIT_WRITE) : 0,
		.calls = calls_of_sinks(),
	};

	if (!audit.n_sinks && !watch.limit)
		return 0;
	for (size_t i = 0; i < audit.n_sinks; i++)
		keep[i] = audit.sinks[i].fd;
	err = plumb_watcher_start(&watch);
	return err ? plumb_error(err, "cannot start the process that watches over this one: %s",
				 strerror(-err))
		   : 0;
}

/* Only sinks that have this record get that of the end. */
static int write_begin(void)
{
	json_t *record = record_of("begin", NULL);
	int err = 0;

	for (size_t i = 0; i < audit.n_sinks && !err; i++) {
		err = write_to(&audit.sinks[i], record);
		if (err)
			audit.n_sinks = i;
	}
	json_decref(record);
	return err;
}

void plumb_audit_begin(const char *tool, const char *sink)
{
	if (plumb_policy_read() || open_sinks(sink))
		exit(PLUMB_EXIT_FAILED);
	plumb_files_spare(plumb_audit_has_file);
	audit.owner = getpid();
	if (audit.n_sinks || plumb_policy_max_duration())
		on_exit(end_run, NULL);
	if (audit.n_sinks) {
		audit.who = plumb_audit_who(tool);
		snprintf(audit.tag, sizeof(audit.tag), "%s[%d]", tool, audit.owner);
		if (write_begin())
			exit(PLUMB_EXIT_FAILED);
	}
	if (plumb_policy_forbids_tool(tool)) {
		audit.how = "refused";
		exit(PLUMB_EXIT_FAILED);
	}
	if (start_watcher())
		exit(PLUMB_EXIT_FAILED);
	if (plumb_audit_needs_capability())
		plumb_retain(PLUMB_CAP(AUDIT_WRITE), 0, "the last audit record");
	if (calls_of_sinks())
		plumb_retain(0, calls_of_sinks(), "the last audit record");
}

bool plumb_audit_is_on(void)
{
	return audit.n_sinks;
}

int plumb_audit_attached(json_t *what)
{
	int err;

	if (!audit.n_sinks) {
		json_decref(what);
		return 0;
	}
	err = write_record("attach", what);
	audit.has_attached = true;
	if (err)
		plumb_audit_ended("error");
	return err;
}

/* What is void stays so. */
static int check(uint64_t slack)
{
	const char *how = NULL;

	if (audit.is_void)
		return -ETIME;
	if (plumb_watcher_has_died()) {
		how = "watcher killed";
		plumb_warn(PLUMB_WATCHER_DIED);
	} else if (plumb_watcher_late() > slack) {
		how = "max-duration";
		plumb_warn("the trace went on after max-duration of " PLUMB_POLICY_FILE
			   ": nothing is reported");
	}
	if (!how)
		return 0;
	audit.how = how;
	audit.signal = 0;
	audit.is_void = true;
	return -ETIME;
}

int plumb_audit_check(void)
{
	return check(SLACK);
}

int plumb_audit_end_limit(void)
{
	int err = check(PATIENCE);

	plumb_watcher_end_limit();
	return err;
}

uint64_t plumb_audit_deadline(void)
{
	const uint64_t limit = plumb_watcher_deadline();

	return limit ? limit + PATIENCE : 0;
}

void plumb_audit_detached(void)
{
	if (audit.has_attached && !audit.detached.tv_sec)
		clock_gettime(CLOCK_REALTIME, &audit.detached);
}

void plumb_audit_ended(const char *how)
{
	audit.how = audit.how ?: how;
}

void plumb_audit_ended_by(int number, int code)
{
	if (audit.how)
		return;
	if (plumb_watcher_has_died())
		return;
	audit.how = code == SI_TIMER ? "max-duration" : "signal";
	audit.signal = code == SI_TIMER ? 0 : number;
}

void plumb_audit_counted(uint64_t events, uint64_t lost, bool lost_is_known)
{
	audit.lost_is_known = lost_is_known;
	audit.events = events;
	audit.lost = lost;
	audit.is_counted = true;
}

bool plumb_audit_needs_capability(void)
{
	return has_sink(PLUMB_SINK_AUDIT);
}
