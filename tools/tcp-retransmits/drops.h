/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* drops: the names of reasons, and how much of what was dropped is not known any more. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tcp-retransmits.h"

struct bpf_object;

/* Reads the kernel's names of reasons, from its types or those in FILE; 0 or -errno. */
int drops_prepare(const char *file);

/* Sets enum resent_verdict of each reason, for the program, by its name. */
void drops_judge(uint8_t verdicts[RESENT_REASONS]);

/* As plumb_lifecycle.fill: takes the loaded OBJECT, whose drops the others read. */
int drops_use(struct bpf_object *object);

/* The reason, the function that dropped, or "none-seen". */
void drops_format(uint64_t why, char *text, size_t size);

void drops_print(FILE *out);
json_t *drops_json(void);
