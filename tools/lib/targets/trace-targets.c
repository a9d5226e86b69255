/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* trace targets of a tool: parsed, formatted, and reported if they never fired. */
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/reasons.h>
#include <plumb/core/snapshot.h>
#include <plumb/functions/allowed-functions.h>
#include <plumb/targets/trace-targets.h>
#include <plumb/user/allowed-files.h>

struct plumb_trace_targets plumb_trace_targets;

bool plumb_trace_targets_add(const char *text, bool number)
{
	const char *flaw = plumb_target_flaw(text);

	if (number)
		return false;
	if (flaw)
		plumb_usage_error("%s: %s", flaw, text);
	if (plumb_trace_targets.n_patterns == PLUMB_MAX_LIST)
		plumb_usage_error("at most %d targets or globs", PLUMB_MAX_LIST);
	plumb_trace_targets.patterns[plumb_trace_targets.n_patterns++] = text;
	return true;
}

bool plumb_trace_targets_ask_for(enum plumb_target_kind kind)
{
	for (size_t i = 0; i < plumb_trace_targets.n_patterns; i++)
		if (plumb_target_kind(plumb_trace_targets.patterns[i]) == kind)
			return true;
	return false;
}

int plumb_trace_targets_find_users(const struct plumb_options *o,
				   const struct plumb_builds_use *use)
{
	static struct plumb_user_pattern patterns[PLUMB_MAX_LIST];
	size_t n = 0;

	for (size_t i = 0; i < plumb_trace_targets.n_patterns; i++)
		if (plumb_target_kind(plumb_trace_targets.patterns[i]) == PLUMB_TARGET_USER)
			plumb_user_pattern_parse(plumb_trace_targets.patterns[i], &patterns[n++]);
	return plumb_builds_open(&plumb_trace_targets.targets, patterns, n, use, o);
}

static int allowed(const struct plumb_targets *t, char *what, size_t size)
{
	int err = plumb_allowed_functions(&t->functions, what, size);

	if (!err)
		err = plumb_allowed_tracepoints(&t->tracepoints, what, size);
	for (size_t i = 0; i < t->n_files && !err; i++)
		err = plumb_allowed_userfuncs(&t->files[i], what, size);
	return err;
}

int plumb_trace_targets_check_allowed(void)
{
	char what[512];
	int err = allowed(&plumb_trace_targets.targets, what, sizeof(what));

	return err ? plumb_error(err, "%s: %s%s", what, plumb_errno_name(err),
				 plumb_errno_hint(err))
		   : 0;
}

static size_t target_of(const void *key)
{
	uint32_t target;

	memcpy(&target, (const char *)key + plumb_trace_targets.target_at, sizeof(target));
	return target;
}

size_t plumb_trace_targets_index(const struct plumb_row *row)
{
	return target_of(row->key);
}

static void format_target(const void *key, char *text, size_t size)
{
	plumb_targets_name(&plumb_trace_targets.targets, target_of(key), false, text, size);
}

static json_t *json_target(const void *key)
{
	char text[4096];

	plumb_targets_name(&plumb_trace_targets.targets, target_of(key), true, text, sizeof(text));
	return json_string(text);
}

const struct plumb_field plumb_trace_targets_field = {"func", PLUMB_BY_TARGET,
						      .format = format_target, .json = json_target};

/* Sets FIRED of each target that fired; returns how many did not, 0 if that is not known. */
static size_t find_silent(const struct plumb_snapshot *total, bool *fired)
{
	size_t silent = plumb_trace_targets.targets.n, target;

	for (size_t i = 0; i < total->n; i++) {
		if (!total->rows[i].slot) /* [other]: it may be any */
			return 0;
		target = plumb_trace_targets_index(&total->rows[i]);
		if (!total->rows[i].count || fired[target])
			continue;
		fired[target] = true;
		silent--;
	}
	return silent;
}

static void tell_silent(size_t silent, size_t refused, const bool *fired, double seconds)
{
	const struct plumb_targets *t = &plumb_trace_targets.targets;
	char name[256];

	silent -= refused < silent ? refused : silent;
	if (silent && (silent > PLUMB_FEW || refused)) {
		plumb_warn("%zu of %zu targets: 0 calls in %.3g s", silent, t->n, seconds);
		return;
	}
	for (size_t i = 0; i < t->n && silent; i++)
		if (!fired[i])
			plumb_warn("%s: 0 calls in %.3g s",
				   plumb_targets_name(t, i, false, name, sizeof(name)), seconds);
}

void plumb_trace_targets_finish(const struct plumb_run *run, const struct plumb_snapshot *total,
				uint64_t elapsed)
{
	const struct plumb_probes *probes = &run->instance.probes;
	size_t n = plumb_trace_targets.targets.n;
	const int err = plumb_probe_common_refusal(probes);
	bool *fired = calloc(n, sizeof(*fired));

	if (probes->refused)
		plumb_warn("%zu of %zu targets could not be attached%s%s%s (-v lists them)",
			   probes->refused, n, err ? ": " : "", err ? plumb_errno_name(err) : "",
			   err ? plumb_errno_hint(err) : "");
	if (fired)
		tell_silent(find_silent(total, fired), probes->refused, fired, elapsed / 1e9);
	free(fired);
}
