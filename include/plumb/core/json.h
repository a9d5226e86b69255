/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* json: the members that all JSON lines of plumb share; a line is one object. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* A new object with the first members of every line: schema, tool, version, host, kernel, arch. */
json_t *plumb_json_new(const char *tool);

/* That of this process: 32 random digits, the same in all that it writes, so that it belongs
 * together. */
const char *plumb_run_id(void);

/* Text that the system provided; what is not UTF-8 is escaped (text.h). */
json_t *plumb_json_text(const char *bytes);
/*
 * For what must not be mistaken for something else: a string, or, if it is not UTF-8, the object
 * {"hex": "ff00"}.
 */
json_t *plumb_json_bytes(const char *bytes);
/* Values above 2^63-1 become 2^63-1, since jansson's integers are signed. */
json_t *plumb_json_u64(uint64_t value);
/* RFC 3339, UTC. */
json_t *plumb_json_time(const struct timespec *t);
/* The ns since 1970 of such a time; 0: it is none. */
uint64_t plumb_json_ns(const json_t *time);

/* Prints the line and frees the object.  Returns 0 or -errno. */
int plumb_json_print(json_t *object, FILE *out);
/* The same, but the member "rows" is what ROWS prints of OF, which returns 0 or -errno. */
int plumb_json_print_rows(json_t *object, int (*rows)(const void *of, FILE *out), const void *of,
			  FILE *out);
