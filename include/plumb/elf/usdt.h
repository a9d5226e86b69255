/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usdt: the probes that a program or library was built with (sys/sdt.h's notes
 * in its section .note.stapsdt).
 *
 * TARGET is "FILE:PROVIDER:NAME", cut at its first colons; FILE is as in
 * userfuncs.h.  PROVIDER and NAME are names or globs.
 */
#ifndef PLUMB_USDT_H
#define PLUMB_USDT_H

#include <stddef.h>
#include <stdint.h>

/* A place in the code where the probe is: code that is inlined has it several times. */
struct plumb_usdt_place {
	uint64_t offset;    /* in the file, for a uprobe */
	uint64_t semaphore; /* in the file, of the counter that enables it; 0: it has none */
	char *arguments;    /* "-4@%edi 8@%rsi", or "" */
};

struct plumb_usdt {
	char *provider, *name;
	struct plumb_usdt_place *places; /* by rising offset */
	size_t n;
};

struct plumb_usdts {
	char *path; /* as it was given, or as it was found, links resolved */
	struct plumb_usdt *list;
	size_t n;
};

/*
 * Sorted by provider and name.  Returns 0 with one at least, or -errno after
 * saying what is wrong, with suggestions; FOUND is empty then.
 */
int plumb_usdts_find(const char *target, struct plumb_usdts *found);
void plumb_usdts_free(struct plumb_usdts *found);

#endif
