/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unpack: the tables of capstone's decoder, of which static tools hold packed ones
 * (pack-tables.py). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <capstone/capstone.h>
#include <lz4.h>

struct table {
	char *at; /* where it belongs */
	int size;
	const char *packed;
	int packed_size;
	const char *text;          /* of the object that has it */
	const unsigned int *moved; /* where a distance to that is */
	int n_moved;
};

#include "tables.inc"

static void unpack(const struct table *t)
{
	int32_t *place;

	if (LZ4_decompress_safe(t->packed, t->at, t->packed_size, t->size) != t->size) {
		fprintf(stderr, "the tables of capstone in this program are damaged\n");
		exit(EXIT_FAILURE);
	}
	for (int i = 0; i < t->n_moved; i++) {
		place = (int32_t *)(t->at + t->moved[i]);
		*place += (int32_t)(t->text - t->at);
	}
}

/* The linker puts it into the place of cs_open() (--wrap). */
cs_err __real_cs_open(cs_arch arch, cs_mode mode, csh *handle);
cs_err __wrap_cs_open(cs_arch arch, cs_mode mode, csh *handle);
cs_err __wrap_cs_open(cs_arch arch, cs_mode mode, csh *handle)
{
	static bool are_unpacked;

	for (size_t i = 0; !are_unpacked && i < sizeof(tables) / sizeof(tables[0]); i++)
		unpack(&tables[i]);
	are_unpacked = true;
	return __real_cs_open(arch, mode, handle);
}
