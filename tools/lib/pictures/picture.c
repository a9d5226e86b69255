/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/core/inflight.h>
#include <plumb/pictures/history.h>
#include <plumb/pictures/picture.h>

#include <string.h>
#include <sys/utsname.h>
#include <plumb/bpf/hist/hist.h>

#define TITLE_CHARACTER 9.6
#define LABEL_PIXELS    14 /* the least distance of two labels of values */
#define MOST_TIMES      12 /* labels of times */

/* As it was typed: the parser has reordered its copy. */
static void print_command(const struct plumb_run *run, FILE *out)
{
	const size_t most = (SVG_WIDTH - 50) / TITLE_CHARACTER - strlen(run->tool->card.name);
	char text[4096], escaped[4 * sizeof(text)], *options;
	size_t n = 0;
	FILE *in = fopen("/proc/self/cmdline", "re");

	if (in) {
		n = fread(text, 1, sizeof(text) - 1, in);
		fclose(in);
	}
	for (size_t i = 0; i + 1 < n; i++)
		if (!text[i])
			text[i] = ' ';
	text[n] = 0;
	/* Without the path of the tool. */
	plumb_svg_escape(run->tool->card.name, SIZE_MAX, out);
	plumb_escape_text(escaped, text, sizeof(escaped));
	options = escaped + strcspn(escaped, " ");
	plumb_svg_escape(options, most, out);
	if (plumb_svg_characters(options) > most)
		fputs("...", out);
}

static void print_run(const struct plumb_run *run, const struct plumb_snapshot *total, FILE *out)
{
	const struct plumb_mechanism *m = run->instance.mechanism;
	char text[512], day[32];
	struct utsname uts;
	struct tm tm;

	uname(&uts);
	strftime(day, sizeof(day), "%Y-%m-%d %H:%M:%S", gmtime_r(&total->taken.tv_sec, &tm));
	snprintf(text, sizeof(text), "%s, Linux %s %s, until %s UTC; %s (%s)", uts.nodename,
		 uts.release, uts.machine, day, m->name, m->stability);
	plumb_svg_escape(text, SIZE_MAX, out);
}

void plumb_picture_caption(const struct plumb_report *r, FILE *out)
{
	const struct plumb_verdict v = plumb_ledger_judge(r->total);

	fprintf(out, "<text id=\"title\" x=\"10\" y=\"22\">");
	print_command(r->run, out);
	fputs("</text>\n<text id=\"run\" x=\"10\" y=\"42\" class=\"dim\">", out);
	print_run(r->run, r->total, out);
	fprintf(out, "</text>\n<text id=\"ledger\" x=\"10\" y=\"60\" class=\"%s\">",
		v.lost ? "lost" : "dim");
	plumb_report_ledger(r, out);
	fputs("</text>\n", out);
}

void plumb_picture_reset(double right, FILE *out)
{
	fprintf(out,
		"<text id=\"reset\" class=\"button\" x=\"%g\" y=\"60\" text-anchor=\"end\" "
		"style=\"display:none\">all</text>\n",
		SVG_WIDTH - right);
}

/* "1ms", "500us"; of sizes "4K". */
static const char *format_value(uint64_t value, bool is_size, char *text, size_t size)
{
	static const char *const times[] = {"ns", "us", "ms", "s"};
	static const char *const sizes[] = {"", "K", "M", "G", "T"};
	const uint64_t base = is_size ? 1024 : 1000;
	const size_t last = (is_size ? 5 : 4) - 1;
	size_t unit = 0;

	for (; value >= base && !(value % base) && unit < last; unit++)
		value /= base;
	snprintf(text, size, "%llu%s", (unsigned long long)value,
		 is_size ? sizes[unit] : times[unit]);
	return text;
}

/* The next label after VALUE. */
static uint64_t next_value(uint64_t value, bool is_size)
{
	uint64_t decade = 1;

	if (is_size)
		return value * 2;
	while (decade * 10 <= value)
		decade *= 10;
	return value / decade == 2 ? 5 * decade : value * 2;
}

/* Whether VALUE has a label even if there is little room. */
static bool is_major(uint64_t value, bool is_size)
{
	while (value >= (is_size ? 16 : 10))
		value /= is_size ? 16 : 10;
	return value == 1;
}

/* The axis of values, before its labels are printed. */
struct values {
	uint32_t first, last, precision;
	bool is_size;
};

static bool is_on_axis(const struct values *a, uint64_t v)
{
	const double place = plumb_line_place(v, a->precision);

	/* Below the first octave the axis is linear. */
	return place >= a->first && place <= a->last + 1 &&
	       v >= plumb_line_lowest(plumb_lines_per_octave(a->precision), a->precision) / 4;
}

static size_t count_values(const struct values *a, bool only_major)
{
	size_t n = 0;

	for (uint64_t v = 1; v < 1ULL << PLUMB_HIST_RANGE_BITS; v = next_value(v, a->is_size))
		n += is_on_axis(a, v) && (!only_major || is_major(v, a->is_size));
	return n;
}

static void print_value(const struct picture_frame *f, double place, double y, bool major,
			bool is_shown, const char *text, FILE *out)
{
	fprintf(out,
		"<g data-place=\"%.6g\" data-major=\"%d\"%s><line x1=\"%g\" x2=\"%g\" "
		"y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%g\" y=\"%.1f\" "
		"text-anchor=\"end\">%s</text></g>\n",
		place, major, is_shown ? "" : " style=\"display:none\"", f->x, f->x + f->width, y,
		y, f->x - 6, y + 4, text);
}

void plumb_picture_values(const struct picture_frame *f, uint32_t first, uint32_t last,
			  uint32_t precision, bool is_size, FILE *out)
{
	const struct values a = {first, last, precision, is_size};
	const double line = f->height / (last + 1 - first);
	const bool all = line * plumb_lines_per_octave(precision) >= LABEL_PIXELS ||
			 count_values(&a, true) < 2;
	const bool has_bounds = count_values(&a, false) < 2;
	const uint32_t bounds[] = {first, last + 1};
	char text[32];

	fputs("<g class=\"values\">\n", out);
	for (uint64_t v = 1; !has_bounds && v < 1ULL << PLUMB_HIST_RANGE_BITS;
	     v = next_value(v, is_size)) {
		const double place = plumb_line_place(v, precision);

		if (is_on_axis(&a, v))
			print_value(f, place, f->y + f->height - (place - first) * line,
				    is_major(v, is_size), all || is_major(v, is_size),
				    format_value(v, is_size, text, sizeof(text)), out);
	}
	/* No two values of 1, 2 and 5 are on it. */
	for (size_t i = 0; has_bounds && i < 2; i++) {
		const uint64_t v = plumb_line_lowest(bounds[i], precision);

		plumb_format_time(v, is_size ? PLUMB_BYTES : PLUMB_AUTO, text, sizeof(text));
		print_value(f, bounds[i], f->y + f->height - (bounds[i] - first) * line, true, true,
			    text, out);
	}
	fputs("</g>\n", out);
}

/* Lines and labels of the axis of time, from 0 to NS. */
static void print_times(const struct picture_frame *f, uint64_t ns, FILE *out)
{
	const double seconds = ns / 1e9;
	static const double next[] = {2, 2.5, 2}; /* 1, 2, 5, 10, ... */
	double step = 1e-6;

	for (int i = 0; seconds / step > MOST_TIMES; i++)
		step *= next[i % 3];
	fputs("<g class=\"times\">\n", out);
	for (int i = 0; seconds > 0 && i * step <= seconds; i++) {
		const double x = f->x + f->width * i * step / seconds;

		fprintf(out,
			"<g><line x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\"/>"
			"<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%gs</text></g>\n",
			x, x, f->y, f->y + f->height, x, f->y + f->height + 16, i * step);
	}
	fputs("</g>\n", out);
}

void plumb_picture_draw(const struct plumb_picture *p, FILE *out)
{
	plumb_svg_begin(out, p->height, p->style);
	plumb_picture_caption(p->report, out);
	plumb_picture_reset(p->reset, out);
	print_times(p->frame, p->ns, out);
	p->body(p->context, out);
	plumb_svg_end(out, p->script);
}

size_t plumb_picture_flights(const struct plumb_report *r,
			     void (*each)(void *context, uint32_t line, uint64_t ns), void *context)
{
	const bool is_time = r->run->tool->measure.kind != PLUMB_SIZES;
	const struct plumb_flights *f = r->run->tool->inflight && is_time ? r->flights : NULL;
	const uint32_t precision = r->run->options.precision;
	uint32_t line, last = UINT32_MAX;
	size_t n = 0;

	/* From the oldest on. */
	for (size_t i = 0; f && i < f->n; i++) {
		const uint64_t ns = plumb_flight_traced(f, &f->all[i]);

		line = plumb_line_of(plumb_hist_index(ns, precision), precision);
		if (ns && line != last)
			each(context, last = line, ns);
		n += ns > 0;
	}
	return n;
}
