/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "pictures.h"
#include <plumb/pictures/picture.h>

#include <math.h>
#include <plumb/bpf/hist/hist.h>

/* Pixels. */
#define LOWEST  360
#define HIGHEST 860
#define LINE    4 /* of a line of cells, if there is room */
#define BOTTOM  76
#define NARROW  2.0 /* no cell is narrower, so that a single call is seen */
#define WIDE    8.0 /* nor that of calls in flight */
#define LEVELS  8
#define TIME    100000.0 /* units of the plot's own coordinates across; down a unit is a line */

static const char script[] =
#include "picture.js.inc"
#include "heatmap.js.inc"
	;

/* Levels from few calls to many: the first one stands out from the paper. */
static const char style[] =
	PICTURE_STYLE ".l0 { fill: #feb24c; } .l1 { fill: #fd8d3c; } .l2 { fill: #fc4e2a; }\n"
		      ".l3 { fill: #e31a1c; } .l4 { fill: #bd0026; } .l5 { fill: #80002a; }\n"
		      ".l6 { fill: #4c0026; } .l7 { fill: #1e0014; }\n"
		      "@media screen and (prefers-color-scheme: dark) {\n"
		      ".l0 { fill: #8f3d12; } .l1 { fill: #b8520f; } .l2 { fill: #da6c0c; }\n"
		      ".l3 { fill: #f08d1c; } .l4 { fill: #f8ae3d; } .l5 { fill: #fdcc69; }\n"
		      ".l6 { fill: #fee69c; } .l7 { fill: #fffce4; }\n"
		      "}\n";

struct heatmap {
	const struct plumb_history *h;
	const struct plumb_report *r;
	uint32_t precision, first, last; /* lines that have calls, with one more on either side */
	uint64_t ns, most;               /* the whole time; calls of the fullest cell */
	uint64_t from[LEVELS + 1];       /* the least count of each level */
	size_t levels, flights;          /* calls in flight at the end */
	bool is_size;
	struct picture_frame frame;
};

/* The calls of a column's next line that has any, from bucket *I on; 0: there is none. */
static uint64_t next_cell(const struct heatmap *m, size_t column, size_t *i, uint32_t *line)
{
	const struct plumb_dist *d = &m->h->columns[column].dist;
	uint64_t count = 0;

	if (*i < d->n)
		*line = plumb_line_of(d->buckets[*i].index, m->precision);
	for (; *i < d->n && plumb_line_of(d->buckets[*i].index, m->precision) == *line; ++*i)
		count += d->buckets[*i].count;
	return count;
}

static void measure_line(struct heatmap *m, uint32_t line)
{
	const bool is_first = m->first > m->last;

	if (is_first || line < m->first)
		m->first = line;
	if (is_first || line > m->last)
		m->last = line;
}

static void measure_flight(void *context, uint32_t line, uint64_t ns)
{
	measure_line(context, line);
}

/* Divides 1 to MOST evenly by their logarithms; each level begins at another number. */
static void find_levels(struct heatmap *m)
{
	uint64_t from = 1, next;

	for (size_t i = 0; i < LEVELS && from <= m->most; i++) {
		m->from[m->levels++] = from;
		next = ceil(pow(m->most + 1.0, (i + 1.0) / LEVELS));
		from = next > from ? next : from + 1;
	}
	m->from[m->levels] = m->most + 1;
}

static size_t level_of(const struct heatmap *m, uint64_t count)
{
	size_t i = m->levels - 1;

	while (i && count < m->from[i])
		i--;
	return i;
}

/* Colours are spread over the levels that there are. */
static size_t colour_of(const struct heatmap *m, size_t level)
{
	return m->levels > 1 ? level * (LEVELS - 1) / (m->levels - 1) : 0;
}

static void measure(struct heatmap *m, const struct plumb_report *r)
{
	const uint32_t end = plumb_line_of(plumb_hist_buckets(m->precision) - 1, m->precision);

	uint64_t count;
	uint32_t line;

	m->ns = m->h->n ? m->h->columns[m->h->n - 1].to : 0;
	m->first = 1; /* after the last: none yet */
	for (size_t i = 0; i < m->h->n; i++)
		for (size_t j = 0; (count = next_cell(m, i, &j, &line));) {
			measure_line(m, line);
			m->most = count > m->most ? count : m->most;
		}
	m->flights = plumb_picture_flights(r, measure_flight, m);
	if (m->first > m->last) {
		m->first = 0;
		m->last = plumb_lines_per_octave(m->precision);
	}
	m->first -= m->first > 0;
	m->last += m->last < end;
	find_levels(m);
}

struct path {
	const struct heatmap *m;
	double x, width;
	FILE *out;
};

static void draw_cell(const struct path *p, uint32_t line)
{
	fprintf(p->out, "M%.0f %uh%.0fv1h-%.0fz", p->x, p->m->last - line, p->width, p->width);
}

/* Where the cells of a column are. */
static void place_column(struct path *p, size_t column, double narrow)
{
	const struct history_column *c = &p->m->h->columns[column];
	const double least = narrow / p->m->frame.width * TIME;

	p->x = floor(c->from * TIME / p->m->ns);
	p->width = ceil(c->to * TIME / p->m->ns) - p->x;
	if (p->width < least)
		p->width = ceil(least);
	if (p->x + p->width > TIME)
		p->x = TIME - p->width;
}

/* All cells of a level are one path, which browsers draw fast. */
static void draw_level(const struct heatmap *m, size_t level, FILE *out)
{
	struct path p = {.m = m, .out = out};
	uint64_t count;
	uint32_t line;

	fprintf(out, "<path class=\"l%zu\" d=\"", colour_of(m, level));
	for (size_t i = 0; i < m->h->n; i++) {
		place_column(&p, i, NARROW);
		for (size_t j = 0; (count = next_cell(m, i, &j, &line));)
			if (level_of(m, count) == level)
				draw_cell(&p, line);
	}
	fputs("\"/>\n", out);
}

static void draw_flight(void *context, uint32_t line, uint64_t ns)
{
	draw_cell(context, line);
}

/* What has not ended is in the last column, with its time so far. */
static void draw_flights(const struct heatmap *m, const struct plumb_report *r, FILE *out)
{
	struct path p = {.m = m, .out = out};

	if (!m->flights || !m->h->n)
		return;
	place_column(&p, m->h->n - 1, WIDE);
	fputs("<path class=\"flight\" d=\"", out);
	plumb_picture_flights(r, draw_flight, &p);
	fputs("\"/>\n", out);
}

static void draw_plot(const struct heatmap *m, FILE *out)
{
	const struct picture_frame *f = &m->frame;

	plumb_picture_values(f, m->first, m->last, m->precision, m->is_size, out);
	fprintf(out,
		"<svg id=\"plot\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" "
		"viewBox=\"0 0 %.0f %u\" preserveAspectRatio=\"none\" "
		"shape-rendering=\"crispEdges\" data-first=\"%u\" data-octave=\"%u\">\n",
		f->x, f->y, f->width, f->height, TIME, m->last + 1 - m->first, m->first,
		plumb_lines_per_octave(m->precision));
	for (size_t i = 0; i < m->levels; i++)
		draw_level(m, i, out);
	draw_flights(m, m->r, out);
	fprintf(out,
		"</svg>\n<rect id=\"frame\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n"
		"<rect id=\"mark\" style=\"display:none\"/>\n"
		"<rect id=\"selection\" style=\"display:none\"/>\n"
		"<rect id=\"zone\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n",
		f->x, f->y, f->width, f->height, f->x, f->y, f->width, f->height);
	if (!m->most)
		fprintf(out,
			"<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">nothing recorded</text>\n",
			f->x + f->width / 2, f->y + f->height / 2);
}

static void draw_legend(const struct heatmap *m, const char *counted, FILE *out)
{
	const double y = m->frame.y + m->frame.height + 30;
	double x = m->frame.x;
	char text[64];

	fprintf(out, "<g id=\"legend\"><text x=\"10\" y=\"%g\">%s</text>\n", y + 11, counted);
	for (size_t i = 0; i < m->levels; i++) {
		const uint64_t to = m->from[i + 1] - 1;
		int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)m->from[i]);

		if (to > m->from[i])
			n += snprintf(text + n, sizeof(text) - n, "..%llu", (unsigned long long)to);
		fprintf(out,
			"<rect class=\"l%zu\" x=\"%.1f\" y=\"%g\" width=\"14\" height=\"14\"/>"
			"<text x=\"%.1f\" y=\"%g\">%s</text>\n",
			colour_of(m, i), x, y, x + 18, y + 11, text);
		x += 18 + n * SVG_CHARACTER + 14;
	}
	if (m->flights)
		fprintf(out,
			"<rect class=\"flight\" x=\"%.1f\" y=\"%g\" width=\"14\" height=\"14\"/>"
			"<text x=\"%.1f\" y=\"%g\">in flight at the end, time so far: %zu</text>\n",
			x, y, x + 18, y + 11, m->flights);
	fputs("</g>\n", out);
}

/*
 * For the script: the edges of the lines from above; of each column its times in ns, and its lines,
 * from above, with their counts.
 */
static void print_data(const struct heatmap *m, FILE *out)
{
	uint64_t count;
	uint32_t line;

	fprintf(out, "<metadata id=\"data\">{\"sizes\":%s,\"edges\":[",
		m->is_size ? "true" : "false");
	for (uint32_t i = 0; i <= m->last + 1 - m->first; i++) {
		const uint64_t edge = plumb_line_lowest(m->last + 1 - i, m->precision);

		/* The line beyond the range has no end. */
		if (edge > 1ULL << PLUMB_HIST_RANGE_BITS)
			fputs("null", out);
		else
			fprintf(out, "%s%llu", i ? "," : "", (unsigned long long)edge);
	}
	fputs("],\"columns\":[", out);
	for (size_t i = 0; i < m->h->n; i++) {
		fprintf(out, "%s\n[%llu,%llu", i ? "," : "",
			(unsigned long long)m->h->columns[i].from,
			(unsigned long long)m->h->columns[i].to);
		for (size_t j = 0; (count = next_cell(m, i, &j, &line));)
			fprintf(out, ",%u,%llu", m->last - line, (unsigned long long)count);
		fputc(']', out);
	}
	fputs("]}</metadata>\n", out);
}

static void draw(void *context, FILE *out)
{
	const struct heatmap *m = context;

	draw_plot(m, out);
	draw_legend(m, m->r->run->tool->measure.counted ?: "calls", out);
	fprintf(out, "<text id=\"details\" x=\"10\" y=\"%g\"></text>\n",
		m->frame.y + m->frame.height + BOTTOM - 10);
	print_data(m, out);
}

int plumb_heatmap_draw(const struct plumb_history *h, const struct plumb_report *r, FILE *out)
{
	struct heatmap m = {.h = h, .r = r, .precision = r->run->options.precision};
	double height;

	m.is_size = r->run->tool->measure.kind == PLUMB_SIZES;
	measure(&m, r);
	height = LINE * (m.last + 1.0 - m.first);
	height = height < LOWEST ? LOWEST : height > HIGHEST ? HIGHEST : height;
	m.frame = (struct picture_frame){PICTURE_LEFT, PICTURE_TOP,
					 SVG_WIDTH - PICTURE_LEFT - PICTURE_RIGHT, height};
	plumb_picture_draw(
		&(struct plumb_picture){
			.report = r,
			.height = PICTURE_TOP + height + BOTTOM,
			.reset = PICTURE_RIGHT,
			.frame = &m.frame,
			.ns = m.ns,
			.style = style,
			.script = script,
			.body = draw,
			.context = &m,
		},
		out);
	return 0;
}
