/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plan/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A verdict fails if a probe might miss calls or read wrong arguments. */
static const struct {
	const char *word;
	bool fails;
} verdicts[] = {
	[VERDICT_UNKNOWN] = {"unknown", true},
	[VERDICT_OK] = {"ok", false},
	[VERDICT_NO_BTF] = {"no BTF", false},
	[VERDICT_DUPLICATED] = {"duplicated", false},
	[VERDICT_DIFFERENT] = {"duplicated", true},
	[VERDICT_GONE] = {"gone", true},
	[VERDICT_RENAMED] = {"renamed", true},
	[VERDICT_BLACKLISTED] = {"blacklisted", true},
	[VERDICT_NOTRACE] = {"notrace", true},
	[VERDICT_INLINED] = {"inlined", true},
	[VERDICT_PARTLY_INLINED] = {"partly inlined", true},
	[VERDICT_MAYBE_INLINED] = {"maybe inlined", true},
	[VERDICT_SILENT] = {"attached but silent", true},
	[VERDICT_REFUSED] = {"refused", true},
};

const char *verdict_word(enum verdict verdict)
{
	return verdicts[verdict].word;
}

bool verdict_fails(enum verdict verdict)
{
	return verdicts[verdict].fails;
}

void check_judge(struct check *c, enum verdict verdict, const char *format, ...)
{
	va_list args;

	c->verdict = verdict;
	va_start(args, format);
	vsnprintf(c->why, sizeof(c->why), format, args);
	va_end(args);
}

void check_add(struct check *c, const char *format, ...)
{
	size_t n = strlen(c->why);
	va_list args;

	if (n)
		n += snprintf(c->why + n, sizeof(c->why) - n, "; ");
	if (n >= sizeof(c->why))
		return;
	va_start(args, format);
	vsnprintf(c->why + n, sizeof(c->why) - n, format, args);
	va_end(args);
}

static void judge_silence(struct check *c, double seconds)
{
	/* A verdict that fails already explains it. */
	if (verdict_fails(c->verdict) && c->verdict != VERDICT_MAYBE_INLINED) {
		check_add(c, "0 fires in %.3g s", seconds);
		return;
	}
	c->verdict = VERDICT_SILENT;
	check_add(
		c, "0 fires in %.3g s: %s", seconds,
		c->has_direct
			? "the calls that are left were not made, or the frequent ones are inlined"
			: "nobody called it, or its calls are inlined");
}

void check_judge_fires(struct check *c, double seconds)
{
	if (!c->fires) {
		judge_silence(c, seconds);
		return;
	}
	check_add(c, "%llu fires in %.3g s", (unsigned long long)c->fires, seconds);
	/* Some calls are left, then, in code where they could not be counted. */
	if (c->verdict == VERDICT_INLINED)
		c->verdict = c->has_inlined ? VERDICT_PARTLY_INLINED : VERDICT_OK;
}
