/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "story.h"

#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/core/text.h>
#include <plumb/kernel/thread.h>
#include <plumb/meanwhile/meanwhile.h>
#include <plumb/stacks/stacks.h>
#include <plumb/syscalls/syscalls.h>

#include "heads.h"
#include "words.h"

#define CAUSES_TOLD   3  /* in the sentence */
#define LINES         14 /* of the tree */
#define PARTS_A_CAUSE 3
#define OTHERS        2
#define STARTS        8  /* functions with which threads of a branch were started */
#define PREFIX        18 /* columns of a line before its text */
#define DETAIL        256

/* Parts of one cause that differ only in the other thread, or the waiting one. */
struct branch {
	const struct part *part; /* the largest */
	int64_t ns;
	struct other {
		const struct part *part;
		int64_t ns;
	} others[OTHERS];
	struct start {
		const char *name;
		size_t threads;
	} starts[STARTS]; /* the last one: of all that there is no room for */
	size_t n_others, n_starts;
};

static bool is_of(const struct branch *b, const struct part *p)
{
	return b->part->cause == p->cause && b->part->idle == p->idle && b->part->what == p->what &&
	       b->part->device == p->device && !strcmp(b->part->place, p->place) &&
	       !strcmp(b->part->peer, p->peer);
}

/* Whether P is most of what threads did there, whoever the other thread was. */
static bool is_most(const struct account *a, const struct part *p)
{
	const struct branch b = {.part = p};
	int64_t ns = 0;

	for (size_t i = 0; i < a->n; i++)
		ns += is_of(&b, &a->parts[i]) ? a->parts[i].ns : 0;
	return 2 * p->ns >= ns;
}

const char *story_detail(const struct account *a, const struct part *p, char *text, size_t size)
{
	const struct head *head = account_head(a, p);
	char other[OTHER];
	int n;

	words_where(p, text, size);
	n = strlen(text);
	if (head)
		snprintf(text + n, size - n, "%s%s", n ? "; " : "",
			 words_head(head, other, sizeof(other)));
	else if (p->other.kind && words_has_other(p))
		snprintf(text + n, size - n, "%s%s%s", n ? ", by " : "by ",
			 words_other(p, other, sizeof(other)), is_most(a, p) ? "" : " and others");
	return text;
}

/* --- the tree --- */

static bool is_same_other(const struct part *p, const struct part *q)
{
	char one[OTHER], two[OTHER];

	return !strcmp(words_other(p, one, sizeof(one)), words_other(q, two, sizeof(two)));
}

/* Threads that have several parts there are in the largest of them, it is assumed. */
static void count_threads(struct branch *b, const struct part *p)
{
	size_t i;

	for (i = 0; i < b->n_starts && strcmp(b->starts[i].name, p->start) != 0; i++)
		;
	if (i == STARTS)
		i--;
	else if (i == b->n_starts)
		b->starts[b->n_starts++] = (struct start){p->start, 0};
	if (p->threads > b->starts[i].threads)
		b->starts[i].threads = p->threads;
}

static size_t threads_of(const struct branch *b)
{
	size_t threads = 0;

	for (size_t i = 0; i < b->n_starts; i++)
		threads += b->starts[i].threads;
	return threads;
}

static void extend(struct branch *b, const struct part *p)
{
	b->ns += p->ns;
	count_threads(b, p);
	if (!words_has_other(p))
		return;
	for (size_t i = 0; i < b->n_others; i++)
		if (is_same_other(b->others[i].part, p)) {
			b->others[i].ns += p->ns;
			return;
		}
	if (b->n_others < OTHERS)
		b->others[b->n_others++] = (struct other){p, p->ns};
}

static int by_time(const void *a, const void *b)
{
	const struct branch *p = a, *q = b;

	return (p->ns < q->ns) - (p->ns > q->ns);
}

/* Parts come largest first. */
static struct branch *branches_of(const struct account *a, size_t *n)
{
	struct branch *all = NULL;
	size_t j;

	*n = 0;
	for (size_t i = 0; i < a->n; i++) {
		for (j = 0; j < *n && !is_of(&all[j], &a->parts[i]); j++)
			;
		if (j == *n)
			*plumb_append(all, *n) = (struct branch){.part = &a->parts[i]};
		extend(&all[j], &a->parts[i]);
	}
	if (*n)
		qsort(all, *n, sizeof(*all), by_time);
	return all;
}

static int by_sum(const void *a, const void *b)
{
	const struct sum *p = a, *q = b;

	return (p->ns < q->ns) - (p->ns > q->ns);
}

void story_sums(const struct account *a, struct sum sums[CAUSES])
{
	for (int i = 0; i < CAUSES; i++)
		sums[i] = (struct sum){i, 0};
	for (size_t i = 0; i < a->n; i++)
		if (!a->parts[i].idle)
			sums[a->parts[i].cause].ns += a->parts[i].ns;
	qsort(sums, CAUSES, sizeof(*sums), by_sum);
}

double story_share(int64_t ns, int64_t of)
{
	return of ? 100.0 * ns / of : 0;
}

static const char *percent(int64_t ns, int64_t of, char text[16])
{
	return plumb_format_percent(story_share(ns, of), text, 16);
}

/* How much of TEXT fits into WIDTH: all, or whole details, after which there is one of ",;:". */
static int fitting(const char *text, int width)
{
	int n = strlen(text);

	if (n <= width)
		return n;
	for (n = width; n > 0 && !(strchr(",;:", text[n]) && text[n + 1] == ' '); n--)
		;
	return n ?: width;
}

static void print_line(const struct account *a, const struct plumb_options *o, int64_t ns,
		       const char *text, int depth, FILE *out)
{
	const int width = plumb_output_width(out) - PREFIX - 2 * depth;
	char time[32], part[16];

	fprintf(out, "%8s %6s%%  %*s%.*s\n", plumb_format_time(ns, o->unit, time, sizeof(time)),
		percent(ns, a->ns, part), 2 * depth, "", fitting(text, width > 20 ? width : 20),
		text);
}

/* "nice 5, only on CPU 3", where that is not as usual. */
static void waiter_text(const struct part *p, char *text, size_t size)
{
	char name[PLUMB_ESCAPED], whole[PLUMB_MEANWHILE_TEXT];
	const char *usual = " (nice 0)";
	size_t n;

	*text = 0;
	if (!p->waiter.kind)
		return;
	plumb_meanwhile_text(NULL, &p->waiter, whole, sizeof(whole));
	plumb_escape(name, p->waiter.comm, sizeof(name));
	n = snprintf(text, size, "%s/%u", name, p->waiter.tid);
	if (!strncmp(whole + n, usual, strlen(usual)))
		n += strlen(usual) + 2 * (whole[n + strlen(usual)] != 0); /* ", " */
	snprintf(text, size, "%s", whole + n);
}

static void print_branch(const struct account *a, const struct plumb_options *o,
			 const struct branch *b, FILE *out)
{
	const struct head *head = account_head(a, b->part);
	const size_t threads = threads_of(b);
	char text[2 * DETAIL], other[OTHER], time[32];
	size_t n;

	words_where(b->part, text, sizeof(text));
	if (b->part->cause == CAUSE_TAKEN && threads == 1)
		waiter_text(b->part, text, sizeof(text));
	n = strlen(text);
	if (head)
		snprintf(text + n, sizeof(text) - n, "%s%s", n ? "; " : "",
			 words_head(head, other, sizeof(other)));
	for (size_t i = 0; i < b->n_others && !head; i++) {
		const char *before = i ? ", " : n ? ": " : "";

		snprintf(text + n, sizeof(text) - n, "%s%s %s", before,
			 words_other(b->others[i].part, other, sizeof(other)),
			 plumb_format_time(b->others[i].ns, o->unit, time, sizeof(time)));
		n = strlen(text);
	}
	if (threads > 1 && !head)
		n += snprintf(text + n, sizeof(text) - n, "%s%zu threads", n ? "; " : "", threads);
	if (threads > 1 && !head && b->n_starts == 1)
		plumb_start_text(b->starts->name, b->part->comm, text + n, sizeof(text) - n);
	if (*text)
		print_line(a, o, b->ns, text, 1, out);
}

static void print_tree(const struct account *a, const struct plumb_options *o, FILE *out)
{
	struct sum sums[CAUSES];
	size_t n, lines = 0;
	struct branch *all = branches_of(a, &n);
	int64_t rest = 0;

	story_sums(a, sums);
	for (int i = 0; i < CAUSES && sums[i].ns; i++) {
		int told = 0;

		if (lines >= LINES) {
			rest += sums[i].ns;
			continue;
		}
		print_line(a, o, sums[i].ns, cause_text(sums[i].cause), 0, out);
		lines++;
		for (size_t j = 0; j < n && told < PARTS_A_CAUSE && lines < LINES; j++) {
			if (all[j].part->cause != sums[i].cause || all[j].part->idle ||
			    story_share(all[j].ns, a->ns) < 0.5)
				continue;
			print_branch(a, o, &all[j], out);
			told++;
			lines++;
		}
	}
	if (rest)
		print_line(a, o, rest, "all else", 0, out);
	if (a->idle) {
		const struct branch *most = NULL;
		char text[DETAIL + 64] = "idle", detail[DETAIL];

		for (size_t j = 0; j < n && !most; j++)
			most = all[j].part->idle ? &all[j] : NULL;
		if (most)
			snprintf(text, sizeof(text), "idle, most of it in %s",
				 words_where(most->part, detail, sizeof(detail)));
		print_line(a, o, a->idle, text, 0, out);
	}
	free(all);
}

/* --- the sentence --- */

const struct part *story_largest(const struct account *a, enum cause cause, bool idle)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->parts[i].cause == cause && a->parts[i].idle == idle)
			return &a->parts[i];
	return NULL;
}

static bool is_of_disk(enum cause cause)
{
	return cause == CAUSE_DISK || cause == CAUSE_LIMIT;
}

static void print_sentence(const struct account *a, const struct plumb_options *o, FILE *out)
{
	char comm[PLUMB_ESCAPED], time[32], part[16], detail[DETAIL], text[2048];
	const int64_t busy = a->ns - a->idle;
	struct sum sums[CAUSES];
	const struct part *most;
	int n;

	if (!a->threads) {
		fputs("no such thread was seen\n", out);
		return;
	}
	plumb_escape(comm, a->comm, sizeof(comm));
	if (2 * a->most < a->ns && a->pid) {
		char main_thread[PLUMB_COMM_LEN];

		plumb_thread_comm(a->pid, a->pid, main_thread);
		plumb_escape(comm, main_thread, sizeof(comm));
	} else if (2 * a->most < a->ns)
		snprintf(comm, sizeof(comm), "%zu programs", a->programs);
	n = snprintf(text, sizeof(text), "%s, %zu thread%s, %s", comm, a->threads,
		     a->threads == 1 ? "" : "s",
		     plumb_format_time(a->ns, o->unit, time, sizeof(time)));
	if (a->idle && busy)
		n += snprintf(text + n, sizeof(text) - n, ", %s %% of it idle; of the rest",
			      percent(a->idle, a->ns, part));
	n += snprintf(text + n, sizeof(text) - n, ": ");
	story_sums(a, sums);
	for (int i = 0; i < CAUSES_TOLD && sums[i].ns; i++) {
		if (i && story_share(sums[i].ns, busy) < 1)
			break;
		most = story_largest(a, sums[i].cause, false);
		n += snprintf(text + n, sizeof(text) - n, "%s%s %% %s", i ? ", " : "",
			      percent(sums[i].ns, busy, part), cause_text(sums[i].cause));
		if (most && *story_detail(a, most, detail, sizeof(detail)))
			n += snprintf(text + n, sizeof(text) - n, " (%s%s%s)", detail,
				      is_of_disk(sums[i].cause) && *a->neighbour
					      ? "; meanwhile there, "
					      : "",
				      is_of_disk(sums[i].cause) ? a->neighbour : "");
	}
	if (!busy) {
		most = a->n ? &a->parts[0] : NULL;
		snprintf(text + n, sizeof(text) - n, "all of it idle%s%s%s", most ? ", " : "",
			 most ? cause_text(most->cause) : "",
			 most && *story_detail(a, most, detail, sizeof(detail)) ? " in " : "");
		if (most)
			strncat(text, story_detail(a, most, detail, sizeof(detail)),
				sizeof(text) - strlen(text) - 1);
	}
	plumb_print_wrapped(text, out);
}

void story_print(const struct account *a, const struct plumb_options *o, FILE *out)
{
	print_sentence(a, o, out);
	fprintf(out, "\n%8s %7s\n", "TIME", "SHARE");
	print_tree(a, o, out);
	story_print_next(a, o, out);
}
