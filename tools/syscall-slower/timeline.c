/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "slower.h"

#include <stdlib.h>
#include <string.h>
#include <plumb/core/text.h>
#include <plumb/pictures/picture.h>
#include <plumb/split/split.h>
#include <plumb/syscalls/syscalls.h>

/* Pixels. */
#define LANE     24 /* of a thread */
#define BAR      18 /* of a call in it */
#define LEFT     190
#define BOTTOM   82
#define NARROW   1.5 /* no call is narrower */
#define LANES    200 /* at most */
#define CALL_LEN 64

static const char script[] =
#include "picture.js.inc"
#include "timeline.js.inc"
	;

static const char style[] = PICTURE_STYLE
	"#matches { fill: none; stroke: #d050f0; stroke-width: 2; pointer-events: none; }\n"
	"#search { text-anchor: end; }\n"
	".on_cpu { fill: #4c9f45; } .irq { fill: #8a8a8a; } .preempted { fill: #d62f2f; }\n"
	".blocked { fill: #3a78b5; } .runq { fill: #f2a61d; } .return { fill: #8c6bb1; }\n"
	".in_flight { fill: var(--paper); stroke: var(--ink); stroke-dasharray: 4 2; }\n";

/* A thread's calls: from FIRST, N of them. */
struct lane {
	size_t first, n;
};

struct lanes {
	struct lane *all;
	size_t n;
	size_t more;       /* threads that have no lane */
	uint64_t left_out; /* their calls */
};

static bool is_same_thread(const struct kept_call *a, const struct kept_call *b)
{
	return a->pid == b->pid && a->tid == b->tid;
}

static uint64_t time_in(const struct kept *k, const struct lane *l)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->n; i++)
		sum += k->calls[l->first + i].ns;
	return sum;
}

static int by_time(const void *a, const void *b, void *kept)
{
	const uint64_t x = time_in(kept, a), y = time_in(kept, b);

	return (x < y) - (x > y);
}

static int by_place(const void *a, const void *b)
{
	const struct lane *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Of too many threads, those with the most time in calls have a lane. */
static struct lanes find_lanes(const struct kept *k)
{
	struct lanes lanes = {.all = calloc(k->n ?: 1, sizeof(*lanes.all))};

	if (!lanes.all)
		abort();
	for (size_t i = 0; i < k->n; i++) {
		if (!i || !is_same_thread(&k->calls[i], &k->calls[i - 1]))
			lanes.all[lanes.n++].first = i;
		lanes.all[lanes.n - 1].n++;
	}
	if (lanes.n <= LANES)
		return lanes;
	qsort_r(lanes.all, lanes.n, sizeof(*lanes.all), by_time, (void *)k);
	for (size_t i = LANES; i < lanes.n; i++)
		lanes.left_out += lanes.all[i].n;
	lanes.more = lanes.n - LANES;
	lanes.n = LANES;
	qsort(lanes.all, lanes.n, sizeof(*lanes.all), by_place);
	return lanes;
}

struct drawing {
	const struct timeline *t;
	struct lanes lanes;
	uint64_t ns; /* of the run */
	struct picture_frame frame;
	FILE *out;
};

/* The calls' bars, of which PART is a layer: its height is its share of the time. */
static void draw_part(const struct drawing *d, size_t part)
{
	const double scale = d->frame.width / (d->ns ?: 1);

	fprintf(d->out, "<path class=\"%s\" d=\"", plumb_return_parts[part].json);
	for (size_t i = 0; i < d->lanes.n; i++) {
		const struct lane *l = &d->lanes.all[i];

		for (size_t j = l->first; j < l->first + l->n; j++) {
			const struct kept_call *c = &d->t->kept->calls[j];
			const double whole = c->ns ?: 1;
			double x = (c->begin - d->t->start) * scale, width = c->ns * scale,
			       below = 0;

			for (size_t k = 0; k < part; k++)
				below += c->parts[plumb_return_parts[k].part] / whole;
			if (!c->parts[plumb_return_parts[part].part])
				continue;
			width = width < NARROW ? NARROW : width;
			fprintf(d->out, "M%.2f %.2fh%.2fv%.2fh%.2fz", d->frame.x + x,
				d->frame.y + i * LANE + (LANE - BAR) / 2.0 +
					BAR * (1 - below -
					       c->parts[plumb_return_parts[part].part] / whole),
				width, BAR * c->parts[plumb_return_parts[part].part] / whole,
				-width);
		}
	}
	fputs("\"/>\n", d->out);
}

/* Those that had not ended, of which no parts are known. */
static void draw_flights(const struct drawing *d)
{
	const double scale = d->frame.width / (d->ns ?: 1);

	fputs("<path class=\"in_flight\" d=\"", d->out);
	for (size_t i = 0; i < d->lanes.n; i++) {
		const struct lane *l = &d->lanes.all[i];
		const struct kept_call *c = &d->t->kept->calls[l->first + l->n - 1];
		const double width = c->ns * scale;

		if (c->in_flight)
			fprintf(d->out, "M%.2f %.2fh%.2fv%dh%.2fz",
				d->frame.x + (c->begin - d->t->start) * scale,
				d->frame.y + i * LANE + (LANE - BAR) / 2.0,
				width < NARROW ? NARROW : width, BAR,
				width < NARROW ? -NARROW : -width);
	}
	fputs("\"/>\n", d->out);
}

static void draw_names(const struct drawing *d)
{
	char text[PLUMB_ESCAPED + 16], comm[PLUMB_ESCAPED];

	for (size_t i = 0; i < d->lanes.n; i++) {
		const struct lane *l = &d->lanes.all[i];
		/* The thread may have been renamed: its last name. */
		const struct kept_call *c = &d->t->kept->calls[l->first + l->n - 1];

		plumb_escape(comm, c->comm, sizeof(comm));
		snprintf(text, sizeof(text), "%s/%u", comm, c->tid);
		fprintf(d->out, "<text class=\"thread\" x=\"%d\" y=\"%g\" text-anchor=\"end\">",
			LEFT - 8, d->frame.y + i * LANE + 16);
		plumb_svg_escape(text, 25, d->out);
		fprintf(d->out, "</text><line x1=\"%d\" x2=\"%g\" y1=\"%g\" y2=\"%g\"/>\n", LEFT,
			d->frame.x + d->frame.width, d->frame.y + (i + 1.0) * LANE,
			d->frame.y + (i + 1.0) * LANE);
	}
}

static void draw_legend(const struct drawing *d)
{
	const double y = d->frame.y + d->frame.height + 26;
	double x = LEFT;

	for (size_t i = 0; i <= PLUMB_RETURN_PARTS; i++) {
		fprintf(d->out,
			"<rect class=\"%s\" x=\"%.1f\" y=\"%g\" width=\"12\" height=\"12\"/>"
			"<text x=\"%.1f\" y=\"%g\">%s</text>\n",
			plumb_return_parts[i].json, x, y, x + 16, y + 10,
			plumb_return_parts[i].heading);
		x += 100;
	}
	fprintf(d->out,
		"<rect class=\"in_flight\" x=\"%.1f\" y=\"%g\" width=\"12\" height=\"12\"/>"
		"<text x=\"%.1f\" y=\"%g\">IN FLIGHT</text>\n",
		x, y, x + 16, y + 10);
	x += 100;
	fprintf(d->out,
		"<text class=\"dim\" x=\"%.1f\" y=\"%g\">in a call: shares of its time, not their "
		"order</text>\n"
		"<text id=\"omitted\" class=\"dim\" x=\"%d\" y=\"%g\">",
		x, y + 10, LEFT, y + 28);
	if (d->t->kept->dropped)
		fprintf(d->out, "the %zu longest calls; not shown: %llu shorter ones",
			d->t->kept->n, (unsigned long long)d->t->kept->dropped);
	if (d->lanes.more)
		fprintf(d->out,
			"%s%zu threads with the most time in calls; not shown: %llu calls of %zu "
			"threads",
			d->t->kept->dropped ? "; of these, the " : "the ", d->lanes.n,
			(unsigned long long)d->lanes.left_out, d->lanes.more);
	fputs("</text>\n", d->out);
}

/* "read = 100", "futex, in flight"; "read = -EINTR" would need the names of errors: the number is
 * enough. */
static void name_call(const struct kept_call *c, char *text, size_t size)
{
	char name[CALL_LEN];

	plumb_syscall_name(c->nr, c->abi, name, sizeof(name));
	if (c->in_flight)
		snprintf(text, size, "%s, in flight", name);
	else
		snprintf(text, size, "%s = %lld", name, (long long)c->ret);
}

/* For the script: lane, begin since the start, ns, ns of the parts, and what it was. */
static void print_data(const struct drawing *d)
{
	char text[2 * CALL_LEN];

	fprintf(d->out, "<metadata id=\"data\">{\"ns\":%llu,\"lane\":%d,\"bar\":%d,\"calls\":[",
		(unsigned long long)d->ns, LANE, BAR);
	for (size_t i = 0; i < d->lanes.n; i++) {
		const struct lane *l = &d->lanes.all[i];

		for (size_t j = l->first; j < l->first + l->n; j++) {
			const struct kept_call *c = &d->t->kept->calls[j];

			name_call(c, text, sizeof(text));
			fprintf(d->out, "%s\n[%zu,%lld,%llu", i || j > l->first ? "," : "", i,
				(long long)(c->begin - d->t->start), (unsigned long long)c->ns);
			for (size_t k = 0; k <= PLUMB_RETURN_PARTS; k++)
				fprintf(d->out, ",%llu",
					(unsigned long long)c->parts[plumb_return_parts[k].part]);
			fputs(",\"", d->out);
			plumb_svg_escape(text, SIZE_MAX, d->out);
			fputs("\"]", d->out);
		}
	}
	fputs("]}</metadata>\n", d->out);
}

static void draw_plot(const struct drawing *d)
{
	const struct picture_frame *f = &d->frame;
	FILE *out = d->out;

	draw_names(d);
	fprintf(out,
		"<clipPath id=\"clip\"><rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>"
		"</clipPath>\n<g id=\"plot\" clip-path=\"url(#clip)\">\n",
		f->x, f->y, f->width, f->height);
	for (size_t i = 0; i <= PLUMB_RETURN_PARTS; i++)
		draw_part(d, i);
	draw_flights(d);
	fprintf(out,
		"<path id=\"matches\"/></g>\n<rect id=\"frame\" x=\"%g\" y=\"%g\" width=\"%g\" "
		"height=\"%g\"/>\n<rect id=\"mark\" style=\"display:none\"/>\n"
		"<rect id=\"selection\" style=\"display:none\"/>\n"
		"<rect id=\"zone\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n",
		f->x, f->y, f->width, f->height, f->x, f->y, f->width, f->height);
}

static void draw(void *context, FILE *out)
{
	struct drawing *d = context;

	d->out = out;
	fprintf(out,
		"<text id=\"matched\" x=\"%d\" y=\"76\" text-anchor=\"end\"></text>\n"
		"<text id=\"search\" class=\"button\" x=\"%d\" y=\"60\">search</text>\n",
		SVG_WIDTH - PICTURE_RIGHT, SVG_WIDTH - PICTURE_RIGHT);
	draw_plot(d);
	if (!d->lanes.n)
		fprintf(out,
			"<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">nothing recorded</text>\n",
			d->frame.x + d->frame.width / 2, d->frame.y + 16);
	draw_legend(d);
	fprintf(out, "<text id=\"details\" x=\"10\" y=\"%g\"></text>\n",
		d->frame.y + d->frame.height + BOTTOM - 8);
	print_data(d);
}

int timeline_draw(void *timeline, FILE *out)
{
	const struct timeline *t = timeline;
	struct drawing d = {
		.t = t,
		.lanes = find_lanes(t->kept),
		.ns = t->report->total->clock - t->start,
		.frame = {LEFT, PICTURE_TOP, SVG_WIDTH - LEFT - PICTURE_RIGHT, 0},
	};

	d.frame.height = LANE * (d.lanes.n ?: 1);
	plumb_picture_draw(
		&(struct plumb_picture){
			.report = t->report,
			.height = PICTURE_TOP + d.frame.height + BOTTOM,
			.reset = PICTURE_RIGHT + 70,
			.frame = &d.frame,
			.ns = d.ns,
			.style = style,
			.script = script,
			.body = draw,
			.context = &d,
		},
		out);
	free(d.lanes.all);
	return 0;
}
