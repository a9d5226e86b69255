/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* descriptors: what a descriptor is, in words. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/bpf/syscall/descriptor.h>

/*
 * "</var/log/a>", "<tcp 10.0.0.5:5432>", "<pipe:[123] read end>", "<anon_inode:[eventfd]>";
 * escaped. Returns TEXT, which PLUMB_DESCRIPTOR_TEXT bytes are enough for.
 */
#define PLUMB_DESCRIPTOR_TEXT 2200
const char *plumb_descriptor_text(const struct plumb_descriptor *d, char *text, size_t size);

/* The same as an object; NUMBER is the descriptor. */
json_t *plumb_descriptor_json(const struct plumb_descriptor *d, int number);
