/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flame-svg.h"
#include <plumb/base/text.h>
#include <string.h>

/* Pixels. */
#define ROW       17
#define TOP       48
#define BOTTOM    34
#define CHARACTER 7.2

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

/* The bytes of the character at C; 0 if it is not valid UTF-8, or not for XML. */
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

char *plumb_flame_clean(char *text)
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

/* Prints the first MOST characters, escaped for text and attributes of XML. */
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
	char text[32];

	if (!strcmp(g->flame->unit, "ns"))
		fprintf(out, "%s, %llu times",
			plumb_format_time(f->weight, PLUMB_AUTO, text, sizeof(text)),
			(unsigned long long)f->count);
	else
		fprintf(out, "%llu %s", (unsigned long long)f->weight, g->flame->unit);
	fprintf(out, ", %.2f %%", 100.0 * f->weight / g->all->weight);
}

/* Prints as much of the name as fits. */
static void print_label(const struct flame_frame *f, double width, FILE *out)
{
	size_t room = width > 6 ? (width - 6) / CHARACTER : 0, length = count_characters(f->name);

	if (room < 3)
		return;
	escape(f->name, length <= room ? length : room - 2, out);
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
	escape(f->name, SIZE_MAX, out);
	fprintf(out, "\" data-from=\"%.12g\" data-share=\"%.12g\" data-depth=\"%zu\"><title>", from,
		share, depth);
	escape(f->name, SIZE_MAX, out);
	fprintf(out, "%s (", f->is_kernel ? " [kernel]" : "");
	print_weight(g, f, out);
	fprintf(out, ")</title><rect x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"%d\" fill=\"",
		from * FLAME_WIDTH, y, share * FLAME_WIDTH, ROW - 1);
	print_colour(f, depth, out);
	fprintf(out, "\"/><text x=\"%.2f\" y=\"%zu\">", from * FLAME_WIDTH + 3, y + 12);
	print_label(f, share * FLAME_WIDTH, out);
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

	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
		"viewBox=\"0 0 %d %zu\" data-width=\"%d\" data-character=\"%g\">\n"
		"<style>\n%s</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<text id=\"title\" x=\"%d\" y=\"22\" text-anchor=\"middle\">",
		FLAME_WIDTH, height, FLAME_WIDTH, height, FLAME_WIDTH, CHARACTER, style,
		FLAME_WIDTH / 2);
	escape(g->flame->title, SIZE_MAX, out);
	fprintf(out,
		"</text>\n<text id=\"reset\" x=\"10\" y=\"22\" style=\"display:none\">all</text>\n"
		"<text id=\"search\" x=\"%d\" y=\"22\" text-anchor=\"end\">search</text>\n"
		"<text id=\"matched\" x=\"%d\" y=\"40\" text-anchor=\"end\"></text>\n"
		"<text id=\"details\" x=\"10\" y=\"%zu\"></text>\n",
		FLAME_WIDTH - 10, FLAME_WIDTH - 10, height - 12);
	if (g->hidden)
		fprintf(out,
			"<text x=\"%d\" y=\"%zu\" text-anchor=\"end\">%zu narrower frames "
			"(and what they called) are not drawn</text>\n",
			FLAME_WIDTH - 10, height - 12, g->hidden);
	if (g->all->weight)
		print_frame(g, g->all, 0, 0);
	fprintf(out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", script);
}
