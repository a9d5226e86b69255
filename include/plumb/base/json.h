/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* json: what all JSON lines of plumb have in common; a line is an object. */
#ifndef PLUMB_JSON_H
#define PLUMB_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* An object that begins as all do: schema, tool, version, host, kernel, arch. */
json_t *plumb_json_new(const char *tool);

/* A value of the system's: bytes that are not UTF-8 become '?'. */
json_t *plumb_json_text(const char *bytes);
/* What does not fit is as large as can be. */
json_t *plumb_json_u64(uint64_t value);
/* RFC 3339, UTC. */
json_t *plumb_json_time(const struct timespec *t);

/* Prints the line and drops the object; 0 or -errno. */
int plumb_json_print(json_t *object, FILE *out);

#endif
