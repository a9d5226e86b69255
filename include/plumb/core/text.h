/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* text: formats times, sizes and names for output. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum plumb_unit { PLUMB_AUTO, PLUMB_NS, PLUMB_US, PLUMB_MS, PLUMB_S, PLUMB_BYTES };

/* A time in UNIT, "1.23ms" for PLUMB_AUTO; or PLUMB_BYTES as below; returns TEXT. */
const char *plumb_format_time(uint64_t ns, enum plumb_unit unit, char *text, size_t size);

/* Bytes, "1.50K" with powers of 1024; returns TEXT. */
const char *plumb_format_size(uint64_t bytes, char *text, size_t size);

/* A percentage, "12.3": three digits, "<0.01" below two decimals; returns TEXT. */
const char *plumb_format_percent(double percent, char *text, size_t size);

/*
 * Copies a name that others chose so that different names remain different: bytes that are not
 * printable UTF-8 become \xHH, and \ becomes \\.  An escaped comm needs at most PLUMB_ESCAPED
 * bytes.
 */
#define PLUMB_ESCAPED 64
void plumb_escape(char *to, const char *from, size_t size);

#define PLUMB_UNIX_ADDRESS 108 /* unix(7) */
/*
 * The ADDRESS of a unix socket, LENGTH bytes behind its family, as it is: a path, or an abstract
 * name, which begins with a NUL and can have more; each is shown as @, as in /proc/net/unix.
 */
void plumb_unix_address(char to[PLUMB_UNIX_ADDRESS + 1], const char *address, size_t length);
/* The same as plumb_escape() writes it. */
void plumb_unix_name(char *to, const char *address, size_t length, size_t size);

/*
 * The same for a message or a line of several words, parts of which may be escaped already:
 * backslashes and spaces stay.  The second allocates the text.
 */
void plumb_escape_text(char *to, const char *from, size_t size);
char *plumb_escaped_text(const char *from);

/* The columns of the terminal that OUT is, else 80. */
int plumb_output_width(FILE *out);

/* Whether OUT is a terminal that takes colours, and the user has not refused them (NO_COLOR). */
bool plumb_has_colours(FILE *out);

/* The last WIDTH bytes of TEXT, the first three of them "...", if it is longer. */
const char *plumb_text_end(char *text, int width);

/* Prints TEXT, escaped, and a newline, wrapped between words at 78 columns; lines after the first
 * are indented. */
void plumb_print_wrapped(const char *text, FILE *out);

/* 0, -EPIPE if the reader has closed stdout, or -errno after a message. */
int plumb_flush_stdout(void);

/* Closes stdout at exit.  Returns STATUS, or 1 after a message if writing failed. */
int plumb_close_stdout(int status);
