/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "print.h"

#include "access.h"
#include "arguments.h"

#include <plumb/base/text-table.h>
#include <plumb/attach/hooks.h>
#include <plumb/base/json.h>
#include <plumb/base/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 80

static bool is_open(enum plumb_hook hook)
{
	const struct access *a = access_of(hook);

	return a && a->open;
}

/* --- lines --- */

/* fexit is where fentry is, and kprobe.multi nearly where kprobe is: named only if kprobe is not.
 */
static bool is_shown(const struct point *point, enum plumb_hook hook)
{
	if (!(point->hooks >> hook & 1) || hook == PLUMB_FEXIT)
		return false;
	return hook != PLUMB_KPROBE_MULTI || !(point->hooks >> PLUMB_KPROBE & 1);
}

/* "fentry,(kprobe)": those that are closed in parentheses. */
static void describe_hooks(const struct point *point, char *text, size_t size)
{
	size_t length = 0;

	*text = 0;
	for (const enum plumb_hook *h = families[point->family].hooks; *h; h++) {
		bool open = is_open(*h);

		if (is_shown(point, *h))
			length += snprintf(text + length, size - length, "%s%s%s%s",
					   length ? "," : "", open ? "" : "(", plumb_hook_name(*h),
					   open ? "" : ")");
	}
	/* What is probed by that name is several: static functions, places of a USDT probe. */
	if (point->n > 1 && point->family != SYSCALL)
		snprintf(text + length, size - length, " x%zu", point->n);
}

/* Where to end a line that has ROOM: behind an argument, else behind a word; NULL: nowhere. */
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

/* No wider than a terminal, if that can be; lines after the first go deeper. */
static void print_wrapped(char *text)
{
	int indent = 4;
	char *end;

	plumb_copy_printable(text, text, strlen(text) + 1);
	while (strlen(text) > (size_t)(WIDTH - indent) &&
	       (end = find_break(text, WIDTH - indent))) {
		*end = 0;
		printf("%*s%s\n", indent, "", text);
		text = end + 1;
		indent = 8;
	}
	printf("%*s%s\n", indent, "", text);
}

void print_lines(struct points *p, bool arguments)
{
	char hooks[64], *text;

	for (size_t i = 0; i < p->n && !ferror(stdout); i++) {
		struct point *point = &p->list[i];

		if (!point->taken)
			continue;
		describe_hooks(point, hooks, sizeof(hooks));
		plumb_copy_printable(point->name, point->name, strlen(point->name) + 1);
		printf("%-46s %-10s %s\n", point->name, families[point->family].stability, hooks);
		text = arguments ? arguments_text(p, point) : NULL;
		if (text)
			print_wrapped(text);
		free(text);
	}
}

/* --- the summary --- */

/* That were taken of the family, and have the hook; -1: it is not known, or of no file. */
static ssize_t count(const struct points *p, enum family family, enum plumb_hook hook)
{
	bool known = 1 << family & ALL_OF_KERNEL & ~p->unknown;
	ssize_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		known |= p->list[i].family == family;
		if (p->list[i].taken && p->list[i].family == family && p->list[i].hooks >> hook & 1)
			n += p->list[i].n;
	}
	return known ? n : -1;
}

void print_summary(const struct points *p, unsigned int wanted)
{
	static const char *const headings[] = {"FAMILY", ">POINTS", "STABILITY", "HOOK", "HERE"};
	struct plumb_text_table *g = plumb_text_table_new(headings, 5);

	for (enum family f = 0; f < FAMILIES; f++)
		for (const enum plumb_hook *h = families[f].hooks; *h && wanted >> f & 1; h++) {
			const struct access *a = access_of(*h);
			ssize_t n = count(p, f, *h);

			plumb_text_table_cell(g, "%s", families[f].name);
			if (n < 0)
				plumb_text_table_cell(g, "-");
			else
				plumb_text_table_cell(g, "%zd", n);
			plumb_text_table_cell(g, "%s", families[f].stability);
			plumb_text_table_cell(g, "%s", plumb_hook_name(*h));
			plumb_text_table_cell(g, "%s%s", a->open ? "open" : "closed: ", a->why);
		}
	plumb_text_table_print(g, stdout);
	plumb_text_table_free(g);
}

/* --- JSON --- */

static json_t *families_json(const struct points *p, unsigned int wanted)
{
	json_t *all = json_array();

	for (enum family f = 0; f < FAMILIES; f++)
		for (const enum plumb_hook *h = families[f].hooks; *h && wanted >> f & 1; h++) {
			const struct access *a = access_of(*h);
			json_t *one = json_object();
			ssize_t n = count(p, f, *h);

			json_object_set_new(one, "family", json_string(families[f].name));
			json_object_set_new(one, "stability", json_string(families[f].stability));
			json_object_set_new(one, "hook", json_string(plumb_hook_name(*h)));
			json_object_set_new(one, "points", n < 0 ? json_null() : plumb_json_u64(n));
			json_object_set_new(one, "open", json_boolean(a->open));
			json_object_set_new(one, "why",
					    a->open ? json_null() : plumb_json_text(a->why));
			json_array_append_new(all, one);
		}
	return all;
}

static json_t *point_json(struct points *p, const struct point *point)
{
	json_t *one = json_object(), *hooks = json_array();
	bool open = false;

	for (const enum plumb_hook *h = families[point->family].hooks; *h; h++) {
		if (!(point->hooks >> *h & 1))
			continue;
		json_array_append_new(hooks, json_string(plumb_hook_name(*h)));
		open |= is_open(*h);
	}
	json_object_set_new(one, "name", plumb_json_text(point->name));
	json_object_set_new(one, "family", json_string(families[point->family].name));
	json_object_set_new(one, "stability", json_string(families[point->family].stability));
	json_object_set_new(one, "hooks", hooks);
	json_object_set_new(one, "open", json_boolean(open));
	json_object_set_new(one, "count", plumb_json_u64(point->n));
	arguments_json(p, point, one);
	return one;
}

/* The points are printed one by one, within the object: all at once take hundreds of megabytes. */
static void print_points(struct points *p)
{
	const char *separator = "";

	fputs(",\"points\":[", stdout);
	for (size_t i = 0; i < p->n && !ferror(stdout); i++) {
		json_t *one;

		if (!p->list[i].taken)
			continue;
		one = point_json(p, &p->list[i]);
		fputs(separator, stdout);
		json_dumpf(one, stdout, JSON_COMPACT);
		json_decref(one);
		separator = ",";
	}
	fputc(']', stdout);
}

void print_json(struct points *p, unsigned int wanted, bool summary)
{
	json_t *head = plumb_json_new("probe-list");
	char *text;

	json_object_set_new(head, "families", families_json(p, wanted));
	text = json_dumps(head, JSON_COMPACT);
	json_decref(head);
	if (!text)
		abort();
	/* Without its last brace. */
	fwrite(text, 1, strlen(text) - 1, stdout);
	free(text);
	if (!summary)
		print_points(p);
	fputs("}\n", stdout);
}
