/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usdt: the USDT probes of a program or library (sys/sdt.h's notes in its section .note.stapsdt).
 *
 * TARGET is "FILE:PROVIDER:NAME", cut at its first colons; FILE is as in
 * userfuncs.h.  PROVIDER and NAME are names or globs.
 */
#ifndef PLUMB_USDT_H
#define PLUMB_USDT_H

#include <stddef.h>
#include <stdint.h>

/* A location of the probe in the code; a probe in an inlined function has several. */
struct plumb_usdt_place {
	uint64_t offset;    /* in the file, for a uprobe */
	uint64_t semaphore; /* file offset of the counter that enables the probe; 0: none */
	char *arguments;    /* "-4@%edi 8@%rsi", or "" */
};

struct plumb_usdt {
	char *provider, *name;
	struct plumb_usdt_place *places; /* by ascending offset */
	size_t n;
};

struct plumb_usdts {
	char *path; /* as given, or as found by plumb_binary_find() */
	struct plumb_usdt *list;
	size_t n;
};

/*
 * Sorted by provider and name.  Returns 0 with at least one, or -errno after a message with
 * suggestions; FOUND is empty then.
 */
int plumb_usdts_find(const char *target, struct plumb_usdts *found);
/* The same of the open file FD, with PROBE, "PROVIDER:NAME"; SHOWN is its path, for messages. */
int plumb_usdts_find_in(int fd, const char *shown, const char *probe, struct plumb_usdts *found);
void plumb_usdts_free(struct plumb_usdts *found);

#endif
