/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/report.h"

#include <stdio.h>
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/text.h>
#include <plumb/terminal/text-table.h>

/* --- tables --- */

static void print_checks(const struct plan *p)
{
	static const char *const headings[] = {"TARGET", "VERDICT", "WHY"};
	struct plumb_text_table *g = plumb_text_table_new(headings, 3);

	for (size_t i = 0; i < p->n; i++) {
		plumb_text_table_cell(g, "%s", p->checks[i].target.text);
		plumb_text_table_cell(g, "%s", verdict_word(p->checks[i].verdict));
		plumb_text_table_cell(g, "%s", p->checks[i].why);
	}
	plumb_text_table_print(g, stdout);
	plumb_text_table_free(g);
}

/*
 * List the mechanisms of a tool whose targets all pass (HOLD), or some of whose targets fail; only
 * those that the kernel refuses (REFUSED), or only the others.
 */
static void list_mechanisms(const struct plan *p, const char *tool, bool hold, bool refused,
			    char *text, size_t size)
{
	char mechanisms[256];
	size_t n = 0;

	*text = 0;
	for (size_t i = 0; i < n_tool_lines; i++) {
		const struct tool_line *line = &tool_lines[i];

		if (strcmp(line->tool, tool) || tool_line_is_open(line) ||
		    tool_line_is_for_all(line) || plan_targets_hold(p, line) != hold ||
		    !*plan_mechanisms(p, line, refused, mechanisms, sizeof(mechanisms)))
			continue;
		if (n < size)
			n += snprintf(text + n, size - n, "%s%s", n ? ", " : "", mechanisms);
	}
}

static bool is_open(const char *tool)
{
	for (size_t i = 0; i < n_tool_lines; i++)
		if (!strcmp(tool_lines[i].tool, tool) && tool_line_is_open(&tool_lines[i]))
			return true;
	return false;
}

/* Append BEFORE and WORDS to TEXT, unless WORDS is empty. */
static void add_part(char *text, size_t size, const char *before, const char *words)
{
	size_t n = strlen(text);

	if (*words)
		snprintf(text + n, size - n, "%s%s%s", n ? "; " : "", before, words);
}

static const char *describe(const struct plan *p, const char *tool, char *text, size_t size)
{
	static const struct {
		bool hold, refused;
		const char *before;
	} kinds[] = {
		{true, false, "its targets are there for "},
		{true, true, "refused here: "},
		{false, false, "not by "},
		{false, true, "not by, and refused here: "},
	};
	char mechanisms[512];

	*text = 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		list_mechanisms(p, tool, kinds[i].hold, kinds[i].refused, mechanisms,
				sizeof(mechanisms));
		add_part(text, size, i || !p->refused.tried ? kinds[i].before : "", mechanisms);
	}
	if (is_open(tool))
		add_part(text, size, "other targets are what its user names: ",
			 "check them as k:, t:, s: or u:");
	return text;
}

static void print_tools(const struct plan *p)
{
	static const char *const headings[] = {"TOOL", "VERDICT", "BY"};
	struct plumb_text_table *g = plumb_text_table_new(headings, 3);
	char text[2048];

	if (p->n_tools)
		putchar('\n');
	for (size_t i = 0; i < p->n_tools; i++) {
		plumb_text_table_cell(g, "%s", p->tools[i]);
		plumb_text_table_cell(g, "%s",
				      plan_tool_holds(p, p->tools[i])        ? "ok"
				      : plan_tool_is_unknown(p, p->tools[i]) ? "unknown"
									     : "fails");
		plumb_text_table_cell(g, "%s", describe(p, p->tools[i], text, sizeof(text)));
	}
	plumb_text_table_print(g, stdout);
	plumb_text_table_free(g);
}

static const char *const class_names[DIFFERENCE_CLASSES] = {
	[DIFFERENCE_BREAKING] = "breaking",
	[DIFFERENCE_MOVED] = "moved",
	[DIFFERENCE_ADDED] = "added",
	[DIFFERENCE_NOISE] = "noise",
};

/* Print what was compared, and why other parts were not. */
static void print_compared(const struct compared *c)
{
	static const char *const names[SNAPSHOT_PARTS] = {
		[SNAPSHOT_FUNCTIONS] = "function",
		[SNAPSHOT_PROTOTYPES] = "tracepoint prototype",
		[SNAPSHOT_RECORDS] = "tracepoint record",
		[SNAPSHOT_FORMATS] = "tracepoint format",
	};

	for (int i = 0; i < SNAPSHOT_PARTS; i++) {
		if (c->why_not[i]) {
			printf("not compared: %ss: %s\n", names[i], c->why_not[i]);
			continue;
		}
		printf("compared: %zu %s%s", c->n[i], names[i], c->n[i] == 1 ? "" : "s");
		if (i == SNAPSHOT_FUNCTIONS && c->by_name)
			printf(", %zu of them by name only", c->by_name);
		putchar('\n');
	}
}

static void print_differences(const struct findings *f)
{
	static const char *const headings[] = {"CLASS", "TARGET", "DIFFERENCE"};
	struct plumb_text_table *g = plumb_text_table_new(headings, 3);
	char was[128];

	if (f->plan->n)
		putchar('\n');
	for (int class = 0; class < DIFFERENCE_CLASSES; class ++)
		for (size_t i = 0; i < f->n_differences; i++) {
			if ((int)f->differences[i].class != class)
				continue;
			plumb_text_table_cell(g, "%s", class_names[class]);
			plumb_text_table_cell(g, "%s", f->differences[i].target);
			plumb_text_table_cell(g, "%s", f->differences[i].what);
		}
	plumb_text_table_print(g, stdout);
	plumb_text_table_free(g);
	print_compared(&f->what);
	for (int class = 0; class < DIFFERENCE_CLASSES; class ++)
		printf("%s%zu %s", class ? ", " : "", f->n_of[class], class_names[class]);
	plumb_escape_text(was, f->snapshot_kernel, sizeof(was));
	printf("\n%zu difference%s between %s and %s\n", f->n_differences,
	       f->n_differences == 1 ? "" : "s", was,
	       *f->kernel->release ? f->kernel->release : f->kernel->name);
}

void report_print(const struct findings *f)
{
	print_checks(f->plan);
	print_tools(f->plan);
	if (f->compared)
		print_differences(f);
}

/* --- JSON --- */

static json_t *ok_json(bool ok, bool unknown)
{
	return unknown ? json_null() : json_boolean(ok);
}

static json_t *check_json(const struct check *c)
{
	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "target",
			 plumb_json_text(c->target.text), "verdict", verdict_word(c->verdict), "ok",
			 ok_json(!verdict_fails(c->verdict), c->verdict == VERDICT_UNKNOWN), "why",
			 plumb_json_text(c->why), "inlined",
			 c->has_inlined ? plumb_json_u64(c->inlined) : json_null(), "calls",
			 c->has_direct ? plumb_json_u64(c->direct) : json_null(), "fires",
			 c->live ? plumb_json_u64(c->fires) : json_null());
}

static json_t *line_json(const struct plan *p, const struct tool_line *line)
{
	char refused[256];

	plan_mechanisms(p, line, true, refused, sizeof(refused));
	return json_pack("{s:s, s:s, s:o, s:s?}", "mechanisms", line->mechanisms, "targets",
			 line->targets, "ok",
			 ok_json(plan_line_holds(p, line), plan_line_is_unknown(p, line)),
			 "refused", p->refused.tried ? refused : NULL);
}

static json_t *tool_json(const struct plan *p, const char *tool)
{
	json_t *mechanisms = json_array();

	for (size_t i = 0; i < n_tool_lines; i++)
		if (!strcmp(tool_lines[i].tool, tool))
			json_array_append_new(mechanisms, line_json(p, &tool_lines[i]));
	return json_pack("{s:s, s:o, s:b, s:o}", "tool", tool, "ok",
			 ok_json(plan_tool_holds(p, tool), plan_tool_is_unknown(p, tool)),
			 "users_choice", is_open(tool), "mechanisms", mechanisms);
}

static json_t *differences_json(const struct findings *f)
{
	json_t *all = json_array();

	for (const struct difference *d = f->differences; d < f->differences + f->n_differences;
	     d++)
		json_array_append_new(all,
				      json_pack("{s:s, s:o, s:o}", "class", class_names[d->class],
						"target", plumb_json_text(d->target), "what",
						plumb_json_text(d->what)));
	return all;
}

/* "compared": numbers by kind, "not_compared": reasons by kind. */
static void add_compared(json_t *j, const struct compared *c)
{
	json_t *compared = json_object(), *not = json_object();

	for (int i = 0; i < SNAPSHOT_PARTS; i++)
		if (c->why_not[i])
			json_object_set_new(not, snapshot_part_names[i],
					    json_string(c->why_not[i]));
		else
			json_object_set_new(compared, snapshot_part_names[i],
					    plumb_json_u64(c->n[i]));
	json_object_set_new(compared, "by_name", plumb_json_u64(c->by_name));
	json_object_set_new(j, "compared", compared);
	json_object_set_new(j, "not_compared", not );
}

int report_json(const struct findings *f)
{
	json_t *j = plumb_json_new("probe-check"), *checks = json_array(), *tools = json_array(),
	       *summary = json_object();
	char limits[128];

	for (size_t i = 0; i < f->plan->n; i++)
		json_array_append_new(checks, check_json(&f->plan->checks[i]));
	for (size_t i = 0; i < f->plan->n_tools; i++)
		json_array_append_new(tools, tool_json(f->plan, f->plan->tools[i]));
	/* "kernel" is the running kernel. */
	json_object_set_new(
		j, "judged",
		plumb_json_text(*f->kernel->release ? f->kernel->release : f->kernel->name));
	json_object_set_new(j, "not_judged",
			    json_string(kernel_limits(f->kernel, limits, sizeof(limits))));
	json_object_set_new(j, "checks", checks);
	json_object_set_new(j, "tools", tools);
	if (f->compared) {
		json_object_set_new(j, "differences", differences_json(f));
		add_compared(j, &f->what);
	}
	json_object_set_new(summary, "checked", plumb_json_u64(f->plan->n));
	json_object_set_new(summary, "failed", plumb_json_u64(f->failed));
	json_object_set_new(summary, "unknown", plumb_json_u64(f->unknown));
	json_object_set_new(summary, "differences",
			    f->compared ? plumb_json_u64(f->n_differences) : json_null());
	for (int i = 0; f->compared && i < DIFFERENCE_CLASSES; i++)
		json_object_set_new(summary, class_names[i], plumb_json_u64(f->n_of[i]));
	json_object_set_new(j, "summary", summary);
	return plumb_json_print(j, stdout);
}
