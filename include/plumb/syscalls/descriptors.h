/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* descriptors: what a descriptor is, in words. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/bpf/syscall/descriptor.h>
#include <plumb/syscalls/peers.h>

/*
 * "</var/log/a>", "<tcp 127.0.0.1:5432, postgres/412>", "<pipe from bash/412>",
 * "<anon_inode:[eventfd]>"; escaped.  PEER: the process at its other end; NULL: none is to be
 * named. Returns TEXT, which PLUMB_DESCRIPTOR_TEXT bytes are enough for.
 */
#define PLUMB_DESCRIPTOR_TEXT 2300
const char *plumb_descriptor_text(const struct plumb_descriptor *d, const struct plumb_peer *peer,
				  char *text, size_t size);

/* The same as an object; NUMBER is the descriptor. */
json_t *plumb_descriptor_json(const struct plumb_descriptor *d, const struct plumb_peer *peer,
			      int number);

/* --- inflight-descriptor.c: of calls that have not ended, as /proc says when they are listed ---
 */

struct plumb_flight;

/* As members of struct plumb_inflight_kind. */
void plumb_descriptor_add_text(const struct plumb_flight *f, char *text, size_t size);
void plumb_descriptor_add_json(const struct plumb_flight *f, json_t *json);
