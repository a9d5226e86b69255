/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/user/hook-try.h>

static struct check *find(const struct plan *p, const char *text)
{
	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->checks[i].target.text, text))
			return (struct check *)&p->checks[i];
	return NULL;
}

static struct check *add(struct plan *p, const char *text)
{
	struct check *c = find(p, text);
	const char *flaw;

	if (c)
		return c;
	if (p->n == MAX_CHECKS)
		plumb_usage_error("at most %d targets", MAX_CHECKS);
	c = &p->checks[p->n];
	if (target_parse(text, &c->target, &flaw))
		plumb_usage_error("%s: %s", text, flaw ?: "no memory");
	p->n++;
	return c;
}

void plan_add_target(struct plan *p, const char *text)
{
	add(p, text)->asked = true;
}

/* Call EACH with each word of TARGETS but "*"; stop at the first false, and return it. */
static bool each_target(const char *targets, bool (*each)(void *context, const char *text),
			void *context)
{
	char *copy = strdup(targets), *rest = copy, *word;
	bool good = copy;

	while (good && (word = strsep(&rest, " ")))
		if (*word && strcmp(word, "*"))
			good = each(context, word);
	free(copy);
	return good;
}

static bool add_one(void *context, const char *text)
{
	add(context, text);
	return true;
}

void plan_add_tool(struct plan *p, const char *name)
{
	char known[512];

	if (!tool_is_known(name)) {
		tools_list(known, sizeof(known));
		plumb_usage_error("--tool: no tracing tool is named %s; known: %s", name, known);
	}
	for (size_t i = 0; i < p->n_tools; i++)
		if (!strcmp(p->tools[i], name))
			return;
	if (p->n_tools == MAX_TOOLS)
		plumb_usage_error("--tool: at most %d: %s", MAX_TOOLS, name);
	p->tools[p->n_tools++] = name;
	for (size_t i = 0; i < n_tool_lines; i++)
		if (!strcmp(tool_lines[i].tool, name))
			each_target(tool_lines[i].targets, add_one, p);
}

void plan_add_all_tools(struct plan *p)
{
	for (size_t i = 0; i < n_tool_lines; i++)
		each_target(tool_lines[i].targets, add_one, p);
}

bool tool_line_is_open(const struct tool_line *line)
{
	return strchr(line->targets, '*');
}

bool tool_line_is_for_all(const struct tool_line *line)
{
	return !strcmp(line->mechanisms, "all");
}

static bool passes(void *context, const char *text)
{
	const struct check *c = find(context, text);

	return c && !verdict_fails(c->verdict);
}

/* Return whether the target passes, or might: it is unknown. */
static bool may_pass(void *context, const char *text)
{
	const struct check *c = find(context, text);

	return c && (c->verdict == VERDICT_UNKNOWN || !verdict_fails(c->verdict));
}

bool plan_targets_hold(const struct plan *p, const struct tool_line *line)
{
	return each_target(line->targets, passes, (void *)p);
}

/* Return whether the mechanism, a name of LENGTH bytes, is refused. */
static bool refusals_have(const struct refusals *r, const char *mechanism, size_t length)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strncmp(r->list[i].mechanism, mechanism, length) &&
		    !r->list[i].mechanism[length])
			return true;
	return false;
}

const char *plan_mechanisms(const struct plan *p, const struct tool_line *line, bool refused,
			    char *text, size_t size)
{
	size_t n = 0, length;

	*text = 0;
	for (const char *mechanism = line->mechanisms; *mechanism;
	     mechanism += strspn(mechanism, ", ")) {
		length = strcspn(mechanism, ",");
		if (refusals_have(&p->refused, mechanism, length) == refused && n < size)
			n += snprintf(text + n, size - n, "%s%.*s", n ? ", " : "", (int)length,
				      mechanism);
		mechanism += length;
	}
	return text;
}

static bool line_holds(const struct plan *p, const struct tool_line *line,
		       bool (*each)(void *context, const char *text))
{
	char mechanisms[256];

	return *plan_mechanisms(p, line, false, mechanisms, sizeof(mechanisms)) &&
	       each_target(line->targets, each, (void *)p);
}

bool plan_line_holds(const struct plan *p, const struct tool_line *line)
{
	return line_holds(p, line, passes);
}

bool plan_line_is_unknown(const struct plan *p, const struct tool_line *line)
{
	return !line_holds(p, line, passes) && line_holds(p, line, may_pass);
}

static bool tool_holds(const struct plan *p, const char *tool,
		       bool (*each)(void *context, const char *text))
{
	size_t mechanisms = 0, hold = 0;

	for (size_t i = 0; i < n_tool_lines; i++) {
		const struct tool_line *line = &tool_lines[i];
		bool holds;

		if (strcmp(line->tool, tool))
			continue;
		holds = line_holds(p, line, each);
		if (tool_line_is_for_all(line) && !holds)
			return false;
		if (tool_line_is_for_all(line) || tool_line_is_open(line))
			continue;
		mechanisms++;
		hold += holds;
	}
	return hold || !mechanisms;
}

bool plan_tool_holds(const struct plan *p, const char *tool)
{
	return tool_holds(p, tool, passes);
}

bool plan_tool_is_unknown(const struct plan *p, const char *tool)
{
	return !tool_holds(p, tool, passes) && tool_holds(p, tool, may_pass);
}

/* --- hooks that are refused --- */

#define FUNCTIONS (1U << TARGET_FUNCTION)
#define RAW       (1U << TARGET_RAW_TRACEPOINT)
#define EVENTS    (1U << TARGET_TRACEPOINT | 1U << TARGET_SYSCALL)
#define PROGRAMS  (1U << TARGET_USER | 1U << TARGET_USDT)

/* Hooks, and the kinds of targets whose verdicts name them; 0: only tools' mechanisms use it. */
static const struct {
	enum plumb_hook hook;
	unsigned int kinds;
} hooks[] = {
	{PLUMB_FSESSION, 0},        {PLUMB_FENTRY, FUNCTIONS}, {PLUMB_KPROBE_SESSION, 0},
	{PLUMB_KPROBE_MULTI, 0},    {PLUMB_KPROBE, FUNCTIONS}, {PLUMB_RAW_TRACEPOINT, EVENTS | RAW},
	{PLUMB_TRACEPOINT, EVENTS}, {PLUMB_UPROBE, PROGRAMS},
};
_Static_assert(sizeof(hooks) / sizeof(hooks[0]) ==
		       sizeof(((struct refusals *)NULL)->list) / sizeof(struct refusal),
	       "each may be refused");

void refusals_find(struct refusals *r, unsigned int kinds, bool all)
{
	*r = (struct refusals){.tried = true};
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		struct refusal *one = &r->list[r->n];

		if (!all && !(hooks[i].kinds & kinds))
			continue;
		one->mechanism = plumb_hook_name(hooks[i].hook);
		one->kinds = hooks[i].kinds;
		r->n += plumb_hook_try(hooks[i].hook, one->why, sizeof(one->why)) != 0;
	}
}

bool refusals_have_all(const struct refusals *r, enum target_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		n += hooks[i].kinds >> kind & 1;
	for (size_t i = 0; i < r->n; i++)
		n -= r->list[i].kinds >> kind & 1;
	return !n;
}

void plan_free(struct plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		target_free(&p->checks[i].target);
	p->n = 0;
}
