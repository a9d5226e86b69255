/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "pictures.h"
#include <plumb/pictures/picture.h>

#include <errno.h>
#include <stdlib.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/text.h>
#include <plumb/split/split.h>

#define BANDS 60 /* at most; a bucket is not divided */

struct parts_chart {
	const struct plumb_part_name *names;
	size_t n_names;
	struct plumb_split_buckets *of; /* of all rows, by bucket */
	const struct picture_frame *frame;
	double right;
	FILE *out;
};

static void add(struct plumb_split_buckets *sum, const struct plumb_split_buckets *p)
{
	for (int i = 0; i < PLUMB_MAX_PARTS; i++)
		sum->ns[i] += p->ns[i];
}

/* A band of calls, from rank FROM (not included) to TO of N. */
static void draw_band(const struct parts_chart *c, const struct plumb_split_buckets *p,
		      uint64_t from, uint64_t to, uint64_t n)
{
	const struct picture_frame *f = c->frame;
	const double left = f->x + f->width * plumb_rank_place(from, n) / c->right;
	const double right = f->x + f->width * plumb_rank_place(to, n) / c->right;
	double sum = 0, below = 0;
	char text[32];

	for (int i = 0; i < PLUMB_MAX_PARTS; i++)
		sum += p->ns[i];
	for (size_t i = 0; sum > 0 && i < c->n_names; i++) {
		const uint64_t ns = p->ns[c->names[i].part];
		const double share = ns / sum;

		if (!ns)
			continue;
		fprintf(c->out,
			"<rect class=\"part p%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			"height=\"%.1f\"><title>%s: %.1f %%, %s in calls of p%.6g to p%.6g"
			"</title></rect>\n",
			i, left, f->y + f->height * (1 - below - share), right - left,
			f->height * share, c->names[i].heading, 100 * share,
			plumb_format_time(ns, PLUMB_AUTO, text, sizeof(text)), 100.0 * from / n,
			100.0 * to / n);
		below += share;
	}
}

static void draw_bands(const struct parts_chart *c, const struct plumb_dist *all)
{
	const uint64_t n = plumb_dist_count(all);
	uint64_t seen = 0, from = 0;
	struct plumb_split_buckets sum = {};

	for (size_t i = 0; i < all->n; i++) {
		seen += all->buckets[i].count;
		add(&sum, &c->of[all->buckets[i].index]);
		if (seen < n &&
		    plumb_rank_place(seen, n) - plumb_rank_place(from, n) < c->right / BANDS)
			continue;
		draw_band(c, &sum, from, seen, n);
		from = seen;
		sum = (struct plumb_split_buckets){};
	}
}

static void draw_legend(const struct parts_chart *c)
{
	const double y = c->frame->y - 18;
	double x = c->frame->x + 260;

	for (size_t i = 0; i < c->n_names; i++) {
		fprintf(c->out,
			"<rect class=\"p%zu\" x=\"%.1f\" y=\"%g\" width=\"12\" height=\"12\"/>"
			"<text x=\"%.1f\" y=\"%g\">%s</text>\n",
			i, x, y, x + 16, y + 10, c->names[i].heading);
		x += 30 + SVG_CHARACTER * plumb_svg_characters(c->names[i].heading);
	}
}

static void draw_shares(const struct picture_frame *f, FILE *out)
{
	for (int share = 0; share <= 100; share += 25)
		fprintf(out, "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%d %%</text>\n",
			f->x - 6, f->y + f->height * (1 - share / 100.0) + 4, share);
}

int plumb_parts_chart_draw(const struct plumb_report *r, const struct plumb_dist *all,
			   const struct picture_frame *f, double right, FILE *out)
{
	const struct plumb_measure *m = &r->run->tool->measure;
	struct parts_chart c = {
		.names = m->parts ?: plumb_split_parts,
		.n_names = m->parts ? m->n_parts : PLUMB_ALL_PARTS,
		.of = calloc(plumb_hist_buckets(all->precision), sizeof(*c.of)),
		.frame = f,
		.right = right,
		.out = out,
	};

	if (!c.of)
		return -ENOMEM;
	for (size_t i = 0; i < r->total->n; i++)
		for (size_t j = 0; j < r->total->rows[i].n_split; j++)
			add(&c.of[r->total->rows[i].split[j].bucket], &r->total->rows[i].split[j]);
	fprintf(out, "<text class=\"heading\" x=\"%g\" y=\"%g\">time by percentile band</text>\n",
		f->x, f->y - 8);
	plumb_ranks_draw(f, right, out);
	draw_shares(f, out);
	draw_legend(&c);
	draw_bands(&c, all);
	free(c.of);
	return 0;
}
