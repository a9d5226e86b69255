/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the recorder share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <plumb/core/report.h>

/* --- triggers.c: those of --trigger, evaluated when an interval ends --- */

/* Wrong ones end the process with status 2. */
void triggers_parse(const struct plumb_options *o, const struct plumb_tool *tool);
/* The bytes that medians of MOST intervals and SLOTS rows take. */
uint64_t triggers_plan(size_t most, size_t slots);
/* Allocates them.  0 or -ENOMEM. */
int triggers_open(const struct plumb_options *o);
void triggers_free(void);

/* The first that holds is remembered, until it is due: after --after. */
void triggers_evaluate(const struct plumb_report *interval);
bool triggers_are_due(void);
/* At the end of the run, what is remembered is due. */
void triggers_end(void);
/* Adds it to the member "dump". */
void triggers_describe(json_t *dump);
/* The same, how many intervals could not be judged by all of them. */
void triggers_count(json_t *dump);
/* After a dump at NOW (ns, CLOCK_MONOTONIC): none holds until --cool-down is over. */
void triggers_rest(uint64_t now);

/* --- dump.c: where --keep writes: stdout, or a file that takes the place of the last --- */

/* Whether --out=PATH can be written, and keeps what that takes.  0, or -errno after a message. */
int dump_check(const char *path);
/*
 * Calls WRITE for the dump that ends with LAST.  0, or -errno after a message; -EPIPE without one:
 * the reader of stdout has gone.
 */
int dump_write(const struct plumb_options *o, const struct plumb_report *last,
	       int (*write)(const struct plumb_report *last, FILE *out));
