/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flame-svg.h"
#include <plumb/pictures/picture.h>

#include <math.h>
#include <string.h>
#include <plumb/core/text.h>

/* Pixels. */
#define ROW    17
#define TOP    104
#define BOTTOM 34

static const char script[] =
#include "flame.js.inc"
	;

static const char style[] = ".frame { cursor: pointer; }\n"
			    ".frame text { fill: #000; }\n"
			    ".frame rect { stroke: var(--paper); stroke-width: 0.5; }\n"
			    ".frame:hover rect { stroke: var(--ink); }\n"
			    ".caller rect { opacity: 0.5; }\n"
			    ".match rect { fill: #d050f0; }\n";

/* A change of this share has the darkest colour, unless a frame has changed more. */
#define FULL_CHANGE 0.1

/* Smaller changes are printed as 0.00 of 100. */
#define LEAST_CHANGE 0.00005

/* Red if its share has grown, blue if it has shrunk, the more the darker; white if neither. */
static void print_change_colour(const struct flame_graph *g, const struct flame_frame *f, FILE *out)
{
	const double change = flame_change(g, f);

	if (fabs(change) < LEAST_CHANGE)
		fputs("hsl(0,0%,95%)", out);
	else
		fprintf(out, "hsl(%d,90%%,%.0f%%)", change < 0 ? 215 : 0,
			95 - 40 * fabs(change) / fmax(g->most, FULL_CHANGE));
}

/* A colour that depends on the name: warm hues for the kernel, green for the rest. */
static void print_colour(const struct flame_frame *f, size_t depth, FILE *out)
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

static void print_weight(const struct flame_graph *g, const struct flame_frame *f, FILE *out)
{
	const bool times = !strcmp(g->flame->unit, "ns");
	char text[32];

	if (times)
		fputs(plumb_format_time(f->weight, PLUMB_AUTO, text, sizeof(text)), out);
	else
		fprintf(out, "%llu %s", (unsigned long long)f->weight, g->flame->unit);
	/* Time on the CPU, which is sampled, is no number of intervals. */
	if (times && f->count)
		fprintf(out, ", %llu times", (unsigned long long)f->count);
	fprintf(out, ", %.2f %%", 100.0 * f->weight / g->all->weight);
	if (g->all->before)
		fprintf(out, "; before %.2f %%, change %+.2f", 100.0 * f->before / g->all->before,
			100 * flame_change(g, f));
}

/* Prints as much of the name as fits. */
static void print_label(const struct flame_frame *f, double width, FILE *out)
{
	size_t room = width > 6 ? (width - 6) / SVG_CHARACTER : 0,
	       length = plumb_svg_characters(f->name);

	if (room < 3)
		return;
	plumb_svg_escape(f->name, length <= room ? length : room - 2, out);
	fputs(length <= room ? "" : "..", out);
}

static void print_frame(const struct flame_graph *g, const struct flame_frame *f, size_t depth,
			uint64_t before)
{
	double whole = g->all->weight, from = before / whole, share = f->weight / whole;
	size_t y = TOP + (g->depth - depth) * ROW;
	FILE *out = g->out;

	if (!flame_is_seen(g->all, f->weight))
		return;
	fputs("<g class=\"frame\" data-name=\"", out);
	plumb_svg_escape(f->name, SIZE_MAX, out);
	fprintf(out, "\" data-from=\"%.12g\" data-share=\"%.12g\" data-depth=\"%zu\"><title>", from,
		share, depth);
	plumb_svg_escape(f->name, SIZE_MAX, out);
	fprintf(out, "%s (", f->is_kernel ? " [kernel]" : "");
	print_weight(g, f, out);
	fprintf(out, ")</title><rect x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"%d\" fill=\"",
		from * SVG_WIDTH, y, share * SVG_WIDTH, ROW - 1);
	if (g->all->before && depth)
		print_change_colour(g, f, out);
	else
		print_colour(f, depth, out);
	fprintf(out, "\"/><text x=\"%.2f\" y=\"%zu\">", from * SVG_WIDTH + 3, y + 12);
	print_label(f, share * SVG_WIDTH, out);
	fputs("</text></g>\n", out);
	for (size_t i = 0; i < f->n; i++) {
		print_frame(g, f->called[i], depth + 1, before);
		before += f->called[i]->weight;
	}
}

void plumb_flame_draw(const struct flame_graph *g)
{
	size_t height = TOP + (g->depth + 1) * ROW + BOTTOM;
	FILE *out = g->out;

	plumb_svg_begin(out, height, style);
	if (g->flame->report)
		plumb_picture_caption(g->flame->report, out);
	fputs("<text id=\"about\" class=\"dim\" x=\"10\" y=\"78\">", out);
	plumb_svg_escape(g->flame->about, SIZE_MAX, out);
	fprintf(out,
		"</text>\n"
		"<text id=\"search\" class=\"button\" x=\"%d\" y=\"60\" "
		"text-anchor=\"end\">search</text>\n"
		"<text id=\"matched\" x=\"%d\" y=\"78\" text-anchor=\"end\"></text>\n"
		"<text id=\"details\" x=\"10\" y=\"%zu\"></text>\n",
		SVG_WIDTH - 10, SVG_WIDTH - 10, height - 12);
	plumb_picture_reset(80, out);
	if (g->all->before)
		fprintf(out,
			"<text id=\"gone\" class=\"dim\" x=\"10\" y=\"96\">red: a larger share "
			"than "
			"before, blue: a smaller one, at most %.2f of 100; %.2f %% of before are "
			"stacks "
			"that are gone</text>\n",
			100 * g->most, 100.0 * g->gone / g->all->before);
	if (!g->all->weight)
		fprintf(out,
			"<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">nothing recorded</text>\n",
			SVG_WIDTH / 2, TOP + 12);
	else if (g->hidden)
		fprintf(out,
			"<text x=\"%d\" y=\"%zu\" text-anchor=\"end\">not drawn, too "
			"narrow: %zu (and what they called)</text>\n",
			SVG_WIDTH - 10, height - 12, g->hidden);
	if (g->all->weight)
		print_frame(g, g->all, 0, 0);
	plumb_svg_end(out, script);
}
