/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "print.h"

#include "access.h"
#include "arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/text.h>
#include <plumb/functions/hooks.h>
#include <plumb/terminal/text-table.h>

#define WIDTH 80

static bool is_open(enum plumb_hook hook)
{
	const struct access *a = access_of(hook);

	return a && a->open;
}

/* --- lines --- */

/*
 * fexit is not shown: it goes with fentry.  kprobe.multi is shown only without kprobe, since it
 * nearly goes with kprobe.
 */
static bool is_shown(const struct target *target, enum plumb_hook hook)
{
	if (!(target->hooks >> hook & 1) || hook == PLUMB_FEXIT)
		return false;
	return hook != PLUMB_KPROBE_MULTI || !(target->hooks >> PLUMB_KPROBE & 1);
}

/* "fentry,(kprobe)": hooks that are refused are in parentheses. */
static void describe_hooks(const struct target *target, char *text, size_t size)
{
	size_t length = 0;

	*text = 0;
	for (const enum plumb_hook *h = kinds[target->kind].hooks; *h; h++) {
		bool open = is_open(*h);

		if (is_shown(target, *h))
			length += snprintf(text + length, size - length, "%s%s%s%s",
					   length ? "," : "", open ? "" : "(", plumb_hook_name(*h),
					   open ? "" : ")");
	}
	/* Several targets have that name: static functions, or places of a USDT probe. */
	if (target->n > 1 && target->kind != SYSCALL)
		snprintf(text + length, size - length, " x%zu", target->n);
}

/*
 * The blank at which to break a line of ROOM columns: after an argument, otherwise after a word;
 * NULL: there is none.
 */
static char *find_break(char *text, int room)
{
	char *word = NULL, *argument = NULL;

	for (int i = 1; i <= room && text[i]; i++) {
		if (text[i] != ' ')
			continue;
		word = text + i;
		if (text[i - 1] == ',')
			argument = word;
	}
	return argument ?: word ?: strchr(text + room, ' ');
}

/* Wrap at WIDTH columns, if possible; lines after the first are indented deeper. */
static void print_wrapped(const char *arguments)
{
	char *escaped = plumb_escaped_text(arguments), *text = escaped, *end;
	int indent = 4;

	while (strlen(text) > (size_t)(WIDTH - indent) &&
	       (end = find_break(text, WIDTH - indent))) {
		*end = 0;
		printf("%*s%s\n", indent, "", text);
		text = end + 1;
		indent = 8;
	}
	printf("%*s%s\n", indent, "", text);
	free(escaped);
}

void print_lines(struct targets *p, bool arguments)
{
	char hooks[64], *name, *text;

	for (size_t i = 0; i < p->n && !ferror(stdout); i++) {
		struct target *target = &p->list[i];

		if (!target->taken)
			continue;
		describe_hooks(target, hooks, sizeof(hooks));
		name = plumb_escaped_text(target->name);
		printf("%-46s %-10s %s\n", name, kinds[target->kind].stability, hooks);
		free(name);
		text = arguments ? arguments_text(p, target) : NULL;
		if (text)
			print_wrapped(text);
		free(text);
	}
}

/* --- the summary --- */

/* The number of taken targets of a kind that have the hook; -1: not known, or no file was named. */
static ssize_t count(const struct targets *p, enum kind kind, enum plumb_hook hook)
{
	bool known = 1 << kind & ALL_OF_KERNEL & ~p->unknown;
	ssize_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		known |= p->list[i].kind == kind;
		if (p->list[i].taken && p->list[i].kind == kind && p->list[i].hooks >> hook & 1)
			n += p->list[i].n;
	}
	return known ? n : -1;
}

void print_summary(const struct targets *p, unsigned int wanted)
{
	static const char *const headings[] = {"KIND", ">TARGETS", "STABILITY", "HOOK", "HERE"};
	struct plumb_text_table *g = plumb_text_table_new(headings, 5);

	for (enum kind k = 0; k < KINDS; k++)
		for (const enum plumb_hook *h = kinds[k].hooks; *h && wanted >> k & 1; h++) {
			const struct access *a = access_of(*h);
			ssize_t n = count(p, k, *h);

			plumb_text_table_cell(g, "%s", kinds[k].name);
			if (n < 0)
				plumb_text_table_cell(g, "-");
			else
				plumb_text_table_cell(g, "%zd", n);
			plumb_text_table_cell(g, "%s", kinds[k].stability);
			plumb_text_table_cell(g, "%s", plumb_hook_name(*h));
			plumb_text_table_cell(g, "%s%s", a->open ? "open" : "closed: ", a->why);
		}
	plumb_text_table_print(g, stdout);
	plumb_text_table_free(g);
}

/* --- JSON --- */

static json_t *kinds_json(const struct targets *p, unsigned int wanted)
{
	json_t *all = json_array();

	for (enum kind k = 0; k < KINDS; k++)
		for (const enum plumb_hook *h = kinds[k].hooks; *h && wanted >> k & 1; h++) {
			const struct access *a = access_of(*h);
			ssize_t n = count(p, k, *h);

			json_array_append_new(
				all,
				json_pack("{s:s, s:s, s:s, s:o, s:b, s:o}", "kind", kinds[k].name,
					  "stability", kinds[k].stability, "hook",
					  plumb_hook_name(*h), "targets",
					  n < 0 ? json_null() : plumb_json_u64(n), "open", a->open,
					  "why", a->open ? json_null() : plumb_json_text(a->why)));
		}
	return all;
}

static json_t *target_json(struct targets *p, const struct target *target)
{
	json_t *one, *hooks = json_array();
	bool open = false;

	for (const enum plumb_hook *h = kinds[target->kind].hooks; *h; h++) {
		if (!(target->hooks >> *h & 1))
			continue;
		json_array_append_new(hooks, json_string(plumb_hook_name(*h)));
		open |= is_open(*h);
	}
	one = json_pack("{s:o, s:s, s:s, s:o, s:b, s:o}", "name", plumb_json_text(target->name),
			"kind", kinds[target->kind].name, "stability",
			kinds[target->kind].stability, "hooks", hooks, "open", open, "count",
			plumb_json_u64(target->n));
	arguments_json(p, target, one);
	return one;
}

/* Targets are printed one by one within the object: one tree of all takes hundreds of megabytes. */
static void print_targets(struct targets *p)
{
	const char *separator = "";

	fputs(",\"targets\":[", stdout);
	for (size_t i = 0; i < p->n && !ferror(stdout); i++) {
		json_t *one;

		if (!p->list[i].taken)
			continue;
		one = target_json(p, &p->list[i]);
		fputs(separator, stdout);
		json_dumpf(one, stdout, JSON_COMPACT);
		json_decref(one);
		separator = ",";
	}
	fputc(']', stdout);
}

void print_json(struct targets *p, unsigned int wanted, bool summary)
{
	json_t *head = plumb_json_new("probe-list");
	char *text;

	json_object_set_new(head, "kinds", kinds_json(p, wanted));
	text = json_dumps(head, JSON_COMPACT);
	json_decref(head);
	if (!text)
		abort();
	/* The object without its last brace. */
	fwrite(text, 1, strlen(text) - 1, stdout);
	free(text);
	if (!summary)
		print_targets(p);
	fputs("}\n", stdout);
}
