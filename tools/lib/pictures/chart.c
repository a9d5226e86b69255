/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "pictures.h"
#include <plumb/pictures/picture.h>

#include <math.h>
#include <stdlib.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/text.h>

/* Pixels. */
#define HEIGHT   300 /* of a panel */
#define BELOW    64  /* labels, and the next panel's heading */
#define SHORTEST 8   /* mark of what has not ended */
#define PLOT     (SVG_WIDTH - PICTURE_LEFT - PICTURE_RIGHT)

static const char script[] =
#include "picture.js.inc"
#include "chart.js.inc"
	;

static const char style[] = PICTURE_STYLE
	"svg { --lightness: 38%; }\n"
	"@media screen and (prefers-color-scheme: dark) { svg { --lightness: 66%; } }\n"
	".frame { fill: transparent; stroke: var(--dim); }\n"
	".curve { fill: none; stroke-width: 1.5; pointer-events: none; "
	"vector-effect: non-scaling-stroke; }\n"
	"#over-time { cursor: crosshair; }\n"
	".weak { stroke-dasharray: 2 3; opacity: 0.7; }\n"
	".pointer { stroke: var(--ink); pointer-events: none; }\n"
	"#whole { stroke: var(--ink); }\n" PARTS_CHART_STYLE;

struct chart {
	const struct plumb_history *h;
	const struct plumb_report *r;
	const struct plumb_options *o;
	struct plumb_dist all;
	uint64_t n; /* calls */
	uint32_t precision, first, last;
	bool is_size;
	struct picture_frame over_time, distribution;
	size_t flights; /* calls in flight at the end */
	FILE *out;
	double right; /* the end of the distribution's axis: see plumb_rank_place() */
	int err;
};

double plumb_rank_place(uint64_t rank, uint64_t n)
{
	return rank < n ? -log10(1 - (double)rank / n) : log10(n) + 0.2;
}

static double place_y(const struct chart *c, const struct picture_frame *f, uint64_t value)
{
	return f->y + f->height -
	       f->height * (plumb_line_place(value, c->precision) - c->first) /
		       (c->last + 1 - c->first);
}

static double place_x(const struct chart *c, double place)
{
	return PICTURE_LEFT + PLOT * place / c->right;
}

static const char *format_value(const struct chart *c, uint64_t value, char *text, size_t size)
{
	return plumb_format_time(value, c->is_size ? PLUMB_BYTES : PLUMB_AUTO, text, size);
}

/* From blue for low percentiles to red for high ones. */
static int hue_of(const struct chart *c, size_t i)
{
	size_t lower = 0;

	for (size_t j = 0; j < c->o->n_percentiles; j++)
		lower += c->o->percentiles[j].p < c->o->percentiles[i].p;
	return c->o->n_percentiles > 1 ? 230 - 230 * lower / (c->o->n_percentiles - 1) : 230;
}

/* One curve, of columns with enough calls for the percentile or (WEAK) with too few. */
static void draw_curve(const struct chart *c, size_t percentile, bool weak, FILE *out)
{
	const uint64_t p = c->o->percentiles[percentile].p, ns = c->h->columns[c->h->n - 1].to;
	const struct picture_frame *f = &c->over_time;
	bool follows = false;

	fprintf(out, "<path class=\"curve%s\" style=\"stroke: hsl(%d,75%%,var(--lightness))\" d=\"",
		weak ? " weak" : "", hue_of(c, percentile));
	for (size_t i = 0; i < c->h->n; i++) {
		const struct history_column *column = &c->h->columns[i];
		const uint64_t count = plumb_dist_count(&column->dist);
		const double y = place_y(c, f, plumb_percentile(&column->dist, p));

		if (!count || plumb_percentile_is_weak(count, p) != weak) {
			follows = false;
			continue;
		}
		if (follows)
			fprintf(out, "V%.1f", y);
		else
			fprintf(out, "M%.1f %.1f", f->x + f->width * column->from / ns, y);
		fprintf(out, "H%.1f", f->x + f->width * column->to / ns);
		follows = true;
	}
	fputs("\"/>\n", out);
}

static void draw_frame(const struct picture_frame *f, const char *id, const char *heading,
		       FILE *out)
{
	fprintf(out,
		"<text class=\"heading\" x=\"%g\" y=\"%g\">%s</text>\n"
		"<rect class=\"frame\" id=\"%s\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n"
		"<line class=\"pointer\" id=\"%s-pointer\" y1=\"%g\" y2=\"%g\" "
		"style=\"display:none\"/>\n",
		f->x, f->y - 8, heading, id, f->x, f->y, f->width, f->height, id, f->y,
		f->y + f->height);
}

/* Since when it has been in flight, at its time so far. */
static void draw_flight(void *context, uint32_t line, uint64_t ns)
{
	const struct chart *c = context;
	const struct picture_frame *f = &c->over_time;
	const uint64_t all = c->h->n ? c->h->columns[c->h->n - 1].to : 0;
	double width = all ? f->width * ns / all : 0;

	width = width < SHORTEST ? SHORTEST : width > f->width ? f->width : width;
	fprintf(c->out, "M%.1f %.1fh%.1f", f->x + f->width - width, place_y(c, f, ns), width);
}

static void draw_flights(const struct chart *c, const struct plumb_report *r, FILE *out)
{
	if (!c->flights)
		return;
	fputs("<path class=\"flight\" d=\"", out);
	plumb_picture_flights(r, draw_flight, (void *)c);
	fputs("\"/>\n", out);
}

static void draw_over_time(const struct chart *c, FILE *out)
{
	const struct picture_frame *f = &c->over_time;
	double x = f->x + 200;

	plumb_picture_values(f, c->first, c->last, c->precision, c->is_size, out);
	/* Its coordinates are those of the picture until it is zoomed. */
	fprintf(out,
		"<svg id=\"plot\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" "
		"viewBox=\"%g %g %g %g\" preserveAspectRatio=\"none\">\n",
		f->x, f->y, f->width, f->height, f->x, f->y, f->width, f->height);
	for (size_t i = 0; c->h->n && i < c->o->n_percentiles; i++) {
		draw_curve(c, i, false, out);
		draw_curve(c, i, true, out);
	}
	draw_flights(c, c->r, out);
	fputs("</svg>\n", out);
	for (size_t i = 0; c->h->n && i < c->o->n_percentiles; i++) {
		fprintf(out,
			"<text class=\"heading\" x=\"%.1f\" y=\"%g\" "
			"style=\"fill: hsl(%d,75%%,var(--lightness))\">p%s</text>\n",
			x, f->y - 8, hue_of(c, i), c->o->percentiles[i].name);
		x += 60;
	}
	fprintf(out, "<text class=\"dim\" x=\"%.1f\" y=\"%g\">dotted: too few calls", x, f->y - 8);
	if (c->flights)
		fprintf(out, "; dashed: in flight at the end, time so far: %zu", c->flights);
	fputs("</text>\n", out);
	fputs("<rect id=\"selection\" style=\"display:none\"/>\n", out);
	draw_frame(f, "over-time", "percentiles over time", out);
}

void plumb_ranks_draw(const struct picture_frame *f, double right, FILE *out)
{
	char name[32] = "0";
	double place = 0;

	for (int nines = 0; place <= right; nines++) {
		const double x = f->x + f->width * place / right;

		fprintf(out,
			"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\"/><text x=\"%.1f\" "
			"y=\"%g\" text-anchor=\"middle\">p%s</text>\n",
			x, x, f->y, f->y + f->height, x, f->y + f->height + 16, name);
		/* 0, 50, 90, 99, 99.9, ... */
		place = nines ? nines : -log10(0.5);
		if (nines < 2)
			snprintf(name, sizeof(name), "%s", nines ? "90" : "50");
		else
			snprintf(name, sizeof(name), "99%s%.*s", nines > 2 ? "." : "", nines - 2,
				 "99999999999999999999");
	}
}

static uint64_t highest_of(const struct plumb_dist *d, size_t i)
{
	const uint64_t highest = plumb_bucket_highest(d->buckets[i].index, d->precision);

	return highest < d->max ? highest : d->max;
}

static void draw_percentile(const struct chart *c, size_t i, FILE *out)
{
	const uint64_t p = c->o->percentiles[i].p, value = plumb_percentile(&c->all, p);
	const double y = place_y(c, &c->distribution, value);
	const double x = place_x(c, plumb_rank_place(p, 100 * PLUMB_PERCENT));
	const bool is_left = x < PICTURE_LEFT + 140; /* no room on its left */
	char text[32];

	if (x > PICTURE_LEFT + PLOT)
		return;
	fprintf(out,
		"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" style=\"fill: hsl(%d,75%%,"
		"var(--lightness))\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">p%s "
		"%s%s</text>\n",
		x, y, hue_of(c, i), is_left ? x + 8 : x - 6, is_left ? y - 20 : y - 7,
		is_left ? "start" : "end", c->o->percentiles[i].name,
		format_value(c, value, text, sizeof(text)),
		plumb_percentile_is_weak(c->n, p) ? "?" : "");
}

static void draw_distribution(const struct chart *c, FILE *out)
{
	const struct picture_frame *f = &c->distribution;
	uint64_t seen = 0;

	plumb_picture_values(f, c->first, c->last, c->precision, c->is_size, out);
	plumb_ranks_draw(f, c->right, out);
	fprintf(out, "<path class=\"curve\" id=\"whole\" d=\"");
	for (size_t i = 0; i < c->all.n; i++) {
		const double y = place_y(c, f, highest_of(&c->all, i));

		fprintf(out, i ? "V%.1f" : "M%g %.1f", i ? y : f->x, y);
		seen += c->all.buckets[i].count;
		fprintf(out, "H%.1f", place_x(c, plumb_rank_place(seen, c->n)));
	}
	fputs("\"/>\n", out);
	draw_frame(f, "distribution", "percentile distribution of the whole run", out);
	for (size_t i = 0; c->n && i < c->o->n_percentiles; i++)
		draw_percentile(c, i, out);
}

/* A column's times, and what is shown of it. */
static void print_column(const struct chart *c, const struct history_column *column, FILE *out)
{
	const uint64_t count = plumb_dist_count(&column->dist);
	char text[32];

	fprintf(out, "[%llu,%llu,%llu", (unsigned long long)column->from,
		(unsigned long long)column->to, (unsigned long long)count);
	for (size_t i = 0; count && i < c->o->n_percentiles; i++) {
		const uint64_t p = c->o->percentiles[i].p;

		format_value(c, plumb_percentile(&column->dist, p), text, sizeof(text));
		fprintf(out, ",\"p%s %s%s\"", c->o->percentiles[i].name, text,
			plumb_percentile_is_weak(count, p) ? "?" : "");
	}
	fputc(']', out);
}

static void print_data(const struct chart *c, FILE *out)
{
	uint64_t seen = 0;
	char text[32];

	fprintf(out, "<metadata id=\"data\">{\"right\":%.6g,\"count\":%llu,\"columns\":[", c->right,
		(unsigned long long)c->n);
	for (size_t i = 0; i < c->h->n; i++) {
		fputs(i ? ",\n" : "\n", out);
		print_column(c, &c->h->columns[i], out);
	}
	fputs("],\"ranks\":[", out);
	for (size_t i = 0; i < c->all.n; i++) {
		seen += c->all.buckets[i].count;
		fprintf(out, "%s[%llu,\"%s\"]", i ? ",\n" : "\n", (unsigned long long)seen,
			format_value(c, highest_of(&c->all, i), text, sizeof(text)));
	}
	fputs("]}</metadata>\n", out);
}

static void measure_flight(void *context, uint32_t line, uint64_t ns)
{
	struct chart *c = context;

	if (!c->last || line < c->first)
		c->first = line;
	if (line >= c->last)
		c->last = line + 1;
}

static void measure(struct chart *c, const struct plumb_report *r)
{
	c->n = plumb_dist_count(&c->all);
	c->right = c->n > 10 ? plumb_rank_place(c->n, c->n) : 1.2;
	if (c->n) {
		c->first = plumb_line_of(c->all.buckets[0].index, c->precision);
		c->last = plumb_line_of(c->all.buckets[c->all.n - 1].index, c->precision) + 1;
	}
	c->flights = plumb_picture_flights(r, measure_flight, c);
	if (!c->last)
		c->last = plumb_lines_per_octave(c->precision);
	c->over_time = (struct picture_frame){PICTURE_LEFT, PICTURE_TOP + 20, PLOT, HEIGHT};
	c->distribution = c->over_time;
	c->distribution.y += HEIGHT + BELOW;
}

static void draw(void *context, FILE *out)
{
	struct chart *c = context;
	struct picture_frame f = c->distribution;

	c->out = out;
	draw_over_time(c, out);
	draw_distribution(c, out);
	f.y += HEIGHT + BELOW;
	if (c->r->run->split) {
		c->err = plumb_parts_chart_draw(c->r, &c->all, &f, c->right, out);
		f.y += HEIGHT + BELOW;
	}
	fprintf(out, "<text id=\"details\" x=\"10\" y=\"%g\"></text>\n", f.y - 14);
	print_data(c, out);
}

int plumb_chart_draw(const struct plumb_history *h, const struct plumb_report *r, FILE *out)
{
	struct chart c = {
		.h = h, .r = r, .o = &r->run->options, .precision = r->run->options.precision};
	int err = plumb_history_sum(&c.all, r->total, c.precision);

	if (err)
		return err;
	c.is_size = r->run->tool->measure.kind == PLUMB_SIZES;
	measure(&c, r);
	plumb_picture_draw(
		&(struct plumb_picture){
			.report = r,
			.height = c.distribution.y + (r->run->split ? 2 : 1) * (HEIGHT + BELOW),
			.reset = PICTURE_RIGHT,
			.frame = &c.over_time,
			.ns = h->n ? h->columns[h->n - 1].to : 0,
			.style = style,
			.script = script,
			.body = draw,
			.context = &c,
		},
		out);
	free(c.all.buckets);
	return c.err;
}
