/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* builds: what distinguishes the content of a file. */
#include "builds-code.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/symbols/elffile.h>

#include <elfutils/libdwelf.h>

enum { INSTRUCTION = 15 }; /* bytes of the longest */

/* FNV-1a, 64 bits (Fowler, Noll, Vo), of the bytes at OFFSET. */
static void add_code(int fd, uint64_t offset, uint64_t *sum)
{
	unsigned char code[INSTRUCTION] = {};

	if (pread(fd, code, sizeof(code), offset) < 1)
		*sum ^= ~offset;
	for (size_t i = 0; i < sizeof(code); i++)
		*sum = (*sum ^ code[i]) * 0x100000001b3ULL;
}

uint64_t plumb_build_code(const struct plumb_build *b)
{
	uint64_t sum = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < b->functions.n; i++) {
		const struct plumb_userfunc *u = &b->functions.list[i];

		add_code(b->fd, u->offset, &sum);
		for (size_t j = 0; j < u->n_returns; j++)
			add_code(b->fd, u->returns[j], &sum);
		for (size_t j = 0; j < u->n_places; j++)
			add_code(b->fd, u->places[j].offset, &sum);
	}
	return sum;
}

void plumb_build_read_id(struct plumb_build *b)
{
	const unsigned char *bytes;
	const void *id = NULL;
	struct plumb_elf elf;
	ssize_t n = 0;

	if (!plumb_elf_open(b->functions.path, &elf))
		n = dwelf_elf_gnu_build_id(elf.elf, &id);
	bytes = id;
	for (ssize_t i = 0; i < n && 2 * i + 2 < PLUMB_BUILD_ID; i++)
		snprintf(b->id + 2 * i, 3, "%02x", bytes[i]);
	plumb_elf_close(&elf);
}

bool plumb_build_is_changed(struct plumb_build *b)
{
	struct stat st;

	if (fstat(b->fd, &st) || st.st_size != b->size)
		return true;
	if (st.st_mtim.tv_sec == b->changed.tv_sec && st.st_mtim.tv_nsec == b->changed.tv_nsec)
		return false;
	b->changed = st.st_mtim;
	return plumb_build_code(b) != b->code; /* touch changes the time only */
}

struct plumb_userfunc *plumb_build_function(const struct plumb_userfuncs *found, const char *name)
{
	for (size_t i = 0; i < found->n; i++)
		if (!strcmp(found->list[i].name, name) && !found->list[i].obstacle)
			return &found->list[i];
	return NULL;
}
