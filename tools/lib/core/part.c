/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <plumb/core/cli.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/part.h>
#include <plumb/core/program.h>
#include <plumb/core/tool.h>

/* Calls FUNCTION of each part that has it. */
#define CALL(function, ...)                                                                        \
	for (const struct plumb_part *const *part_ = plumb_parts; *part_; part_++)                 \
		if ((*part_)->function)                                                            \
	(*part_)->function(__VA_ARGS__)

/* The same until one fails; its error. */
#define TRY(function, ...)                                                                         \
	({                                                                                         \
		int err_ = 0;                                                                      \
		for (const struct plumb_part *const *part_ = plumb_parts; *part_ && !err_;         \
		     part_++)                                                                      \
			if ((*part_)->function)                                                    \
				err_ = (*part_)->function(__VA_ARGS__);                            \
		err_;                                                                              \
	})

/* A policy that cannot be looked for may be there. */
static void refuse_unguarded(void)
{
	struct stat st;

	if (!lstat(PLUMB_POLICY_FILE, &st) || errno != ENOENT) {
		plumb_warn(PLUMB_POLICY_FILE ": this tool was built without what obeys it");
		exit(PLUMB_EXIT_FAILED);
	}
}

void plumb_parts_start(const char *program)
{
	bool guarded = false;

	for (const struct plumb_part *const *p = plumb_parts; *p; p++) {
		if (!(*p)->start)
			continue;
		(*p)->start(program);
		guarded = true;
	}
	if (!guarded)
		refuse_unguarded();
}

void plumb_parts_complete(struct plumb_options *o, const struct plumb_tool *tool)
{
	CALL(complete, o, tool);
}

void plumb_parts_check(const struct plumb_options *o, const struct plumb_tool *tool)
{
	CALL(check, o, tool);
}

int plumb_parts_prepare(struct plumb_options *o, const struct plumb_tool *tool)
{
	return TRY(prepare, o, tool);
}

int plumb_parts_wait(struct plumb_run *run)
{
	return TRY(wait, run);
}

void plumb_parts_try(struct plumb_run *run)
{
	CALL(try, run);
}

void plumb_parts_configure(struct plumb_bpf *bpf)
{
	CALL(configure, bpf);
}

int plumb_parts_allow(const struct bpf_program *p, char *what, size_t size)
{
	return TRY(allow, p, what, size);
}

void plumb_parts_loaded(struct plumb_run *run)
{
	CALL(loaded, run);
}

void plumb_parts_attached(struct plumb_run *run)
{
	CALL(attached, run);
}

int plumb_parts_open(struct plumb_run *run)
{
	return TRY(open, run);
}

int plumb_parts_confine(struct plumb_run *run)
{
	return TRY(confine, run);
}

bool plumb_parts_have_program(const char *name)
{
	for (const struct plumb_part *const *p = plumb_parts; *p; p++)
		if (plumb_is_one_of((*p)->programs, name))
			return true;
	return false;
}

const struct plumb_in_flight *plumb_parts_in_flight(const struct plumb_tool *tool)
{
	for (const struct plumb_part *const *p = plumb_parts; *p && tool->inflight; p++)
		if ((*p)->in_flight)
			return (*p)->in_flight;
	return NULL;
}

void plumb_parts_begin(struct plumb_run *run)
{
	CALL(begin, run);
}

const struct plumb_part *plumb_parts_early(const struct plumb_run *run)
{
	for (const struct plumb_part *const *p = plumb_parts; *p; p++)
		if ((*p)->wants_early && (*p)->wants_early(run))
			return *p;
	return NULL;
}

uint64_t plumb_parts_end_at(uint64_t grid)
{
	uint64_t end = 0;

	for (const struct plumb_part *const *p = plumb_parts; *p; p++)
		if ((*p)->ends_at)
			end = plumb_sooner(end, (*p)->ends_at(grid));
	return end;
}

bool plumb_parts_are_over(uint64_t now, uint64_t *again)
{
	for (const struct plumb_part *const *p = plumb_parts; *p; p++)
		if ((*p)->is_over && (*p)->is_over(now, again))
			return true;
	return false;
}

int plumb_parts_may_report(void)
{
	return TRY(may_report);
}

int plumb_parts_interval(const struct plumb_report *r)
{
	return TRY(interval, r);
}

void plumb_parts_fit(struct plumb_table *t, FILE *out)
{
	CALL(fit, t, out);
}

void plumb_parts_footer(const struct plumb_report *r, FILE *out)
{
	CALL(footer, r, out);
}

void plumb_parts_add(const struct plumb_report *r, FILE *out, json_t *json)
{
	CALL(add, r, out, json);
}

bool plumb_parts_are_due(bool asked)
{
	for (const struct plumb_part *const *p = plumb_parts; *p; p++)
		if ((*p)->is_due && (*p)->is_due(asked))
			return true;
	return false;
}

int plumb_parts_progress(const struct plumb_report *r)
{
	return TRY(progress, r);
}

void plumb_parts_ended(const char *how)
{
	CALL(ends, how, 0, 0);
}

void plumb_parts_ended_by(int signal, int code)
{
	CALL(ends, NULL, signal, code);
}

int plumb_parts_end(void)
{
	return TRY(end);
}

void plumb_parts_detached(struct plumb_run *run)
{
	CALL(detached, run);
}

void plumb_parts_total(const struct plumb_snapshot *total)
{
	CALL(total, total);
}

/* All of them, whatever fails. */
int plumb_parts_close(void)
{
	int first = 0, err;

	for (const struct plumb_part *const *p = plumb_parts; *p; p++) {
		err = (*p)->close ? (*p)->close() : 0;
		first = first ?: err;
	}
	return first;
}

bool plumb_parts_are_incomplete(void)
{
	return TRY(is_incomplete);
}

void plumb_parts_finish(const struct plumb_run *run, const struct plumb_snapshot *total)
{
	CALL(finish, run, total);
}

void plumb_parts_leave(void)
{
	CALL(leave);
}
