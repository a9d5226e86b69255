/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* untimed: calls that a tool does not time: the footer and, in JSON, not_seen have how many. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <plumb/bpf/syscall/syscall.h>

struct bpf_object;

/* Makes the calls NAMES, ended by NULL, of both tables of KIND: KINDS is for syscall_kind(). */
void plumb_syscalls_are(uint8_t kinds[2 * PLUMB_SYSCALLS], const char *const *names, uint8_t kind);

/* Their NAMES, in the order of their kinds, ended by NULL; OBJECT counts them (untimed.bpf.h). */
void plumb_untimed_use(const struct bpf_object *object, const char *const *names);
void plumb_untimed_print(FILE *out);
/* Adds them to not_seen of a report. */
void plumb_untimed_json(json_t *report);
