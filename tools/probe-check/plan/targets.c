/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "targets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/parse.h>

const struct tool_line tool_lines[] = {
#include "targets.inc"
};
const size_t n_tool_lines = sizeof(tool_lines) / sizeof(tool_lines[0]);

static const struct {
	const char *prefix;
	enum target_kind kind;
} kinds[] = {
	{"k:", TARGET_FUNCTION}, {"t:", TARGET_TRACEPOINT}, {"r:", TARGET_RAW_TRACEPOINT},
	{"s:", TARGET_SYSCALL},  {"u:", TARGET_USER},       {"usdt:", TARGET_USDT},
	{"", TARGET_FUNCTION},
};

/* Cut TEXT at its first colon; false if either side is empty. */
static bool cut(char *text, char **left, char **right)
{
	char *colon = strchr(text, ':');

	if (!colon || colon == text || !colon[1])
		return false;
	*colon = 0;
	*left = text;
	*right = colon + 1;
	return true;
}

/*
 * Cut off +OFFSET, decimal or as 0x1f.  C++ names that are not mangled have no digit after a '+'.
 */
static bool cut_offset(struct target *t)
{
	char *plus = strrchr(t->name, '+'), *end;

	if (!plus)
		return true;
	if (plus == t->name)
		return false;
	*plus++ = 0;
	if (strncmp(plus, "0x", 2))
		return !plumb_parse_u64(plus, 0, UINT64_MAX, &t->offset);
	errno = 0;
	t->offset = strtoull(plus + 2, &end, 16);
	return !errno && !*end && plus[2 + strspn(plus + 2, "0123456789abcdefABCDEF")] == 0 &&
	       plus[2];
}

/* Whether it begins as targets of other tools do. */
static bool is_foreign(const char *text)
{
	static const char *const prefixes[] = {
		"tracepoint:", "rawtracepoint:", "kprobe:", "kretprobe:", "kfunc:", "fentry:"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(text, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Parse REST, which follows the prefix.  Return what is wrong with it; NULL: nothing. */
static const char *take(struct target *t, char *rest)
{
	const char *colon;

	switch (t->kind) {
	case TARGET_FUNCTION:
		t->name = rest;
		colon = strchr(rest, ':');
		if (*rest && !(colon && (colon == rest || !colon[1])) && !strpbrk(rest, "*?[") &&
		    !is_foreign(rest))
			return NULL;
		return "a kernel function is FUNC or MODULE:FUNC, without wildcards; others begin "
		       "with t:, r:, s:, u: or usdt:";
	case TARGET_TRACEPOINT:
		if (cut(rest, &t->file, &t->name) && !strpbrk(rest, "*?[") &&
		    !strpbrk(t->name, ":*?["))
			return NULL;
		return "a tracepoint is t:CATEGORY:EVENT, as t:sched:sched_switch";
	case TARGET_RAW_TRACEPOINT:
		t->name = rest;
		if (*rest && !strpbrk(rest, ":*?["))
			return NULL;
		return "a raw tracepoint is r:NAME, as r:sched_switch";
	case TARGET_SYSCALL:
		t->name = rest;
		if (*rest && !strpbrk(rest, ":*?["))
			return NULL;
		return "a system call is s:NAME, as s:openat";
	case TARGET_USER:
		if (cut(rest, &t->file, &t->name) && cut_offset(t))
			return NULL;
		return "a user function is u:FILE:FUNC or u:FILE:FUNC+OFFSET, as u:libc:malloc";
	default:
		colon = strchr(rest, ':');
		if (cut(rest, &t->file, &t->name) && (colon = strchr(t->name, ':')) &&
		    colon != t->name && colon[1] && !strpbrk(t->name, "*?["))
			return NULL;
		return "a USDT probe is usdt:FILE:PROVIDER:NAME, without wildcards";
	}
}

int target_parse(const char *text, struct target *target, const char **flaw)
{
	/* The text, and after it a copy that is cut into pieces. */
	size_t size = strlen(text) + 1;
	char *both = malloc(2 * size);

	*target = (struct target){.text = both};
	*flaw = NULL;
	if (!both)
		return -ENOMEM;
	memcpy(both, text, size);
	memcpy(both + size, text, size);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = strlen(kinds[i].prefix);

		if (strncmp(text, kinds[i].prefix, n))
			continue;
		target->kind = kinds[i].kind;
		*flaw = take(target, both + size + n);
		if (!*flaw)
			return 0;
		break;
	}
	target_free(target);
	return -EINVAL;
}

void target_free(struct target *target)
{
	free(target->text);
	*target = (struct target){};
}

bool tool_is_known(const char *name)
{
	for (size_t i = 0; i < n_tool_lines; i++)
		if (!strcmp(tool_lines[i].tool, name))
			return true;
	return false;
}

void tools_list(char *text, size_t size)
{
	size_t n = 0;

	*text = 0;
	for (size_t i = 0; i < n_tool_lines && n < size; i++)
		if (!i || strcmp(tool_lines[i].tool, tool_lines[i - 1].tool))
			n += snprintf(text + n, size - n, "%s%s", i ? ", " : "",
				      tool_lines[i].tool);
}
