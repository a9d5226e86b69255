/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/text.h>

#define WIDTH 78 /* of lines that are wrapped */

/* The length of the UTF-8 character at TEXT, in bytes; 0: invalid, or a control character. */
static size_t character_length(const char *text, uint32_t *character)
{
	static const uint32_t lowest[] = {[2] = 0xa0, [3] = 0x800, [4] = 0x10000};
	const unsigned char *bytes = (const unsigned char *)text;
	uint32_t c = *bytes;
	size_t n;

	*character = c;
	if (c < 0x80)
		return c >= ' ' && c != 0x7f;
	if (c < 0xc2 || c > 0xf4)
		return 0;
	n = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	c &= 0x7f >> n;
	for (size_t i = 1; i < n; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (bytes[i] & 0x3f);
	}
	*character = c;
	return c < lowest[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ? 0 : n;
}

/* True for spaces other than ' ', for characters without width or that change the direction. */
static bool is_invisible(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{0xa0, 0xa0},       {0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},
		{0x115f, 0x1160},   {0x1680, 0x1680}, {0x180b, 0x180f}, {0x2000, 0x200f},
		{0x2028, 0x202f},   {0x205f, 0x206f}, {0x3000, 0x3000}, {0x3164, 0x3164},
		{0xfe00, 0xfe0f},   {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xffff},
		{0xe0000, 0xe0fff},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

/* WHOLE: FROM is one name, of which also the ends are to be seen, and is read back. */
static void escape(char *to, const char *from, size_t size, bool whole)
{
	size_t n, used = 0;
	uint32_t character;

	for (size_t i = 0; from[i]; i += n) {
		/* Leading and trailing spaces are invisible in a table. */
		bool edge = whole && from[i] == ' ' && (!i || !from[i + 1]);

		n = character_length(from + i, &character);
		if (!n || edge || is_invisible(character)) {
			if (used + 4 >= size)
				break;
			n = 1;
			used += snprintf(to + used, size - used, "\\x%02x", (unsigned char)from[i]);
			continue;
		}
		if (used + n + 1 >= size)
			break;
		if (whole && from[i] == '\\')
			to[used++] = '\\';
		memcpy(to + used, from + i, n);
		used += n;
	}
	to[used] = 0;
}

void plumb_escape(char *to, const char *from, size_t size)
{
	escape(to, from, size, true);
}

void plumb_unix_address(char to[PLUMB_UNIX_ADDRESS + 1], const char *address, size_t length)
{
	const bool abstract = length && !*address;

	if (length > PLUMB_UNIX_ADDRESS)
		length = PLUMB_UNIX_ADDRESS;
	for (size_t i = 0; i < length; i++)
		to[i] = abstract && !address[i] ? '@' : address[i];
	to[length] = 0;
}

void plumb_unix_name(char *to, const char *address, size_t length, size_t size)
{
	char plain[PLUMB_UNIX_ADDRESS + 1];

	plumb_unix_address(plain, address, length);
	plumb_escape(to, plain, size);
}

void plumb_escape_text(char *to, const char *from, size_t size)
{
	escape(to, from, size, false);
}

char *plumb_escaped_text(const char *from)
{
	size_t size = 4 * strlen(from) + 1;
	char *to = malloc(size);

	if (!to)
		abort();
	plumb_escape_text(to, from, size);
	return to;
}

/* Rounds up, so that the printed time is not lower than the measured one. */
const char *plumb_format_time(uint64_t ns, enum plumb_unit unit, char *text, size_t size)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	uint64_t scale, digits = 1;
	int decimals = 0, u;

	if (unit == PLUMB_BYTES)
		return plumb_format_size(ns, text, size);
	if (unit != PLUMB_AUTO) {
		u = unit - PLUMB_NS;
		scale = u ? units[u].ns / 1000 : 1; /* of the last digit */
		ns = ns / scale + (ns % scale != 0);
		if (u)
			snprintf(text, size, "%llu.%03llu", (unsigned long long)ns / 1000,
				 (unsigned long long)ns % 1000);
		else
			snprintf(text, size, "%llu", (unsigned long long)ns);
		return text;
	}
	/* Rounds up to three digits. */
	for (uint64_t rest = ns; rest >= 1000; rest = (rest + 9) / 10)
		digits *= 10;
	ns = (ns + digits - 1) / digits * digits;
	for (u = 0; u < 3 && ns >= units[u + 1].ns; u++)
		;
	scale = units[u].ns;
	if (u)
		decimals = ns < 10 * scale ? 2 : ns < 100 * scale ? 1 : 0;
	snprintf(text, size, "%.*f%s", decimals, (double)ns / scale, units[u].name);
	return text;
}

const char *plumb_format_size(uint64_t bytes, char *text, size_t size)
{
	static const char suffixes[][2] = {"", "K", "M", "G", "T", "P", "E"};
	double value = bytes;
	int suffix = 0, decimals = 0;

	/* 1023.5K is 1.00M and not 1024K. */
	for (; value >= 1023.5; suffix++)
		value /= 1024;
	if (suffix)
		decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	snprintf(text, size, "%.*f%s", decimals, value, suffixes[suffix]);
	return text;
}

const char *plumb_format_percent(double percent, char *text, size_t size)
{
	if (percent > 0 && percent < 0.005)
		snprintf(text, size, "<0.01");
	else
		snprintf(text, size, "%.*f",
			 percent < 9.995   ? 2
			 : percent < 99.95 ? 1
					   : 0,
			 percent);
	return text;
}

void plumb_print_wrapped(const char *text, FILE *out)
{
	char *escaped = plumb_escaped_text(text);
	size_t column = 0, length;

	for (text = escaped; *text; text += length + (text[length] == ' ')) {
		length = strcspn(text, " ");
		if (column && column + 1 + length > WIDTH) {
			fputs("\n    ", out);
			column = 4;
		} else if (column) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", (int)length, text);
		column += length;
	}
	fputc('\n', out);
	free(escaped);
}

int plumb_output_width(FILE *out)
{
	struct winsize size;

	return ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

bool plumb_has_colours(FILE *out)
{
	const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(fileno(out)) && !(refused && *refused) && terminal &&
	       strcmp(terminal, "dumb") != 0;
}

const char *plumb_text_end(char *text, int width)
{
	size_t length = strlen(text);

	if (length <= (size_t)width)
		return text;
	text += length - width;
	return memcpy(text, "...", 3);
}

int plumb_flush_stdout(void)
{
	int err = fflush(stdout) || ferror(stdout) ? errno ?: EIO : 0;

	if (err && err != EPIPE)
		plumb_warn("cannot write to standard output: %s", strerror(err));
	return -err;
}

int plumb_close_stdout(int status)
{
	int failed = ferror(stdout);

	if (!fclose(stdout) && !failed)
		return status;
	if (errno == EPIPE || status)
		return status;
	plumb_warn("cannot write to standard output: %s", strerror(errno));
	return EXIT_FAILURE;
}
