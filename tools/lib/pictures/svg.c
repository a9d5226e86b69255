/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/pictures/picture.h>

#include <stdint.h>
#include <string.h>

/* A printed picture is light, whatever the screen is. */
static const char common[] =
	/* The browser's page around the picture, too. */
	"svg { color-scheme: light dark; background: var(--paper); }\n"
	"svg { --paper: #fff; --ink: #000; --dim: #666; --line: #ddd; }\n"
	"@media screen and (prefers-color-scheme: dark) {\n"
	"svg { --paper: #15171b; --ink: #e4e4e4; --dim: #9a9a9a; --line: #34373d; }\n"
	"}\n"
	"text { font: 12px monospace; fill: var(--ink); pointer-events: none; }\n"
	"#title { font-size: 16px; }\n"
	".dim { fill: var(--dim); }\n"
	".lost { fill: #d02020; font-weight: bold; }\n"
	".heading { font-weight: bold; }\n"
	"line { stroke: var(--line); }\n"
	".button { pointer-events: all; cursor: pointer; text-decoration: underline; }\n"
	"@media print { .button { display: none; } }\n";

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

void plumb_svg_escape(const char *text, size_t most, FILE *out)
{
	for (size_t n; *text && most--; text += n) {
		n = character_at((const unsigned char *)text);
		if (!n) {
			fprintf(out, "\\x%02x", (unsigned char)*text);
			n = 1;
			continue;
		}
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

size_t plumb_svg_characters(const char *text)
{
	size_t count = 0;

	for (size_t n; *text; text += n ?: 1) {
		n = character_at((const unsigned char *)text);
		count += n ? 1 : strlen("\\xHH");
	}
	return count;
}

void plumb_svg_begin(FILE *out, size_t height, const char *style)
{
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
		"viewBox=\"0 0 %d %zu\" data-width=\"%d\" data-character=\"%g\">\n"
		"<style>\n%s%s</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" style=\"fill: var(--paper)\"/>\n",
		SVG_WIDTH, height, SVG_WIDTH, height, SVG_WIDTH, SVG_CHARACTER, common, style);
}

void plumb_svg_end(FILE *out, const char *script)
{
	fprintf(out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", script);
}
