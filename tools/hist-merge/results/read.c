/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "results/read.h"
#include "reading/memory.h"
#include "results/results.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <plumb/core/log.h>
#include <plumb/terminal/progress.h>

#define MB 1000000

/* What reading_run() needs while it reads. */
struct state {
	struct reading *r;
	struct source *sources;
	size_t n, open; /* sources; those that are not at their end */
	struct source_line text;
	struct line line;
	uint64_t newest;          /* window */
	uint64_t bytes, of_bytes; /* read; the sizes of the files, 0: not known, as of pipes */
	int (*each)(const struct result *result);
};

void reading_begin(struct reading *r, const struct options *o)
{
	*r = (struct reading){.options = o};
	r->merge.by = o->by;
	r->merge.max_rows = o->shared.max_keys;
	r->merge.blocks = o->diff;
}

void reading_end(struct reading *r)
{
	merge_free(&r->merge);
	hosts_free(&r->hosts);
	seen_free(&r->seen);
	times_free(&r->times);
	free(r->tool);
}

/* A line that cannot be merged.  Returns 0 with --keep-going. */
static int refuse(struct state *st, const struct source *s, const char *why, size_t at)
{
	char byte[32] = "";

	st->r->left_out++;
	if (at && s->whole)
		snprintf(byte, sizeof(byte), ", at byte %zu", at + 1);
	/* Without a newline the end of the file was cut off. */
	plumb_warn("%s:%" PRIu64 ": %s%s%s", s->name, s->line,
		   s->whole ? "" : "truncated: the last line has no newline, and ", why, byte);
	return st->r->options->keep_going ? 0 : -EBADMSG;
}

/* Whether the line's tool is that of the others; NULL, or why not. */
static const char *check_tool(struct reading *r, const struct line *l)
{
	static char why[160];

	if (!r->tool)
		r->tool = scan_text(l->of);
	if (span_is(l->of, r->tool))
		return NULL;
	snprintf(why, sizeof(why), "a report of %.*s, after those of %s (--tool selects one)",
		 (int)(l->of.n < 40 ? l->of.n : 40), l->of.text, r->tool);
	return why;
}

static uint64_t window_of(const struct reading *r, uint64_t time)
{
	return r->options->every ? time / r->options->every * r->options->every : 0;
}

static void account(struct state *st, const struct line *l)
{
	struct reading *r = st->r;
	uint64_t window = window_of(r, l->start);

	if (r->merge.reports == 1 || l->start < r->from)
		r->from = l->start;
	if (l->end > r->to)
		r->to = l->end;
	if (window > st->newest)
		st->newest = window;
	r->of_precision[l->precision]++;
	if (r->options->every)
		times_add(&r->times, window, l->end);
}

/* NULL, or why not. */
static const char *merge(struct state *st, struct line *l)
{
	struct reading *r = st->r;
	const char *why = hosts_have_room(&r->hosts, l) ? NULL : "more than 65536 hosts";
	uint64_t window;

	if (!why && r->options->every && !l->n_hosts)
		hosts_follow(&r->hosts, l);
	window = window_of(r, l->start);
	if (!why && window < r->printed)
		why = "a report of a time whose result is printed already";
	why = why ?: merge_add(&r->merge, l, window);
	if (why)
		return why;
	hosts_add(&r->hosts, l);
	for (size_t i = 0; i < l->n_rows; i++)
		r->has_stages |= !!memmem(l->rows[i].key.text, l->rows[i].key.n, "\"stage\"", 7);
	account(st, l);
	r->moved += l->shift > 0;
	return NULL;
}

/* Merges the report unless it was read before.  NULL, or why not. */
static const char *merge_new(struct state *st, struct line *l)
{
	if (!seen_before(&st->r->seen, l))
		return merge(st, l);
	st->r->repeated++;
	return NULL;
}

/* Merges the line, or refuses it. */
static int take(struct state *st, struct source *s, const char *text, size_t n)
{
	struct reading *r = st->r;
	struct line *l = &st->line;
	size_t at;
	const char *why = line_read(l, text, &at);

	if (why)
		return refuse(st, s, at < n && !text[at] ? "a NUL" : why, at);
	if (l->is_record) {
		r->records++;
		return 0;
	}
	s->last = l->end;
	if (r->options->tool && !span_is(l->of, r->options->tool)) {
		r->passed_over++;
		return 0;
	}
	why = check_tool(r, l);
	if (!why && l->is_partial) {
		r->repeated += !seen_hold(&r->seen, l, text, n);
		return 0;
	}
	why = why ?: merge_new(st, l);
	s->last = l->end;
	return why ? refuse(st, s, why, 0) : 0;
}

/* What was held back, and was not read as a whole since then.  0 or -errno. */
static int take_held(struct state *st, uint64_t before)
{
	struct reading *r = st->r;
	struct line *l = &st->line;
	const char *why;
	struct held *h;
	size_t at;

	while ((h = seen_release(&r->seen, before))) {
		line_read(l, h->text, &at);
		why = merge_new(st, l);
		free(h->text);
		free(h);
		if (!why)
			continue;
		r->left_out++;
		plumb_warn("the incomplete interval of a dump: %s", why);
		if (!r->options->keep_going)
			return -EBADMSG;
	}
	return 0;
}

/*
 * Results that are complete: no source will go back before the end of its last report.  One more
 * window is waited for, since a source may have reports of several hosts.
 */
static int print_complete(struct state *st)
{
	const uint64_t every = st->r->options->every;
	uint64_t reached = UINT64_MAX;
	uint64_t end;

	for (size_t i = 0; i < st->n; i++)
		if (st->sources[i].lines && st->sources[i].last < reached)
			reached = st->sources[i].last;
	end = window_of(st->r, reached);
	end = end > every ? end - every : 0;
	if (end > st->newest)
		end = st->newest;
	if (end <= st->r->printed || !st->each)
		return 0;
	return take_held(st, end) ?: results_until(st->r, end, false, st->each);
}

/* The source whose next report is the earliest. */
static struct source *earliest(struct state *st)
{
	struct source *s = NULL;

	for (size_t i = 0; i < st->n; i++)
		if (st->sources[i].lines && (!s || st->sources[i].last < s->last))
			s = &st->sources[i];
	return s;
}

/* A file that cannot be read, after a message.  Returns 0 with --keep-going. */
static int pass_by(struct state *st, int err)
{
	if (!err || !st->r->options->keep_going)
		return err;
	st->r->unread++;
	return 0;
}

/* One line of the source, or its end. */
static int step(struct state *st, struct source *s)
{
	int got = source_next(s, &st->text);

	if (s->gz)
		st->of_bytes = 0;
	if (st->of_bytes && got == 1) {
		st->bytes += st->text.n;
		plumb_progress("reports read, MB:", st->bytes / MB, st->of_bytes / MB);
	}
	if (got == -EMSGSIZE)
		return refuse(st, s, "a line of more than 64 MB", 0);
	if (got == 1)
		return take(st, s, st->text.text, st->text.n);
	source_close(s);
	return pass_by(st, got);
}

/* Files in turn; with --every all are open, and their times are followed side by side. */
static int read_all(struct state *st, char *const *files)
{
	const bool every = st->r->options->every;
	struct rlimit limit;
	struct source *s;
	int err = 0;

	if (every && !getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	for (size_t i = 0; !err && i < st->n; i++) {
		err = pass_by(st, source_open(&st->sources[i], files[i]));
		while (!err && !every && st->sources[i].lines)
			err = step(st, &st->sources[i]);
	}
	while (!err && (s = earliest(st)))
		err = step(st, s) ?: print_complete(st);
	return err;
}

static uint64_t size_of(char *const *files, size_t n)
{
	uint64_t sum = 0;
	struct stat st;

	for (size_t i = 0; i < n; i++) {
		if (stat(files[i], &st) || !S_ISREG(st.st_mode))
			return 0;
		sum += st.st_size;
	}
	return sum;
}

int reading_run(struct reading *r, char *const *files, size_t n,
		int (*each)(const struct result *result))
{
	struct state st = {.r = r, .n = n, .each = each, .of_bytes = size_of(files, n)};
	int err;

	st.sources = get(calloc(n, sizeof(*st.sources)));
	err = read_all(&st, files);
	plumb_progress_end();
	err = err ?: take_held(&st, UINT64_MAX);
	if (!err && !r->merge.reports)
		err = plumb_error(ENODATA, "no reports to merge%s",
				  r->passed_over ? ": none is of the tool of --tool" : "");
	hosts_sum(&r->hosts);
	if (!err && each)
		err = r->options->every
			      ? results_until(r, st.newest + r->options->every, true, each)
			      : results_all(r, each);
	for (size_t i = 0; i < n; i++)
		source_close(&st.sources[i]);
	line_free(&st.line);
	free(st.text.text);
	free(st.sources);
	return err;
}
