/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/file.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/core/text.h>
#include <plumb/syscalls/syscalls.h>

#define LARGEST (64 << 20) /* bytes of a file */
#define PRINTED 5
#define LEAST   0.01 /* of the time: smaller changes are not printed */

/* What parts have in common that are compared: not the threads, the disk, the peer. */
struct sort {
	enum cause cause;
	bool idle;
	char call[48], place[128];
	double now, before; /* shares of the time of all threads */
};

static struct sort *base;
static size_t n_base;
static bool is_given;

static int compare(const void *a, const void *b)
{
	const struct sort *p = a, *q = b;

	if (p->cause != q->cause)
		return p->cause < q->cause ? -1 : 1;
	if (p->idle != q->idle)
		return p->idle - q->idle;
	return strcmp(p->call, q->call) ?: strcmp(p->place, q->place);
}

static int by_change(const void *a, const void *b)
{
	const struct sort *p = a, *q = b;
	const double x = fabs(p->now - p->before), y = fabs(q->now - q->before);

	return (x < y) - (x > y);
}

/* Joins those that are alike; returns how many are left. */
static size_t join(struct sort *all, size_t n)
{
	size_t joined = 0;

	if (n)
		qsort(all, n, sizeof(*all), compare);
	for (size_t i = 0; i < n; i++) {
		if (joined && !compare(&all[joined - 1], &all[i])) {
			all[joined - 1].now += all[i].now;
			all[joined - 1].before += all[i].before;
		} else {
			all[joined++] = all[i];
		}
	}
	return joined;
}

/* --- the file --- */

static void copy(char *to, size_t size, const json_t *text)
{
	snprintf(to, size, "%s", json_string_value(text) ?: "");
}

static int take_row(const json_t *row, double wall)
{
	const char *word = json_string_value(json_object_get(row, "cause"));
	const json_t *sum = json_object_get(row, "sum");
	struct sort s = {};

	while (s.cause < CAUSES && (!word || strcmp(word, cause_word(s.cause)) != 0))
		s.cause++;
	if (s.cause == CAUSES || !json_is_integer(sum))
		return -1;
	s.idle = json_is_true(json_object_get(row, "idle"));
	copy(s.call, sizeof(s.call), json_object_get(row, "syscall"));
	copy(s.place, sizeof(s.place), json_object_get(row, "function"));
	s.before = json_integer_value(sum) / wall;
	*plumb_append(base, n_base) = s;
	return 0;
}

static int take_report(const json_t *report)
{
	const char *tool = json_string_value(json_object_get(report, "tool"));
	const double wall = json_integer_value(json_object_get(report, "wall_ns"));
	const json_t *rows = json_object_get(report, "rows"), *row;
	size_t i;

	n_base = 0;
	if (!tool || strcmp(tool, "wall-time") != 0 || wall <= 0 || !json_is_array(rows))
		return -1;
	json_array_foreach(rows, i, row) if (take_row(row, wall)) return -1;
	return 0;
}

int baseline_read(const char *path)
{
	char *text = NULL, *at;
	json_error_t error;
	json_t *report;
	size_t size;
	int err = -1;

	text = plumb_file_read("--baseline", path, LARGEST, &size);
	if (!text)
		return -1;
	for (at = text; *at;) {
		report = json_loads(at, JSON_DISABLE_EOF_CHECK, &error);
		if (!report)
			break;
		err = take_report(report);
		json_decref(report);
		if (err)
			break;
		at += error.position;
		at += strspn(at, " \t\r\n");
	}
	if (err || *at)
		err = plumb_error(-1, "--baseline: %s is not what wall-time -j has printed", path);
	free(text);
	n_base = join(base, n_base);
	is_given = !err;
	return err;
}

/* --- the difference --- */

static struct sort *changes(const struct account *a, size_t *n)
{
	struct sort *all = NULL, *s;

	*n = 0;
	for (size_t i = 0; i < a->n && a->ns; i++) {
		const struct part *p = &a->parts[i];

		s = plumb_append(all, *n);
		*s = (struct sort){.cause = p->cause, .idle = p->idle};
		if (p->what & WALL_CALL)
			plumb_syscall_name((p->what & WALL_CALL) - 1, PLUMB_ABI_NATIVE, s->call,
					   sizeof(s->call));
		snprintf(s->place, sizeof(s->place), "%s", p->place);
		s->now = (double)p->ns / a->ns;
	}
	for (size_t i = 0; i < n_base; i++)
		*plumb_append(all, *n) = base[i];
	*n = join(all, *n);
	if (*n)
		qsort(all, *n, sizeof(*all), by_change);
	return all;
}

void baseline_print(const struct account *a, FILE *out)
{
	struct sort *all;
	size_t n, printed = 0;
	char now[16], before[16];

	if (!is_given)
		return;
	all = changes(a, &n);
	for (size_t i = 0; i < n && printed < PRINTED; i++) {
		const struct sort *s = &all[i];

		if (fabs(s->now - s->before) < LEAST)
			break;
		printed++;
		fprintf(out, "%s: %s%s%s%s%s%s %s%% of the time, %s%% before\n",
			s->now > s->before ? "more" : "less", s->idle ? "idle, " : "",
			cause_text(s->cause), *s->call || *s->place ? ", " : "", s->call,
			*s->call && *s->place ? ", " : "", s->place,
			plumb_format_percent(100 * s->now, now, sizeof(now)),
			plumb_format_percent(100 * s->before, before, sizeof(before)));
	}
	fputs(printed ? "\n" : "no share has changed by 1% of the time\n\n", out);
	free(all);
}

json_t *baseline_json(const struct account *a)
{
	json_t *json, *one;
	struct sort *all;
	size_t n;

	if (!is_given)
		return NULL;
	json = json_array();
	all = changes(a, &n);
	for (size_t i = 0; i < n; i++) {
		one = json_pack("{s:s, s:b, s:f, s:f}", "cause", cause_word(all[i].cause), "idle",
				all[i].idle, "share", all[i].now, "before", all[i].before);
		if (*all[i].call)
			json_object_set_new(one, "syscall", json_string(all[i].call));
		if (*all[i].place)
			json_object_set_new(one, "function", json_string(all[i].place));
		json_array_append_new(json, one);
	}
	free(all);
	return json;
}
