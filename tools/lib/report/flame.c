/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <plumb/report/flame.h>
#include <plumb/base/log.h>
#include <plumb/base/atomic-file.h>
#include <plumb/base/text.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Pixels. */
#define WIDTH     1200
#define ROW       17
#define TOP       48
#define BOTTOM    34
#define CHARACTER 7.2
#define NARROWEST 0.1 /* frames that are narrower cannot be seen */

static const char script[] =
#include "flame.js.inc"
	;

static const char style[] =
	"text { font: 12px monospace; fill: #000; pointer-events: none; }\n"
	"#title { font-size: 16px; }\n"
	"#search, #reset { pointer-events: all; cursor: pointer; text-decoration: underline; }\n"
	".frame { cursor: pointer; }\n"
	".frame rect { stroke: #fff; stroke-width: 0.5; }\n"
	".frame:hover rect { stroke: #000; }\n"
	".caller rect { opacity: 0.5; }\n"
	".match rect { fill: #d050f0; }\n";

/* A function, with all that it called, by name. */
struct frame {
	char *name;
	uint32_t node;
	bool is_kernel;
	uint64_t weight, count;
	struct frame **called;
	size_t n;
};

struct graph {
	const struct plumb_flame *flame;
	struct frame *all;
	size_t depth;  /* of the deepest frame that can be seen */
	size_t hidden; /* frames that are too narrow */
	FILE *out;
};

/* How many bytes the character at C has, if XML may have it; else 0. */
static size_t character_at(const unsigned char *c)
{
	uint32_t code;
	size_t n;

	if (*c < 0x80)
		return *c >= ' ' && *c != 0x7f;
	n = *c >= 0xc2 && *c < 0xe0 ? 2 : *c >= 0xe0 && *c < 0xf0 ? 3 : *c >= 0xf0 ? 4 : 0;
	if (!n || *c > 0xf4)
		return 0;
	code = *c & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (c[i] & 0x3f);
	}
	if (code < 0xa0 || (n == 3 && code < 0x800) || (n == 4 && code < 0x10000) ||
	    code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || (code & 0xfffe) == 0xfffe)
		return 0;
	return n;
}

/* What is no character becomes '?'. */
static char *clean(char *text)
{
	size_t n;

	for (char *c = text; *c; c += n) {
		n = character_at((unsigned char *)c);
		if (!n) {
			*c = '?';
			n = 1;
		}
	}
	return text;
}

static struct frame *frame_new(const char *name, bool is_kernel, uint32_t node)
{
	struct frame *f = calloc(1, sizeof(*f));

	if (!f)
		abort();
	f->is_kernel = is_kernel;
	f->node = node;
	f->name = strdup(name);
	if (!f->name)
		abort();
	clean(f->name);
	return f;
}

static void frame_free(struct frame *f)
{
	for (size_t i = 0; i < f->n; i++)
		frame_free(f->called[i]);
	free(f->called);
	free(f->name);
	free(f);
}

static void frame_add(struct frame *f, struct frame *called)
{
	/* Room is doubled whenever it is full. */
	if (!(f->n & (f->n - 1))) {
		f->called = reallocarray(f->called, f->n ? 2 * f->n : 1, sizeof(*f->called));
		if (!f->called)
			abort();
	}
	f->called[f->n++] = called;
}

static bool is_seen(const struct frame *all, uint64_t weight)
{
	return all->weight && (double)weight / all->weight * WIDTH >= NARROWEST;
}

static int by_name(const void *a, const void *b, void *tree)
{
	return plumb_tree_compare(tree, (*(struct frame *const *)a)->node,
				  (*(struct frame *const *)b)->node);
}

static void sort(struct frame *f, const struct plumb_tree *t)
{
	if (f->n)
		qsort_r(f->called, f->n, sizeof(*f->called), by_name, (void *)t);
	for (size_t i = 0; i < f->n; i++)
		sort(f->called[i], t);
}

/* What each node of the tree has together with all below it. */
static void add_up(uint64_t *sums, const struct plumb_tree *t, const struct plumb_folded *stacks,
		   size_t n, bool counts)
{
	memset(sums, 0, (t->n_nodes ?: 1) * sizeof(*sums));
	for (size_t i = 0; i < n; i++)
		sums[stacks[i].leaf] += counts ? stacks[i].count : stacks[i].weight;
	/* Callers have lower numbers. */
	for (uint32_t i = t->n_nodes; i-- > 1;)
		sums[t->nodes[i].caller] += sums[i];
}

/* Those that have a frame, by their numbers. */
struct framed {
	struct frame **all;
	size_t n, room;
};

static void framed_add(struct framed *framed, struct frame *f)
{
	if (framed->n == framed->room) {
		framed->room = 2 * framed->room ?: 1024;
		framed->all = reallocarray(framed->all, framed->room, sizeof(*framed->all));
		if (!framed->all)
			abort();
	}
	framed->all[framed->n++] = f;
}

static int by_node(const void *node, const void *frame)
{
	const struct frame *f = *(struct frame *const *)frame;

	return (*(const uint32_t *)node > f->node) - (*(const uint32_t *)node < f->node);
}

/* The frames whose callers can be seen: of many stacks they are few. */
static struct frame *grow(const struct plumb_tree *t, const struct plumb_folded *stacks, size_t n)
{
	uint64_t *sums = calloc(t->n_nodes ?: 1, sizeof(*sums));
	struct frame *root = frame_new("all", false, 0), *f, **caller;
	struct framed framed = {};

	if (!sums)
		abort();
	add_up(sums, t, stacks, n, false);
	root->weight = sums[0];
	framed_add(&framed, root);
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		/* Other stacks of the same tree may have no part in it. */
		if (!sums[i] || !is_seen(root, sums[t->nodes[i].caller]))
			continue;
		caller = bsearch(&t->nodes[i].caller, framed.all, framed.n, sizeof(*framed.all),
				 by_node);
		if (!caller)
			continue;
		f = frame_new(plumb_tree_name(t, i)->text, plumb_tree_name(t, i)->is_kernel, i);
		f->weight = sums[i];
		frame_add(*caller, f);
		framed_add(&framed, f);
	}
	add_up(sums, t, stacks, n, true);
	for (size_t i = 0; i < framed.n; i++)
		framed.all[i]->count = sums[framed.all[i]->node];
	free(framed.all);
	free(sums);
	sort(root, t);
	return root;
}

static void measure(struct graph *g, const struct frame *f, size_t depth)
{
	if (!is_seen(g->all, f->weight)) {
		g->hidden++;
		return;
	}
	if (depth > g->depth)
		g->depth = depth;
	for (size_t i = 0; i < f->n; i++)
		measure(g, f->called[i], depth + 1);
}

/* The first MOST characters, for XML, as text and between quotes. */
static void escape(const char *text, size_t most, FILE *out)
{
	for (size_t n; *text && most--; text += n) {
		n = character_at((const unsigned char *)text) ?: 1;
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fwrite(text, 1, n, out);
		}
	}
}

static size_t count_characters(const char *text)
{
	size_t count = 0;

	for (; *text; count++)
		text += character_at((const unsigned char *)text) ?: 1;
	return count;
}

/* A colour that a name keeps: of warm hues for the kernel, of green for the rest. */
static void print_colour(const struct frame *f, size_t depth, FILE *out)
{
	uint32_t hash = 2166136261U; /* FNV-1a */

	for (const char *c = f->name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619U;
	if (!depth)
		fputs("#d0d0d0", out);
	else
		fprintf(out, "hsl(%u,%u%%,%u%%)", f->is_kernel ? 15 + hash % 25 : 80 + hash % 40,
			60 + hash / 64 % 20, 62 + hash / 4096 % 12);
}

static void print_weight(const struct graph *g, const struct frame *f, FILE *out)
{
	char text[32];

	if (!strcmp(g->flame->unit, "ns"))
		fprintf(out, "%s, %llu times",
			plumb_format_time(f->weight, PLUMB_AUTO, text, sizeof(text)),
			(unsigned long long)f->count);
	else
		fprintf(out, "%llu %s", (unsigned long long)f->weight, g->flame->unit);
	fprintf(out, ", %.2f %%", 100.0 * f->weight / g->all->weight);
}

/* As much of the name as there is room for. */
static void print_label(const struct frame *f, double width, FILE *out)
{
	size_t room = width > 6 ? (width - 6) / CHARACTER : 0, length = count_characters(f->name);

	if (room < 3)
		return;
	escape(f->name, length <= room ? length : room - 2, out);
	fputs(length <= room ? "" : "..", out);
}

static void print_frame(const struct graph *g, const struct frame *f, size_t depth, uint64_t before)
{
	double whole = g->all->weight, from = before / whole, share = f->weight / whole;
	size_t y = TOP + (g->depth - depth) * ROW;
	FILE *out = g->out;

	if (!is_seen(g->all, f->weight))
		return;
	fputs("<g class=\"frame\" data-name=\"", out);
	escape(f->name, SIZE_MAX, out);
	fprintf(out, "\" data-from=\"%.12g\" data-share=\"%.12g\" data-depth=\"%zu\"><title>", from,
		share, depth);
	escape(f->name, SIZE_MAX, out);
	fprintf(out, "%s (", f->is_kernel ? " [kernel]" : "");
	print_weight(g, f, out);
	fprintf(out, ")</title><rect x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"%d\" fill=\"",
		from * WIDTH, y, share * WIDTH, ROW - 1);
	print_colour(f, depth, out);
	fprintf(out, "\"/><text x=\"%.2f\" y=\"%zu\">", from * WIDTH + 3, y + 12);
	print_label(f, share * WIDTH, out);
	fputs("</text></g>\n", out);
	for (size_t i = 0; i < f->n; i++) {
		print_frame(g, f->called[i], depth + 1, before);
		before += f->called[i]->weight;
	}
}

static void print_graph(const struct graph *g)
{
	size_t height = TOP + (g->depth + 1) * ROW + BOTTOM;
	FILE *out = g->out;

	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
		"viewBox=\"0 0 %d %zu\" data-width=\"%d\" data-character=\"%g\">\n"
		"<style>\n%s</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<text id=\"title\" x=\"%d\" y=\"22\" text-anchor=\"middle\">",
		WIDTH, height, WIDTH, height, WIDTH, CHARACTER, style, WIDTH / 2);
	escape(g->flame->title, SIZE_MAX, out);
	fprintf(out,
		"</text>\n<text id=\"reset\" x=\"10\" y=\"22\" style=\"display:none\">all</text>\n"
		"<text id=\"search\" x=\"%d\" y=\"22\" text-anchor=\"end\">search</text>\n"
		"<text id=\"matched\" x=\"%d\" y=\"40\" text-anchor=\"end\"></text>\n"
		"<text id=\"details\" x=\"10\" y=\"%zu\"></text>\n",
		WIDTH - 10, WIDTH - 10, height - 12);
	if (g->hidden)
		fprintf(out,
			"<text x=\"%d\" y=\"%zu\" text-anchor=\"end\">%zu narrower frames "
			"(and what they called) are not drawn</text>\n",
			WIDTH - 10, height - 12, g->hidden);
	if (g->all->weight)
		print_frame(g, g->all, 0, 0);
	fprintf(out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", script);
}

static int cannot_write(const char *path, int err)
{
	return plumb_error(err, "--flame: cannot write %s: %s", path, plumb_atomic_file_error(err));
}

/* Where it is to be, as found before the trace. */
static struct plumb_atomic_file place;

int plumb_flame_check(const char *path)
{
	struct plumb_atomic_file attempt;
	int err;

	if (place.name)
		plumb_atomic_file_end(&place, 0);
	err = plumb_atomic_file_find(&place, path);
	if (err)
		return cannot_write(path, err);
	if (place.was.st_mode && faccessat(place.dir, place.name, W_OK, AT_EACCESS))
		err = -errno;
	/*
	 * To open a pipe, and close it, would be its reader's end.  EPERM is of an
	 * immutable file, which cannot be replaced either.
	 */
	if (!S_ISFIFO(place.was.st_mode) && err != -EPERM) {
		err = plumb_atomic_file_begin(&attempt, path);
		if (!err)
			plumb_atomic_file_end(&attempt, -ECANCELED);
	}
	return err ? cannot_write(path, err) : 0;
}

int plumb_flame_write(const char *path, const struct plumb_flame *flame,
		      const struct plumb_tree *tree, const struct plumb_folded *stacks, size_t n)
{
	struct graph g = {.flame = flame, .all = grow(tree, stacks, n)};
	int err = place.name ? 0 : plumb_atomic_file_find(&place, path);

	err = err ?: plumb_atomic_file_open(&place);
	measure(&g, g.all, 0);
	if (!err) {
		g.out = place.out;
		print_graph(&g);
		err = plumb_atomic_file_end(&place, 0);
	}
	frame_free(g.all);
	return err ? cannot_write(path, err) : 0;
}
